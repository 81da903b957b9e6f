-- Registers this node's definitions in place of others that nobody runs, each only while it is the one that was seen: of several nodes
-- that find the same occurrence overdue one does it. The floor stays, so that what is overdue is not forgotten.
-- $1 names, $2 fingerprints seen, $3 bodies, $4 their fingerprints
with mine as materialized (
  select * from unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) as m(name, seen, body, fingerprint)
),
theirs as materialized (
  select d.job from {schema}.definition d join mine m on m.name = d.job
  where d.fingerprint = m.seen
  order by d.job
  for no key update of d
)
update {schema}.definition d set body = m.body::jsonb, fingerprint = m.fingerprint, registered_at = clock_timestamp()
from mine m join theirs t on t.job = m.name
where d.job = m.name and d.fingerprint = m.seen
returning d.job as name
