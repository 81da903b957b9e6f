-- Every advisory lock of this database, whoever holds it or waits for it. pg_locks is read once. Names that the server's own
-- functions make keys of are matched here, as nobody else computes them.
-- First comes what is ours: jobs (name, key, epoch, open, pid, node, group), or nothing where our schema is not there or not ours to read.
-- $1 names guessed
with ours as materialized (
  {ours}),
held as materialized (
  select l.*, ((l.classid::bigint << 32) | l.objid::bigint) as key
  from pg_locks l
  where l.locktype = 'advisory' and l.database = (select oid from pg_database where datname = current_database())
),
-- How other tools make keys with functions of the server: pg_partman's run_maintenance; pg-boss's plans (in its default schema, by
-- two generations of it).
tool (name, key) as (
  values
    ('pg_partman maintenance', hashtext('pg_partman run_maintenance')::bigint),
    ('pg-boss', ('x' || encode(substring(sha224((current_database() || '.pgboss.pgboss')::bytea) for 8), 'hex'))::bit(64)::bigint),
    ('pg-boss', ('x' || substr(md5(current_database() || '.pgboss.pgboss'), 1, 16))::bit(64)::bigint)
),
guess as (
  select w.name, f.way, f.key
  from unnest($1::text[]) as w(name)
  cross join lateral (values
    ('hashtext', hashtext(w.name)::bigint),
    ('hashtextextended', hashtextextended(w.name, 0)),
    ('the first half of its md5', ('x' || substr(md5(w.name), 1, 16))::bit(64)::bigint)) as f(way, key)
)
select h.key, h.classid::bigint as classid, h.objid::bigint as objid, h.objsubid, h.mode, h.granted, h.pid,
  a.backend_start, a.application_name as application, a.usename::text as role, host(a.client_addr) as client, a.state,
  extract(epoch from clock_timestamp() - a.state_change)::float8 as in_state,
  extract(epoch from clock_timestamp() - a.query_start)::float8 as silent,
  case when a.state is not null then left(a.query, 500) end as query,
  case when not h.granted then pg_blocking_pids(h.pid) end as waits_for,
  o.name as job, o.epoch, o.open, o.pid as run_pid, o.node,
  (select array_agg(distinct g.exclusive_group) from ours g where g.exclusive_group is not null) as groups,
  t.name as tool, g.name as guessed, g.way, current_database()::text as database
from held h
left join pg_stat_activity a on a.pid = h.pid
left join ours o on o.key = h.key and h.objsubid in (1, 2)
left join lateral (select t.name from tool t where t.key = h.key and h.objsubid = 1 limit 1) t on true
left join lateral (select g.name, g.way from guess g where g.key = h.key and h.objsubid = 1 limit 1) g on true
order by h.granted desc, h.key, h.objsubid, h.pid
