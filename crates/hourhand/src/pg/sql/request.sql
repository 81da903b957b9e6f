-- Records what somebody asks of the fleet, and says so to whoever is connected. Who asks again for what is still open joins it (a
-- void request is asked anew). No row: a second backfill of a job is refused, and so is a run of a paused one.
-- Old answers are removed on the way.
-- $1 name, $2 kind, $3 actor, $4 seconds after which it is void (null: never), $5 and $6 span
with old as (
  delete from {schema}.request q where q.job = $1::text and q.answered_at < clock_timestamp() - interval '1 day'
),
asked as (
  insert into {schema}.request as q (job, kind, actor, expires_at, span_from, span_until)
  select j.name, $2::text, $3::text, coalesce(clock_timestamp() + make_interval(secs => $4::float8), 'infinity'),
    $5::timestamptz, $6::timestamptz
  from {schema}.job j
  left join {schema}.pause p on p.job = j.name
  where j.name = $1::text
    and ($2::text <> 'trigger' or not coalesce(p.active and (p.until is null or p.until > clock_timestamp()), false))
  on conflict (job, kind) where answered_at is null do update set
    actor = excluded.actor, asked_at = excluded.asked_at, expires_at = greatest(q.expires_at, excluded.expires_at)
  where q.kind = 'trigger'
  returning q.id, q.job, q.expires_at
),
noted as (
  insert into {schema}.audit (actor, action, job, detail)
  select $3::text, $2::text, a.job, jsonb_strip_nulls(jsonb_build_object('request', a.id,
    'from', to_char($5::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'until', to_char($6::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
  from asked a
)
select a.id, a.expires_at, pg_notify('hourhand', 'look ' || j.key) as said
from asked a join {schema}.job j on j.name = a.job
