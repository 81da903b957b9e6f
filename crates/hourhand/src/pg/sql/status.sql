-- How all jobs of the schema stand (or one of them), for people: as look.sql reads it, with the registered definition and what the
-- pause says. pg_locks is read once, however many jobs there are.
-- $1 name (null: all)
with locks as materialized (
  select ((l.classid::bigint << 32) | l.objid::bigint) as key, l.pid
  from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
)
select j.name, j.key, clock_timestamp() as now, d.body::text as body, d.registered_at,
  null::text as other, d.fingerprint,
  j.epoch, j.ended_epoch, j.handled_until, j.covered_until, d.counts_from,
  r.name as renamed_to, greatest(r.handled_until, rf.counts_from) as renamed_handled_until, r.epoch > r.ended_epoch as renamed_open,
  coalesce(rp.active and (rp.until is null or rp.until > clock_timestamp()), false) as renamed_paused,
  greatest(r.not_before, r.last_success_at, rf.counts_from) as renamed_idle_since,
  j.open_for, j.attempts, j.failures, j.deaths, j.not_before,
  j.node, j.started_at, j.scheduled_for, j.trigger, j.last_outcome, j.last_success_at, d.known_at,
  coalesce(p.active and (p.until is null or p.until > clock_timestamp()), false) as paused,
  p.until as paused_until, p.reason as paused_reason, p.actor as paused_actor,
  case when p.active and p.until <= clock_timestamp() then p.until else p.resumed_at end as resumed_at,
  false as window_behind, false as mine,
  coalesce(h.pid, case when e.live then 0 end) as holder_pid,
  coalesce(a.application_name, case when e.live then e.holder end) as holder_application,
  case when e.live then e.seconds_left end as lease_left,
  coalesce(j.epoch > j.ended_epoch and h.pid = j.pid
    and (a.backend_start is null or a.backend_start = j.backend_start), false)
    or coalesce(e.live and e.epoch = j.epoch and j.epoch > j.ended_epoch, false) as running
from {schema}.job j
left join {schema}.definition d on d.job = j.name
left join {schema}.job r on r.name = j.renamed_to
left join {schema}.definition rd on rd.job = r.name
left join {schema}.pause rp on rp.job = r.name
left join lateral (
  -- What came due before counts as handled: the schedule was another, or the job was paused.
  select greatest(rd.counts_from,
    case when rp.active and rp.until <= clock_timestamp() then rp.until else rp.resumed_at end) as counts_from) rf on true
left join {schema}.pause p on p.job = j.name
left join lateral (
  select l.holder, l.epoch, l.expires_at > clock_timestamp() as live,
    case when isfinite(l.expires_at) then extract(epoch from l.expires_at - clock_timestamp())::float8 end as seconds_left
  from {schema}.lease l where l.job = j.name) e on true
left join locks h on h.key = j.key
left join pg_stat_activity a on a.pid = h.pid
where $1::text is null or j.name = $1::text
order by j.name
