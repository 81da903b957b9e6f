-- Tries locks of which some have a group: the group's first, then the job's, and lets the group's go again where the job's is refused,
-- so that the session has both or neither. The CASEs run in order, once a row, each in a step of its own.
-- The lock of a job of the group whose run was lost (its process is frozen, say) has come free with the group's, but no later run of that
-- job is there to fence the lost one out: so it is settled before the lock is granted, or both are let go again.
-- Of a group at most one job is let try, or a lock that is re-entrant within the session would be granted twice; and it is the one of
-- all that wait whose newest start is the oldest, so that none waits for ever while another is always due. Waiting: asked for here, or
-- its watch is held by a session that has begun a statement in the last 5 s (watchers do each second). A job whose lock is held
-- keeps nobody out.
-- $1 keys, $2 keys of groups (null: none), $3 mark, $4 seconds of silence inside a transaction after which a session is ended
with asked as materialized (
  select a.key, a.group_key from unnest($1::bigint[], $2::bigint[]) as a(key, group_key)
),
locks as materialized (
  select ((l.classid::bigint << 32) | l.objid::bigint) as key, l.objsubid, l.pid
  from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid in (1, 2)
    and l.database = (select oid from pg_database where datname = current_database())
),
members as (
  select j.name, j.key, j.started_at, a.group_key, true as asked
  from asked a join {schema}.job j on j.key = a.key
  where a.group_key is not null
  union all
  select j.name, j.key, j.started_at, (d.body ->> 'group_key')::bigint, false
  from {schema}.definition d join {schema}.job j on j.name = d.job
  where (d.body ->> 'group_key')::bigint in (select a.group_key from asked a)
    and j.key not in (select a.key from asked a)
),
turns as materialized (
  select distinct on (m.group_key) m.group_key, m.key
  from members m
  where not exists (select from locks l where l.key = m.key and l.objsubid = 1)
    and (m.asked or exists (
      select from locks l join pg_stat_activity s on s.pid = l.pid
      where l.key = m.key and l.objsubid = 2 and s.query_start > clock_timestamp() - interval '5 s'))
  order by m.group_key, m.started_at nulls first, m.name
),
entered as materialized (
  select a.key, a.group_key,
    case when current_setting('hourhand.session', true) = $3::text then
      case when a.group_key is null then true
        when a.key in (select t.key from turns t) then pg_try_advisory_lock(a.group_key)
        else false end
    end as entered
  from asked a
),
tried as materialized (
  select e.key, e.group_key, e.entered, case when e.entered then pg_try_advisory_lock(e.key) else e.entered end as granted
  from entered e
),
alone as materialized (
  select t.key, t.group_key, t.entered, t.granted as locked,
    case when t.granted and t.group_key is not null then {schema}.settle_group(t.group_key, t.key, $4::float8) else t.granted end as granted
  from tried t
)
select a.key, a.granted,
  case when a.locked and not a.granted then pg_advisory_unlock(a.key) end as job_left_again,
  case when a.entered and not a.granted and a.group_key is not null then pg_advisory_unlock(a.group_key) end as left_again
from alone a
