-- Who holds a job's lock, or its lease; read before an eviction and after one. No row: no such job.
-- $1 name
select j.name, j.key, h.pid, a.backend_start, a.application_name as application, a.usename::text as role,
  host(a.client_addr) as client, a.state, extract(epoch from clock_timestamp() - a.query_start)::float8 as silent,
  j.epoch, j.epoch > j.ended_epoch and h.pid = j.pid as running,
  case when l.expires_at > clock_timestamp() then l.holder end as lease_holder,
  case when l.expires_at > clock_timestamp() and isfinite(l.expires_at) then l.expires_at end as lease_until
from {schema}.job j
left join lateral (
  select k.pid from pg_locks k
  where k.locktype = 'advisory' and k.granted and k.mode = 'ExclusiveLock' and k.objsubid = 1
    and k.database = (select oid from pg_database where datname = current_database())
    and ((k.classid::bigint << 32) | k.objid::bigint) = j.key
  limit 1) h on true
left join pg_stat_activity a on a.pid = h.pid
left join {schema}.lease l on l.job = j.name
where j.name = $1::text
