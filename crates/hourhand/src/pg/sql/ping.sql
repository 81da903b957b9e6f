-- Proof that this session lives, is still ours and still owns its locks, and the cancels meant for its runs.
-- A backend's own locks are of this database. pg_database is not asked for it: a shared table takes room in the server's lock
-- table, and with that full (53200) every run would be given up.
-- The last column is left out for those who hold locks and nothing else: they may have no schema.
-- $1 names and $2 epochs of the runs of this node
select current_setting('hourhand.session', true) as mark,
  pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only,
  array(
    select ((l.classid::bigint << 32) | l.objid::bigint)
    from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 1
      and l.pid = pg_backend_pid()) as owned,
  array(
    select c.epoch from {schema}.cancel c
    join unnest($1::text[], $2::bigint[]) as r(job, epoch) on r.job = c.job and r.epoch = c.epoch) as cancelled
