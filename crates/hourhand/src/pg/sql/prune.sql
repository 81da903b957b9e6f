-- Removes ended runs and skips that are older than their job's retention: the oldest so many of each job, and never its newest run.
-- By id, which grows with time: a table of millions of young rows costs one look at its oldest row. The audit trail is kept for as
-- long as the history that is kept longest.
-- $1 names, $2 retentions in seconds, $3 how many rows a job at most
with old as (
  select h.id
  from unnest($1::text[], $2::float8[]) as w(name, retention)
  cross join lateral (
    select o.id, o.ended_at from {schema}.history o where o.job = w.name order by o.id limit $3::bigint) h
  where h.ended_at < clock_timestamp() - make_interval(secs => w.retention)
    and h.id < (select max(n.id) from {schema}.history n where n.job = w.name and n.epoch is not null)
),
acts as (
  delete from {schema}.audit a using (select o.id, o.at from {schema}.audit o order by o.id limit $3::bigint) o
  where a.id = o.id and o.at < clock_timestamp() - make_interval(secs => (select max(r) from unnest($2::float8[]) as r))
)
delete from {schema}.history h using old o where h.id = o.id
returning h.id
