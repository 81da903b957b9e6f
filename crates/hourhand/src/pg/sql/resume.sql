-- Resumes a job. What came due before this instant counts as passed over, unless it is to be caught up.
-- $1 name, $2 catch up, $3 actor
with resumed as (
  update {schema}.pause p set
    active = false, actor = $3::text,
    resumed_at = case when $2::boolean then p.resumed_at
      when p.until <= clock_timestamp() then p.until else clock_timestamp() end
  where p.job = $1::text and p.active
  returning p.job
),
noted as (
  insert into {schema}.audit (actor, action, job, detail)
  select $3::text, 'resume', r.job, jsonb_build_object('catch_up', $2::boolean) from resumed r
)
select j.name, pg_notify('hourhand', 'look ' || j.key) as said
from {schema}.job j join resumed r on r.job = j.name
