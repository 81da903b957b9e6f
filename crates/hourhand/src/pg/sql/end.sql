-- Records ends, one row a run: the job's row first, history second, all conditional on the epoch. A run that its body has
-- completed itself keeps that outcome; only its output and the skips are added. Sent twice (its first answer was lost), it
-- changes nothing.
-- A row locked by somebody's open transaction is left out (and tried alone): one fence must not hold up all the ends.
-- $1 names, $2 epochs, $3 outcomes, $4 errors, $5 outputs, $6 handled, $7 counts an attempt, $8 backoff in seconds,
-- $9 skipped meanwhile, $10 the newest of those, $11 write history
with given as materialized (
  select * from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::boolean[], $8::float8[],
      $9::bigint[], $10::timestamptz[])
    as g(name, epoch, outcome, error, output, handled, counts, backoff, skipped, skipped_for)
),
current as (
  select j.*, g.outcome, g.error, g.output, g.handled, g.counts, g.backoff, g.skipped,
    -- A node's clock may have been set ahead: what is not due by ours is not skipped.
    case when g.skipped_for <= clock_timestamp() then g.skipped_for end as skipped_for,
    clock_timestamp() as at,
    j.ended_epoch = g.epoch as completed,
    -- The run has counters: it is for an occurrence, or continuous. `over`: they begin anew.
    j.trigger = 'continuous' or (j.scheduled_for is not null and j.trigger in ('schedule', 'catch_up', 'retry')) as scheduled,
    j.trigger = 'continuous' as continuous,
    g.handled or (j.ended_epoch = g.epoch and j.trigger <> 'continuous') as over
  from given g
  join {schema}.job j on j.name = g.name
  where j.epoch = g.epoch and (j.ended_epoch < g.epoch or j.last_outcome = 'succeeded')
  order by j.name
  for no key update of j skip locked
),
ended as (
  update {schema}.job j set
    ended_epoch = c.epoch,
    last_outcome = case when c.completed then j.last_outcome else c.outcome end,
    failures = case when c.completed or c.outcome = 'succeeded' then 0
      when c.outcome in ('failed', 'panicked', 'timed_out') then j.failures + 1 else j.failures end,
    last_success_at = case when c.outcome = 'succeeded' and not c.completed then c.at else j.last_success_at end,
    handled_until = case when c.scheduled and c.over
      then greatest(j.handled_until, j.scheduled_for, c.skipped_for) else j.handled_until end,
    covered_until = case when c.outcome = 'succeeded' and j.window_from <= j.covered_until
      then greatest(j.covered_until, j.window_until) else j.covered_until end,
    open_for = case when not c.scheduled then j.open_for when not c.over then j.scheduled_for end,
    attempts = case when not c.scheduled then j.attempts when c.over then 0
      when c.counts and not (c.continuous and c.completed) then j.attempts + 1 else j.attempts end,
    deaths = case when c.scheduled then 0 else j.deaths end,
    -- A continuous job is due from then on, so that it can be told for how long nobody has run it.
    not_before = case when not c.scheduled or (c.continuous and c.completed) then j.not_before
      when c.continuous then c.at + make_interval(secs => c.backoff)
      when not c.over and c.backoff > 0 then c.at + make_interval(secs => c.backoff) end
  from current c
  where j.name = c.name
  returning j.name, j.epoch, j.ended_epoch, j.handled_until, j.covered_until, j.open_for, j.attempts, j.deaths,
    j.not_before, j.last_outcome
),
written as (
  insert into {schema}.history as h (job, epoch, trigger, scheduled_for, started_at, ended_at, outcome, attempt, takeover,
    window_from, window_until, node, error, output, recorded_by)
  select c.name, c.epoch, c.trigger, c.scheduled_for, c.started_at, c.at, c.outcome, c.attempt, c.takeover,
    c.window_from, c.window_until, c.node, c.error, c.output, c.node
  from current c
  where $11::boolean
  on conflict (job, epoch) do update set output = excluded.output where excluded.output is not null
),
skips as (
  insert into {schema}.history (job, scheduled_for, outcome, reason, count, node)
  select c.name, c.skipped_for, 'skipped', 'overlap', c.skipped, c.node
  from current c
  where c.skipped > 0 and c.handled_until < c.skipped_for
    and c.scheduled and c.over and $11::boolean
)
select g.name, j.epoch as row_epoch, j.ended_epoch as row_ended_epoch, e.epoch is not null as recorded,
  coalesce(e.last_outcome, j.last_outcome) as outcome, coalesce(e.handled_until, j.handled_until) as handled_until, e.open_for, e.not_before,
  clock_timestamp() as now
from given g
left join {schema}.job j on j.name = g.name
left join ended e on e.name = g.name
