-- A page of history, newest first. By id, which grows with time: the page after it begins before its last id, however many rows
-- have come since. Outputs are large, and are read for one run only.
-- $1 job (null: all), $2 outcome, $3 ended since, $4 epoch, $5 before this id, $6 how many
select h.id, h.job, h.epoch, h.trigger, h.scheduled_for, h.started_at, h.ended_at, h.end_seen, h.outcome, h.reason, h.count, h.attempt,
  h.takeover, h.window_from, h.window_until, h.node, h.error, h.recorded_by,
  case when $4::bigint is not null then h.output end as output
from {schema}.history h
where ($1::text is null or h.job = $1::text)
  and ($2::text is null or h.outcome = $2::text)
  and ($3::timestamptz is null or h.ended_at >= $3::timestamptz)
  and ($4::bigint is null or h.epoch = $4::bigint)
  and ($5::bigint is null or h.id < $5::bigint)
order by h.id desc
limit $6::bigint
