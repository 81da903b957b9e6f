-- Lets leases go and says so. Released: it was ours, and had not run out.
-- $1 names, $2 token
with mine as (
  select l.job, l.expires_at > clock_timestamp() as valid
  from {schema}.lease l
  where l.job = any($1::text[]) and l.token = $2::text::uuid
  for no key update
),
released as (
  update {schema}.lease l set expires_at = '-infinity', epoch = null
  from mine m
  where l.job = m.job
  returning l.job, m.valid
)
select w.name, coalesce(r.valid, false) as released, pg_notify('hourhand', 'free ' || j.key) as said
from unnest($1::text[]) as w(name)
join {schema}.job j on j.name = w.name
left join released r on r.job = w.name
