-- Every advisory lock of this very backend: what is left to find out after an acquisition whose answer never came. They are of
-- this database; as in ping.sql, pg_database is not asked.
select ((l.classid::bigint << 32) | l.objid::bigint) as key, l.objsubid::int as form
from pg_locks l
where l.locktype = 'advisory' and l.granted and l.pid = pg_backend_pid()
