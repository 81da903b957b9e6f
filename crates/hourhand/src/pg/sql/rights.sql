-- What this role lacks to run jobs, each as `privilege on object`, and whether it may look into the schema at all. No row: no such schema.
-- The rights are those of grants.sql.
-- $1 schema
with ours as (select n.oid, n.nspname from pg_namespace n where n.nspname = $1::text),
tables as (select c.oid, c.relname from pg_class c join ours o on o.oid = c.relnamespace where c.relkind = 'r'),
wanted (privilege) as (values ('select'), ('insert'), ('update'), ('delete')),
lacking as (
  select w.privilege || ' on ' || t.relname as what
  from tables t cross join wanted w
  where not has_table_privilege(t.oid, w.privilege)
    and not (t.relname = 'migration' and w.privilege <> 'select')
    and not (t.relname in ('job', 'definition') and w.privilege = 'delete')
    and not (t.relname = 'audit' and w.privilege = 'update')
  union all
  select 'execute on ' || p.proname from pg_proc p join ours o on o.oid = p.pronamespace
  where not has_function_privilege(p.oid, 'execute')
)
select has_schema_privilege(o.oid, 'usage') as usage, (select array_agg(l.what order by l.what) from lacking l) as lacking,
  (select pg_get_userbyid(n.nspowner)::text from pg_namespace n where n.oid = o.oid) as owner
from ours o
