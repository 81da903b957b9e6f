-- What is asked for and not done yet, oldest first. A backfill has no end of its own: its infinity is shown as none.
-- $1 job (null: all)
select q.id, q.job, q.kind, q.actor, q.asked_at, case when isfinite(q.expires_at) then q.expires_at end as expires_at,
  q.span_from, q.span_until, q.position, q.epoch
from {schema}.request q
where q.answered_at is null and q.expires_at > clock_timestamp() and ($1::text is null or q.job = $1::text)
order by q.id
