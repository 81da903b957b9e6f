-- Ends this node's own former session, which the server may take for alive. By pid and start: a pid alone may be a stranger's.
-- $1 pid, $2 backend start
select pg_terminate_backend(a.pid) as ended
from pg_stat_activity a
where a.pid = $1::int and a.backend_start = $2::timestamptz
