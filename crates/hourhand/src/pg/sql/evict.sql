-- Ends the session that was seen to hold a job's lock, if it still does: by its pid and its start, so that a stranger who has been
-- given the pid meanwhile is left alone.
-- $1 name, $2 pid, $3 backend start (null: not visible to this role, and then not ours to end), $4 actor
with held as materialized (
  select j.name, a.pid, a.application_name, host(a.client_addr) as client
  from {schema}.job j
  join pg_locks k on k.locktype = 'advisory' and k.granted and k.mode = 'ExclusiveLock' and k.objsubid = 1
    and k.database = (select oid from pg_database where datname = current_database())
    and ((k.classid::bigint << 32) | k.objid::bigint) = j.key
  join pg_stat_activity a on a.pid = k.pid
  where j.name = $1::text and a.pid = $2::int and a.backend_start = $3::timestamptz
),
ended as materialized (
  select h.*, pg_terminate_backend(h.pid) as ended from held h
),
noted as (
  insert into {schema}.audit (actor, action, job, detail)
  select $4::text, 'evict', e.name, jsonb_strip_nulls(jsonb_build_object('pid', e.pid, 'application', e.application_name,
    'client', e.client))
  from ended e
  where e.ended
)
select e.ended from ended e
