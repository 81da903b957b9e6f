-- What the server and this role are like, for `doctor`: read from the catalogs alone, so that it works without our schema.
-- reset_val is what a new session of this role begins with, whatever this statement's own transaction has set.
-- $1 names of settings
with used as materialized (
  select l.pid, l.locktype, l.database, l.relation, l.page, l.tuple, l.virtualxid, l.transactionid, l.classid, l.objid, l.objsubid
  from pg_locks l where not l.fastpath
),
hog as (
  select u.pid, count(*) as locks from used u where u.pid is not null group by u.pid order by 2 desc limit 1
),
sessions as materialized (
  select a.pid, a.usesysid, a.datname, a.usename, a.application_name, a.backend_start
  from pg_stat_activity a
  -- Sessions of clients: what else has a role has no database, or says what it is where this role may see it.
  where a.usesysid is not null and a.datid is not null and coalesce(a.backend_type, 'client backend') = 'client backend'
)
select current_setting('server_version_num')::int as version_number, current_setting('server_version') as version,
  pg_is_in_recovery() as standby, clock_timestamp() as now, current_user::text as role, current_database()::text as database,
  r.rolsuper as superuser, r.rolconnlimit as role_limit, d.datconnlimit as database_limit,
  (select count(*) from sessions) as sessions,
  (select count(*) from sessions s where s.usesysid = r.oid) as sessions_of_role,
  (select count(*) from sessions s where s.datname = current_database()) as sessions_of_database,
  current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
    - coalesce(current_setting('reserved_connections', true)::bigint, 0) as connections,
  current_setting('max_locks_per_transaction')::bigint as locks_per_transaction,
  -- As the server sizes its table: for every backend there may be.
  current_setting('max_locks_per_transaction')::bigint * (current_setting('max_connections')::bigint
    + current_setting('autovacuum_max_workers')::bigint + 1 + current_setting('max_worker_processes')::bigint
    + current_setting('max_wal_senders')::bigint + current_setting('max_prepared_transactions')::bigint) as locks_max,
  (select count(*) from (select distinct u.locktype, u.database, u.relation, u.page, u.tuple, u.virtualxid, u.transactionid,
    u.classid, u.objid, u.objsubid from used u) one) as locks,
  h.pid as hog, h.locks as hog_locks, hs.application_name as hog_application, hs.backend_start as hog_start,
  pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees, pg_has_role(current_user, 'pg_signal_backend', 'usage') as ends,
  (select count(*) from sessions s where s.datname = current_database() and s.usesysid <> r.oid) as sessions_of_others,
  (select count(*) from sessions s where s.usesysid <> r.oid and s.datname = current_database()
    and s.application_name like 'hourhand/%') as nodes_of_others,
  w.names, w.settings, w.units, w.roles, w.databases
from pg_roles r
join pg_database d on d.datname = current_database()
left join hog h on true
left join sessions hs on hs.pid = h.pid
cross join lateral (
  select array_agg(s.name order by s.name) as names, array_agg(s.reset_val order by s.name) as settings,
    array_agg(coalesce(s.unit, '') order by s.name) as units,
    array_agg(coalesce(o.of_role, false) order by s.name) as roles, array_agg(coalesce(o.of_database, false) order by s.name) as databases
  from pg_settings s
  left join lateral (
    -- Where it is set: for this role in this database, for this role, for this database.
    select c.setrole <> 0 as of_role, c.setdatabase <> 0 as of_database
    from pg_db_role_setting c cross join unnest(c.setconfig) as one
    where split_part(one, '=', 1) = s.name and c.setrole in (0, r.oid) and c.setdatabase in (0, d.oid)
    order by c.setrole <> 0 desc, c.setdatabase <> 0 desc
    limit 1) o on true
  where s.name = any($1::text[])) w
where r.rolname = current_user
