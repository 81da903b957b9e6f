-- The rest of a forgotten job's history, a batch at a time; nothing if the job is there again.
-- $1 name, $2 how many rows
delete from {schema}.history h using (
  select o.id from {schema}.history o
  where o.job = $1::text and not exists (select from {schema}.job j where j.name = $1::text)
  order by o.id limit $2::bigint) o
where h.id = o.id
returning h.id
