-- Takes the leases that are free, and waits for none. A lease is not to be had while any session holds the job's key: a node with
-- the other kind of exclusion runs it. One's own lease is to be had: a failover may have brought it back. What slips in between is caught by the start, which asks again for both.
-- $1 names, $2 holder, $3 token, $4 ttl in seconds
with taken as materialized (
  select ((l.classid::bigint << 32) | l.objid::bigint) as key
  from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
),
free as (
  select l.job
  from unnest($1::text[]) as w(name)
  join {schema}.job j on j.name = w.name
  join {schema}.lease l on l.job = w.name
  where (l.expires_at <= clock_timestamp() or l.token = $3::text::uuid) and not exists (select from taken t where t.key = j.key)
  order by l.job
  for no key update of l skip locked
),
granted as (
  update {schema}.lease l set
    holder = $2::text, token = $3::text::uuid, epoch = null, expires_at = clock_timestamp() + make_interval(secs => $4::float8)
  from free f
  where l.job = f.job
  returning l.job
)
select w.name, g.job is not null as granted
from unnest($1::text[]) with ordinality as w(name, place)
left join granted g on g.job = w.name
order by w.place
