-- Whose open transaction holds the job's row: the row's xmax is the transaction that locked it (no foreign key points to the row, so
-- it is never a multixact). Ended only if idle in its transaction for as long as a frozen process is given; one that works is
-- only told.
-- $1 name, $2 seconds
with blocker as materialized (
  select a.pid, a.application_name as application, host(a.client_addr) as client,
    extract(epoch from clock_timestamp() - a.state_change)::float8 as silent, a.state,
    pg_has_role(current_user, a.usesysid, 'member') or pg_has_role(current_user, 'pg_signal_backend', 'member') as allowed
  from {schema}.job j
  join pg_locks l on l.locktype = 'transactionid' and l.granted and l.mode = 'ExclusiveLock' and l.transactionid = j.xmax
  join pg_stat_activity a on a.pid = l.pid
  where j.name = $1::text and l.pid <> pg_backend_pid()
),
judged as materialized (
  select b.*, coalesce(b.state like 'idle in transaction%' and b.silent > $2::float8, false) as guilty from blocker b
)
select false as watch, j.pid, j.application, j.client, j.silent, false as ours,
  case when j.guilty and j.allowed then pg_terminate_backend(j.pid) else false end as evicted,
  j.guilty and not j.allowed as forbidden
from judged j
