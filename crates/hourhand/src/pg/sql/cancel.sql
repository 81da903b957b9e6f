-- Asks for the run under way to be cancelled: by its epoch, so that the wish is void for any other. Its node hears the notice, and
-- at the latest its next ping finds the row. One that nobody has is lost, and the answer says so. What is asked for and has not begun is withdrawn, and with a run of a backfill the rest of it.
-- $1 name, $2 epoch meant (null: the one under way, and whatever is asked for), $3 actor
with meant as (
  select j.name, j.key, j.epoch,
    -- As in status.sql.
    exists (
      select from pg_locks l left join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 1
        and l.database = (select oid from pg_database where datname = current_database())
        and ((l.classid::bigint << 32) | l.objid::bigint) = j.key and l.pid = j.pid
        and (a.backend_start is null or a.backend_start = j.backend_start))
    or exists (
      select from {schema}.lease e where e.job = j.name and e.epoch = j.epoch and e.expires_at > clock_timestamp()) as running
  from {schema}.job j
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
select m.epoch, m.running, (select count(*) from withdrawn) as withdrawn, pg_notify('hourhand', 'cancel ' || m.key) as said from meant m
union all
select null, false, count(*), null from withdrawn where not exists (select from meant) having count(*) > 0
