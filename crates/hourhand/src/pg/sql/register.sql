-- Registers the definitions of a node's jobs, all in one statement; what is unchanged is not written. A new job counts
-- from now, and so does a changed schedule: what lay before it was nobody's to run. Rows are written in the order of their
-- names, so that nodes which register at once cannot deadlock.
-- A job without a body is another node's to define, or nobody's: it gets its row alone, and no occurrence counts as handled.
-- $1 names, $2 keys, $3 bodies (json with schedule and time_zone; null: no definition), $4 initial windows in seconds, $5 their fingerprints, $6 whether they
-- replace other definitions: the last process to begin decides, but not one that finds its rows gone later on
with mine as materialized (
  select m.name, m.key, m.body::jsonb as body, m.initial_window, m.fingerprint
  from unnest($1::text[], $2::bigint[], $3::text[], $4::float8[], $5::bigint[]) as m(name, key, body, initial_window, fingerprint)
),
jobs as (
  insert into {schema}.job (name, key, handled_until, covered_until)
  select m.name, m.key, case when m.body is null then 'epoch' else statement_timestamp() end,
    statement_timestamp() - make_interval(secs => m.initial_window)
  from mine m
  where not exists (select from {schema}.job j where j.name = m.name)
  order by m.name
  on conflict (name) do nothing
),
leases as (
  insert into {schema}.lease (job)
  select m.name from mine m
  where not exists (select from {schema}.lease l where l.job = m.name)
  order by m.name
  on conflict (job) do nothing
),
definitions as (
  insert into {schema}.definition as d (job, body, fingerprint, counts_from)
  select m.name, m.body, m.fingerprint, statement_timestamp() from mine m
  where m.body is not null
    and not exists (select from {schema}.definition d where d.job = m.name and (d.fingerprint = m.fingerprint or not $6::boolean))
  order by m.name
  on conflict (job) do update set
    body = excluded.body, fingerprint = excluded.fingerprint, registered_at = clock_timestamp(),
    counts_from = case
      when (d.body ->> 'schedule', d.body ->> 'time_zone')
        is distinct from (excluded.body ->> 'schedule', excluded.body ->> 'time_zone')
      then excluded.counts_from else d.counts_from end
  where d.fingerprint <> excluded.fingerprint and $6::boolean
)
-- A job registered under another key (with another namespace, say) would run beside ours: refused by name.
select m.name
from mine m join {schema}.job j on j.name = m.name
where j.key <> m.key
