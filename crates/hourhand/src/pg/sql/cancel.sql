-- Asks for the run under way to be cancelled: by its epoch, so that the wish is void for any other. Its node hears the notice, and
-- at the latest its next ping finds the row. What is asked for and has not begun is withdrawn, and with a run of a backfill the rest of it.
-- $1 name, $2 epoch meant (null: the one under way, and whatever is asked for), $3 actor
with meant as (
  select j.name, j.key, j.epoch from {schema}.job j
  where j.name = $1::text and j.epoch > j.ended_epoch and coalesce(j.epoch = $2::bigint, true)
),
asked as (
  insert into {schema}.cancel as c (job, epoch, actor)
  select m.name, m.epoch, $3::text from meant m
  on conflict (job) do update set epoch = excluded.epoch, actor = excluded.actor
),
withdrawn as (
  update {schema}.request q set answered_at = clock_timestamp()
  where q.job = $1::text and q.answered_at is null and ($2::bigint is null or q.epoch = $2::bigint)
  returning q.id
),
noted as (
  insert into {schema}.audit (actor, action, job, detail)
  select $3::text, 'cancel', $1::text, jsonb_strip_nulls(jsonb_build_object('epoch', (select m.epoch from meant m),
    'withdrawn', nullif((select count(*) from withdrawn), 0)))
  where exists (select from meant) or exists (select from withdrawn)
)
select m.epoch, pg_notify('hourhand', 'cancel ' || m.key) as said from meant m
union all
select null, null from (select 1 from withdrawn limit 1) w where not exists (select from meant)
