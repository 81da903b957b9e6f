-- Every advisory lock of this very backend: what is left to find out after an acquisition whose answer never came.
select ((l.classid::bigint << 32) | l.objid::bigint) as key, l.objsubid::int as form
from pg_locks l
where l.locktype = 'advisory' and l.granted and l.pid = pg_backend_pid()
  and l.database = (select oid from pg_database where datname = current_database())
