-- What the whole story came to. $1, $2: epochs of the runs whose process the demo killed, and when; $3: of the catch-ups.
-- Overlaps are looked for in the recorded spans of the runs, whatever lock they held: a lost run, whose end was written
-- later by somebody else, is over when its process was killed. An occurrence is repeated if it was run again, however that
-- ended, after a run of it had succeeded; that two of its runs succeed is prevented by an index already.
with killed as (
  select * from unnest($1::bigint[], $2::timestamptz[]) as k (epoch, at)
),
runs as (
  select h.epoch, h.trigger, h.scheduled_for, h.outcome, h.takeover, h.started_at, coalesce(k.at, h.ended_at) as over_at
  from hourhand.history h left join killed k using (epoch)
  where h.epoch is not null
)
select
  (select count(*) from orders where deleted_at is null) as orders,
  (select count(distinct r.scheduled_for) from runs r) as occurrences,
  (select count(*) from runs r where r.trigger = 'manual') as manual_runs,
  (select count(*) from runs r where r.trigger = 'catch_up' or r.epoch = any ($3::bigint[])) as catch_ups,
  (select count(*) from runs r where r.takeover > 0) as takeovers,
  (select count(*) from runs r where r.outcome = 'lost') as lost_runs,
  (select count(*) from runs a join runs b on a.epoch < b.epoch
    where a.started_at < b.over_at and b.started_at < a.over_at) as overlaps,
  (select count(*) from runs again where exists (
    select from runs done
    where done.scheduled_for = again.scheduled_for and done.epoch < again.epoch and done.outcome = 'succeeded'
  )) as repeated,
  (select count(*) from demo.lost_update) as lost_updates,
  (select count(*) from hourhand.job j where j.epoch > j.ended_epoch) as open_runs
