-- The run of a job whose end is not recorded: under way, or lost and not noticed yet.
-- $1 job
select j.epoch, j.trigger, j.attempt, j.takeover, j.scheduled_for, j.started_at, j.window_from, j.window_until, j.node, j.pid,
  clock_timestamp() as now
from {schema}.job j
where j.name = $1::text and j.epoch > j.ended_epoch
