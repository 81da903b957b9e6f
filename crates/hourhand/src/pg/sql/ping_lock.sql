-- Proof that this session lives, is still ours and still owns its locks, for those who hold locks and nothing else: a ping that needs
-- no table, so there are no cancels.
-- $1 names and $2 epochs of the runs of this node, which nobody is asked for
select current_setting('hourhand.session', true) as mark,
  pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only,
  array(
    select ((l.classid::bigint << 32) | l.objid::bigint)
    from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 1
      and l.pid = pg_backend_pid()) as owned,
  '{}'::bigint[] as cancelled
