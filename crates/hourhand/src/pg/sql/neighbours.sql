-- The entries of history around a run, oldest first: among them are the other attempts at its occurrence, and the runs before and
-- after it. By position, not by occurrence, which has no index.
-- $1 job, $2 epoch, $3 how many on either side
with this as (
  select t.id from {schema}.history t where t.job = $1::text and t.epoch = $2::bigint
),
near as (
  (select b.* from {schema}.history b where b.job = $1::text and b.id < (select t.id from this t)
    order by b.id desc limit $3::bigint)
  union all
  (select a.* from {schema}.history a where a.job = $1::text and a.id >= (select t.id from this t)
    order by a.id limit $3::bigint)
)
select h.id, h.job, h.epoch, h.trigger, h.scheduled_for, h.started_at, h.ended_at, h.end_seen, h.outcome, h.reason, h.count,
  h.attempt, h.takeover, h.window_from, h.window_until, h.node, h.error, h.recorded_by, null::text as output
from near h order by h.id
