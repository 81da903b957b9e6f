-- Starts runs, one row a job, for all jobs whose lock was granted. The re-check stands in the WHERE of this one statement,
-- begun after the locks were granted, on the columns of the locked row: after waiting for a row PostgreSQL re-reads the row,
-- but answers sub-queries (of history, say) from the old snapshot, and an occurrence would be repeated.
--   j.epoch = s.epoch     s is the same row in the snapshot: what changed since is not started, but tried again
--   j.epoch = w.seen      the row the node decided upon
--   j.renamed_to          it goes on under another name
--   j.epoch = ended_epoch a run without an end is settled first, by a statement of its own
--   d.fingerprint         an occurrence (or a continuous run) is one of the registered definition: its node has not been told to stand down meanwhile
--   lease                 no other kind of exclusion runs it; its row is locked too, so that no renewal slips in between
--   own                   this backend holds the key, and that of the job's group: if the pooler probe was fooled, nothing starts
--   a request             is taken by this very statement, or nothing starts: taken once, whoever dies in between
--   with a token ($9)     the lease is ours and has not run out, and nobody at all holds the key
-- A backoff that a continuous run has to wait for is not asked for again: it cannot change while epoch and ended_epoch are as seen.
-- $1 names, $2 occurrences (null: by hand), $3 epochs seen, $4 triggers, $5 lookbacks in seconds, $6 skipped before, $7 the
-- newest of those, $8 node, $9 token of leases (null: session locks), $10 where the window ends at the latest, $11 its length at
-- most in seconds, $12 why the older ones are skipped, $13 fingerprints of the definitions that the decisions rest on (null: none), $14
-- requests, $15 the occurrences to run again that these ask for (null: a run now), $16 nothing is left of them, $17 the
-- keys of their groups (null: none)
with held as materialized (
  select ((l.classid::bigint << 32) | l.objid::bigint) as key
  from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
    and ($9::text is not null or l.pid = pg_backend_pid())
),
want as materialized (
  select * from unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::text[], $5::float8[], $6::bigint[], $7::timestamptz[],
      $10::timestamptz[], $11::float8[], $12::text[], $13::bigint[], $14::bigint[], $15::timestamptz[], $16::boolean[],
      $17::bigint[])
    as w(name, occurrence, seen, trigger, lookback, skipped, skipped_for, window_end, window_max, reason, fingerprint, request,
      again, last, group_key)
),
ready as (
  select j.*, w.occurrence, w.trigger as wanted_trigger, w.lookback, w.skipped, w.skipped_for, w.window_end, w.reason,
    clock_timestamp() as at, w.request, w.again, w.last,
    -- The window of an occurrence that is run again is the span up to the next one.
    coalesce(w.again, j.covered_until - make_interval(secs => w.lookback)) as begins,
    case when w.again is null then w.window_max end as window_max
  from want w
  join {schema}.job s on s.name = w.name
  join {schema}.job j on j.name = w.name
  join {schema}.lease l on l.job = w.name
  left join {schema}.pause p on p.job = w.name
  left join {schema}.definition d on d.job = w.name
  where j.epoch = s.epoch and j.epoch = w.seen and j.epoch = j.ended_epoch and j.renamed_to is null
    and (w.occurrence is null or (
      j.handled_until < w.occurrence
      and (p.resumed_at is null or p.resumed_at < w.occurrence)
      and (p.active is not true or p.until is null or p.until < w.occurrence)
      and (j.not_before is null or j.not_before <= clock_timestamp()
        or (j.open_for is distinct from w.occurrence and (j.deaths = 0 or j.trigger = 'continuous')))))
    and ((w.occurrence is null and w.trigger <> 'continuous')
      or d.fingerprint is null or w.fingerprint is null or d.fingerprint = w.fingerprint)
    and not coalesce(p.active and (p.until is null or p.until > clock_timestamp()), false)
    and case when $9::text is null
      then l.expires_at <= clock_timestamp() and j.key in (select h.key from held h)
        and (w.group_key is null or w.group_key in (select h.key from held h))
      else l.token = $9::text::uuid and l.expires_at > clock_timestamp() and j.key not in (select h.key from held h) end
  order by j.name
  for no key update of j, l skip locked
),
asked as (
  select q.id, r.name, r.again, r.last, r.last_outcome = 'lost' as lost from ready r join {schema}.request q on q.id = r.request
  where q.job = r.name and q.answered_at is null and q.expires_at > clock_timestamp()
    and (r.again is null or q.position is null or q.position < r.again)
  for no key update of q skip locked
),
started as (
  update {schema}.job j set
    -- Never repeats: also outlives a restore, and a failover that lost commits.
    epoch = greatest(r.epoch + 1, (extract(epoch from r.at) * 1000000)::bigint),
    ended_epoch = r.epoch,
    node = $8::text, pid = pg_backend_pid(),
    backend_start = (select a.backend_start from pg_stat_activity a where a.pid = pg_backend_pid()),
    started_at = r.at, scheduled_for = coalesce(r.occurrence, r.again), trigger = r.wanted_trigger,
    attempt = case when r.wanted_trigger = 'continuous' then case when r.open_for is null then r.attempts else 0 end + 1
      when r.occurrence is null or r.open_for is distinct from r.occurrence then 1 else r.attempts + 1 end,
    takeover = case when r.wanted_trigger = 'continuous' then r.deaths
      when r.occurrence is null or r.open_for is distinct from r.occurrence then 0 else r.deaths end,
    window_from = r.begins,
    window_until = greatest(r.begins, least(r.at, r.window_end, r.begins + make_interval(secs => r.window_max))),
    -- Counters of the open occurrence: a newer one begins with fresh attempts; deaths go on across occurrences. A continuous job has
    -- none; an occurrence left open is of a schedule that it had before.
    attempts = case when r.wanted_trigger = 'continuous' and r.open_for is not null then 0
      when r.occurrence is null or r.open_for is not distinct from r.occurrence then r.attempts else 0 end,
    -- As deaths are of either kind of job.
    deaths = case when (r.wanted_trigger = 'continuous' and r.trigger in ('schedule', 'catch_up', 'retry'))
      or (r.occurrence is not null and r.trigger = 'continuous') then 0 else r.deaths end,
    open_for = case when r.wanted_trigger <> 'continuous' then coalesce(r.occurrence, r.open_for) end,
    not_before = case when r.occurrence is null and r.wanted_trigger <> 'continuous' then r.not_before end
  from ready r
  where j.name = r.name and (r.request is null or r.request in (select a.id from asked a))
  returning j.name, j.epoch, j.attempt, j.takeover, j.window_from, j.window_until, j.started_at
),
leased as (
  update {schema}.lease l set epoch = s.epoch
  from started s
  where l.job = s.name and l.token = $9::text::uuid
),
taken as (
  update {schema}.request q set
    position = a.again, epoch = s.epoch, node = $8::text,
    deaths = case when a.lost then q.deaths else 0 end,
    answered_at = case when a.last then s.started_at end
  from asked a join started s on s.name = a.name
  where q.id = a.id
),
skips as (
  insert into {schema}.history (job, scheduled_for, outcome, reason, count, node)
  select r.name, r.skipped_for, 'skipped', r.reason, r.skipped, $8::text
  from ready r join started s on s.name = r.name
  where r.skipped > 0
)
select w.name, t.epoch, t.attempt, t.takeover, t.window_from, t.window_until, t.started_at,
  ($9::text is not null or j.key in (select h.key from held h)) as owned,
  -- For whoever shows what runs, and for those who wait for its end.
  case when t.epoch is not null then pg_notify('hourhand', 'start ' || j.key) end as said
from want w
join {schema}.job j on j.name = w.name
left join started t on t.name = w.name
