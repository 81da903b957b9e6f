-- The first statement of a session: puts the mark by which it is recognised, and asks who answers. Before any setting: sent
-- through a pooler, a setting would stay on a stranger's connection.
-- $1 mark, $2 for this statement only: behind a pooler the backend is not ours to mark
select set_config('hourhand.session', $1::text, $2::boolean) as mark,
  current_setting('server_version_num')::int as version_number, current_setting('server_version') as version,
  pg_backend_pid() as pid,
  (select a.backend_start from pg_stat_activity a where a.pid = pg_backend_pid()) as backend_start,
  pg_is_in_recovery() as standby, clock_timestamp() as now
