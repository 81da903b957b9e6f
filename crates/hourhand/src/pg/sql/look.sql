-- What the database knows of these jobs, read before a decision: the row, who holds the lock, pause and lease; and of every other
-- job that somebody asks for, so that a visit made for one job finds the requests for all; and, if wanted, the runs that ended without
-- a word, of all jobs there are.
-- pg_locks is read once for all jobs: a look into it takes every partition of the lock table.
-- $1 names, $2 token of this node's leases (null: it takes none), $3 fingerprints of its definitions: another one that stands
-- registered is read whole, $4 whether lost runs are wanted: it reads every row
with locks as materialized (
  select ((l.classid::bigint << 32) | l.objid::bigint) as key, l.pid
  from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
)
select j.name, clock_timestamp() as now,
  j.epoch, j.ended_epoch, j.handled_until, j.covered_until, d.counts_from,
  d.fingerprint, case when d.fingerprint <> w.fingerprint then d.body::text end as other, j.key,
  r.name as renamed_to, greatest(r.handled_until, rf.counts_from) as renamed_handled_until, r.epoch > r.ended_epoch as renamed_open,
  coalesce(rp.active and (rp.until is null or rp.until > clock_timestamp()), false) as renamed_paused,
  greatest(r.not_before, r.last_success_at, rf.counts_from) as renamed_idle_since,
  j.open_for, j.attempts, j.failures, j.deaths, j.not_before,
  j.node, j.started_at, j.scheduled_for, j.trigger, j.last_outcome, j.last_success_at, d.known_at,
  coalesce(p.active and (p.until is null or p.until > clock_timestamp()), false) as paused,
  -- A pause that has run out ended then.
  case when p.active and p.until <= clock_timestamp() then p.until else p.resumed_at end as resumed_at,
  j.trigger <> 'backfill' and j.last_outcome = 'succeeded' and j.ended_epoch = j.epoch
    and j.window_until < j.started_at and j.covered_until < j.started_at as window_behind,
  -- A lease counts as a holder without a session: pid 0.
  coalesce(h.pid, case when e.live then 0 end) as holder_pid, coalesce(a.application_name, case when e.live then e.holder end)
    as holder_application,
  case when e.live then e.seconds_left end as lease_left,
  -- Running: the lock is held by the session that the row names, and the end of that run is not recorded. The start of
  -- another role's session may be invisible; then its pid has to do.
  coalesce(j.epoch > j.ended_epoch and h.pid = j.pid
    and (a.backend_start is null or a.backend_start = j.backend_start), false)
    or coalesce(e.live and e.epoch = j.epoch and j.epoch > j.ended_epoch, false) as running,
  case when $2::text is null
    then j.pid = pg_backend_pid()
      and j.backend_start = (select s.backend_start from pg_stat_activity s where s.pid = pg_backend_pid())
    else e.own and e.epoch = j.epoch end as mine,
  case when $4::boolean then (select array_agg(x.epoch) from {schema}.lost() x) end as lost,
  q.id as request, q.kind = 'backfill' as backfill, q.after as backfill_after, q.span_until as backfill_until
from (
  select * from unnest($1::text[], $3::bigint[])
  union all
  select distinct r.job, null::bigint from {schema}.request r
  where r.answered_at is null and r.expires_at > clock_timestamp() and r.job <> all($1::text[])
) as w(name, fingerprint)
join {schema}.job j on j.name = w.name
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
  select l.holder, l.epoch, l.token is not distinct from $2::text::uuid as own,
    l.expires_at > clock_timestamp() and l.token is distinct from $2::text::uuid as live,
    case when isfinite(l.expires_at) then extract(epoch from l.expires_at - clock_timestamp())::float8 end as seconds_left
  from {schema}.lease l where l.job = j.name) e on true
left join lateral (
  -- A person waits for a run; a backfill can wait.
  select r.id, r.kind, coalesce(r.position, r.span_from - interval '1 microsecond') as after, r.span_until
  from {schema}.request r
  where r.job = j.name and r.answered_at is null and r.expires_at > clock_timestamp()
  order by r.kind desc limit 1) q on true
-- At most one: the lock is exclusive. Not looked up row by row: that would be as many times as there are locks.
left join locks h on h.key = j.key
left join pg_stat_activity a on a.pid = h.pid
