-- The backend that answers, and the mark that it carries.
select pg_backend_pid() as pid, current_setting('hourhand.session', true) as mark
