-- How large history is, by the server's own estimate, and how old the oldest row is that each job may lose: all but its newest run.
select j.name, o.ended_at as oldest, greatest(c.reltuples, 0)::bigint as rows, pg_total_relation_size(c.oid) as bytes,
  clock_timestamp() as now
from {schema}.job j
join pg_class c on c.oid = '{schema}.history'::regclass
cross join lateral (
  select h.ended_at from {schema}.history h
  where h.job = j.name
    and h.id < (select max(n.id) from {schema}.history n where n.job = j.name and n.epoch is not null)
  order by h.id limit 1) o
order by j.name
