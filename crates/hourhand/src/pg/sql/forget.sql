-- Removes a job and all that stands for it, if it is still as it was when it was found to be orphaned: neither started nor registered
-- since, and nobody holds its lock, its watch or its lease. Its history goes too, the first so many rows of it with this statement.
-- $1 name, $2 epoch seen, $3 handled until, seen, $4 registered at, seen, $5 rows of history, $6 actor
with doomed as materialized (
  select j.name, j.epoch, j.last_outcome
  from {schema}.job j join {schema}.lease l on l.job = j.name
  where j.name = $1::text and j.epoch = $2::bigint and j.handled_until = $3::timestamptz
    and (select d.registered_at from {schema}.definition d where d.job = j.name) is not distinct from $4::timestamptz
    and l.expires_at <= clock_timestamp()
    and not exists (
      select from pg_locks k
      where k.locktype = 'advisory' and k.objsubid in (1, 2)
        and k.database = (select oid from pg_database where datname = current_database())
        and ((k.classid::bigint << 32) | k.objid::bigint) = j.key)
  for update of j, l
),
old as (
  delete from {schema}.history h using (
    select o.id from {schema}.history o where o.job = $1::text and exists (select from doomed) order by o.id limit $5::bigint) o
  where h.id = o.id
),
definitions as (delete from {schema}.definition d using doomed j where d.job = j.name),
pauses as (delete from {schema}.pause p using doomed j where p.job = j.name),
cancels as (delete from {schema}.cancel c using doomed j where c.job = j.name),
requests as (delete from {schema}.request r using doomed j where r.job = j.name),
leases as (delete from {schema}.lease l using doomed j where l.job = j.name),
noted as (
  insert into {schema}.audit (actor, action, job, detail)
  select $6::text, 'forget', j.name, jsonb_strip_nulls(jsonb_build_object('epoch', j.epoch, 'last_outcome', j.last_outcome))
  from doomed j
)
delete from {schema}.job j using doomed d where j.name = d.name
returning j.name
