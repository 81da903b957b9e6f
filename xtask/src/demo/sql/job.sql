-- The newest start of the job, and whether that run goes on: its end is not recorded, and somebody holds the lock.
select j.epoch, j.node, j.started_at, j.scheduled_for, clock_timestamp() as now,
  to_char(j.started_at, 'HH24:MI:SS') as since,
  j.epoch > j.ended_epoch and exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and l.database = (select oid from pg_database where datname = current_database())
      and ((l.classid::bigint << 32) | l.objid::bigint) = j.key
  ) as running
from hourhand.job j
