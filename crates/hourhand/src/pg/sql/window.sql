-- Sets how far a job's outside data counts as covered: its next window begins there, less the lookback. Locks the job's row, as
-- every write of it does; an open fence is waited for within lock_timeout.
-- $1 name, $2 covered until, $3 actor, $4 where the next window begins, for the note
with old as (
  select j.name, j.covered_until, j.epoch > j.ended_epoch as open, j.epoch from {schema}.job j where j.name = $1::text
  for no key update
),
moved as (
  update {schema}.job j set covered_until = $2::timestamptz from old o where j.name = o.name returning j.name
),
noted as (
  insert into {schema}.audit (actor, action, job, detail)
  select $3::text, 'window', o.name, jsonb_build_object(
    'from', to_char($4::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'covered_until_before', to_char(o.covered_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
  from old o
)
select o.covered_until, o.open, o.epoch from old o join moved m on m.name = o.name
