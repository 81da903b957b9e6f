-- Pauses a job: its row in `pause` is read by the same statement as a start's re-check, so a pause answered before a start began
-- prevents it. A run under way goes on, and the answer says so. One that would be over by now is not written, and the answer says that.
-- $1 name, $2 until (null: until resumed), $3 reason, $4 actor
with paused as (
  insert into {schema}.pause as p (job, active, until, reason, actor)
  select j.name, true, $2::timestamptz, $3::text, $4::text from {schema}.job j
  where j.name = $1::text and ($2::timestamptz > clock_timestamp()) is not false
  on conflict (job) do update set active = true, until = excluded.until, reason = excluded.reason, actor = excluded.actor
  returning p.job
),
noted as (
  insert into {schema}.audit (actor, action, job, detail)
  select $4::text, 'pause', p.job, jsonb_strip_nulls(jsonb_build_object('reason', $3::text,
    'until', to_char($2::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
  from paused p
)
select j.epoch, j.epoch > j.ended_epoch as open, j.node, j.started_at, p.job is not null as paused,
  case when p.job is not null then pg_notify('hourhand', 'look ' || j.key)::text end as said
from {schema}.job j left join paused p on p.job = j.name
where j.name = $1::text
