-- The sessions that call themselves hourhand's, with the jobs whose locks they hold and those they watch. A node at rest has none.
with locks as materialized (
  select ((l.classid::bigint << 32) | l.objid::bigint) as key, l.pid, l.objsubid
  from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid in (1, 2)
    and l.database = (select oid from pg_database where datname = current_database())
)
select a.pid, a.application_name as application, a.usename::text as role, host(a.client_addr) as client, a.backend_start, a.state,
  extract(epoch from clock_timestamp() - a.state_change)::float8 as in_state,
  array(select j.name from {schema}.job j join locks k on k.key = j.key
    where k.pid = a.pid and k.objsubid = 1 order by j.name) as holds,
  array(select j.name from {schema}.job j join locks k on k.key = j.key
    where k.pid = a.pid and k.objsubid = 2 order by j.name) as watches
from pg_stat_activity a
where a.datname = current_database() and a.application_name like 'hourhand%'
order by a.application_name, a.pid
