-- Who holds these locks and watches, and the end of those who have gone silent. A holder of ours pings every ttl/5 of its own ttl,
-- which its application name tells ("hourhand/15 node"); after 5/4 of it without a statement begun, whatever its state, the
-- process is frozen while its kernel still answers keepalives. Ended by the pid whose start the same row shows.
-- Another role's session may be invisible (its times are null) or not ours to end: then it is only told.
-- $1 keys, $2 seconds after which an idle session that is not hourhand's is ended too (null: never)
with held as materialized (
  select w.key, l.objsubid = 2 as watch, a.pid, a.application_name as application, host(a.client_addr) as client,
    extract(epoch from clock_timestamp() - a.query_start)::float8 as silent, a.state,
    substring(a.application_name from '^hourhand/([0-9]+) ')::float8 as ttl,
    pg_has_role(current_user, a.usesysid, 'member') or pg_has_role(current_user, 'pg_signal_backend', 'member') as allowed
  from unnest($1::bigint[]) as w(key)
  join pg_locks l on l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid in (1, 2)
    and l.database = (select oid from pg_database where datname = current_database())
    and ((l.classid::bigint << 32) | l.objid::bigint) = w.key
    and l.pid <> pg_backend_pid()
  join pg_stat_activity a on a.pid = l.pid
),
judged as materialized (
  select h.*, coalesce(case when h.ttl is not null then h.silent > 1.25 * h.ttl
    else not h.watch and h.state = 'idle' and h.silent > $2::float8 end, false) as guilty
  from held h
)
select j.key, j.watch, j.pid, j.application, j.client, j.silent, j.ttl is not null as ours,
  case when j.guilty and j.allowed then pg_terminate_backend(j.pid) else false end as evicted,
  (j.guilty and not j.allowed) or (j.ttl is not null and j.silent is null) as forbidden
from judged j
