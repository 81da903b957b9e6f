-- Proof that this session lives, is still ours and still owns its locks, and the cancels meant for its runs.
-- $1 names and $2 epochs of the runs of this node
select current_setting('hourhand.session', true) as mark,
  pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only,
  array(
    select ((l.classid::bigint << 32) | l.objid::bigint)
    from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 1
      and l.database = (select oid from pg_database where datname = current_database())
      and l.pid = pg_backend_pid()) as owned,
  array(
    select c.epoch from {schema}.cancel c
    join unnest($1::text[], $2::bigint[]) as r(job, epoch) on r.job = c.job and r.epoch = c.epoch) as cancelled
