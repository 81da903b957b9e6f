-- Takes note that a node has these jobs, which wait: so that nobody takes them for given up. In the definition's row, because an open
-- fence holds the job's. Of several nodes that look at the same time one writes.
-- $1 names
update {schema}.definition d set known_at = clock_timestamp()
from (
  select o.job from {schema}.definition o
  where o.job = any($1::text[]) and (o.known_at is null or o.known_at < clock_timestamp() - interval '30 s')
  order by o.job
  for no key update skip locked) w
where d.job = w.job
