-- The tables of the protocol and the functions that any client, in any language, may call in its own transaction.
-- `{schema}` is replaced by the quoted name of the schema. Additive only from here on: an old node works on a newer schema.

-- One row a job. Touched only by settle, start, end, complete, advance (and the operator's window and forget): it is the
-- row that `fence` locks, so whatever else a job has to remember stands in rows of its own, or an open fence would block it.
-- Invariant: no foreign key points here. Its lock would make the row's xmax a multixact, and a blocker could not be found.
create table {schema}.job (
  name text primary key,
  key bigint not null unique,
  -- Facts of the newest start. They never say whether the run still goes on: the lock does.
  epoch bigint not null default 0,
  node text,
  pid int,
  backend_start timestamptz,
  started_at timestamptz,
  scheduled_for timestamptz,
  trigger text,
  attempt int,
  takeover int,
  window_from timestamptz,
  window_until timestamptz,
  -- Facts of the newest recorded end.
  ended_epoch bigint not null default 0,
  last_outcome text,
  last_success_at timestamptz,
  -- Failed runs in a row; set back by a success.
  failures int not null default 0,
  -- What needs no further run, and how far outside data is covered.
  handled_until timestamptz not null,
  covered_until timestamptz not null,
  -- Counters of the occurrence that is still open; a manual run in between leaves them alone.
  open_for timestamptz,
  attempts int not null default 0,
  deaths int not null default 0,
  not_before timestamptz,
  -- The job goes on under this name: nothing starts under the old one.
  renamed_to text
) with (fillfactor = 50);

create table {schema}.definition (
  job text primary key,
  body jsonb not null,
  -- The digest of the text that it was written as: nodes compare it with that of their own.
  fingerprint bigint not null,
  counts_from timestamptz not null,
  registered_at timestamptz not null default clock_timestamp(),
  -- The occurrence of which it was told last that it waits too long: once in the fleet.
  late_for timestamptz,
  -- When a node that has the job took note, last, that it waits: it is not given up.
  known_at timestamptz
);

create table {schema}.pause (
  job text primary key,
  active boolean not null,
  until timestamptz,
  reason text,
  actor text,
  resumed_at timestamptz
);

-- A cancel names the epoch it means; for any other run it is void.
create table {schema}.cancel (
  job text primary key,
  epoch bigint not null,
  actor text
);

-- What somebody asks of the fleet, from anywhere: a run now (`trigger`), or the occurrences of a span again (`backfill`). The start of a
-- run takes it, in the same statement. A backfill stays until its last run has started; `position` is the occurrence of its newest.
create table {schema}.request (
  id bigint generated always as identity primary key,
  job text not null,
  kind text not null check (kind in ('trigger', 'backfill')),
  actor text,
  asked_at timestamptz not null default clock_timestamp(),
  -- Void from then on.
  expires_at timestamptz not null,
  span_from timestamptz,
  span_until timestamptz,
  position timestamptz,
  -- Holders of its runs that died, in a row.
  deaths int not null default 0,
  -- The newest run that came of it, and that nothing more will: without a run it was withdrawn.
  epoch bigint,
  node text,
  answered_at timestamptz
);
-- Who asks twice is answered once.
create unique index request_open on {schema}.request (job, kind) where answered_at is null;

-- Every job has its lease row from registration on, so that a start of either kind can lock it: a lease that does not
-- exist cannot be locked, and both kinds of exclusion would run at once.
create table {schema}.lease (
  job text primary key,
  holder text,
  token uuid,
  epoch bigint,
  expires_at timestamptz not null default '-infinity'
) with (fillfactor = 50);

create table {schema}.history (
  id bigint generated always as identity primary key,
  job text not null,
  epoch bigint,
  trigger text,
  scheduled_for timestamptz,
  started_at timestamptz,
  ended_at timestamptz not null default clock_timestamp(),
  -- False: the run's process died without a word. `ended_at` is when that was noticed, and nobody knows how long it ran.
  end_seen boolean not null default true,
  outcome text not null,
  reason text,
  count bigint,
  attempt int,
  takeover int,
  window_from timestamptz,
  window_until timestamptz,
  node text,
  error text,
  output text,
  -- Who put the end on record: the run's own node, another one that found it lost, or 'complete' for the run itself.
  recorded_by text
);
-- The first recorded end of an epoch stands. A skip has no epoch.
create unique index history_epoch on {schema}.history (job, epoch);
-- An occurrence succeeds at most once; manual runs and backfills are outside.
create unique index history_once on {schema}.history (job, scheduled_for)
  where outcome = 'succeeded' and trigger in ('schedule', 'catch_up', 'retry');
create index history_pages on {schema}.history (job, id);
-- What went wrong is looked for by outcome, and is rare: without these, finding the last failure reads every success since.
create index history_troubles on {schema}.history (outcome, id) where outcome <> 'succeeded';
create index history_troubles_of_job on {schema}.history (job, outcome, id) where outcome <> 'succeeded';

-- Who did what. Written by the very statement that does it, so there is no act without its line.
create table {schema}.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  actor text,
  action text not null,
  job text,
  detail jsonb
);
create index audit_pages on {schema}.audit (job, id);

-- Whether this very backend owns the key in the one-bigint form.
create function {schema}.owns(p_key bigint) returns boolean
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 1
      and l.database = (select oid from pg_database where datname = current_database())
      and ((l.classid::bigint << 32) | l.objid::bigint) = p_key
      and l.pid = pg_backend_pid())
$$;

-- The key of a registered job, for a client that wants to take its lock.
create function {schema}.key(p_job text) returns bigint
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare found_key bigint;
begin
  select j.key into found_key from {schema}.job j where j.name = p_job;
  if not found then
    raise exception 'job % is not registered', p_job using errcode = 'HH003';
  end if;
  return found_key;
end $$;

create function {schema}.superseded(p_job text, p_epoch bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from {schema}.job j where j.name = p_job) then
    raise exception 'job % is not registered', p_job using errcode = 'HH003';
  end if;
  raise exception 'run % of job % is not the current one', p_epoch, p_job
    using errcode = 'HH001', hint = 'a later run has started, or the end of this one is recorded: roll back and stop';
end $$;

-- Lets the caller's transaction commit only while its run is the current one. To be called last, just before COMMIT.
-- FOR NO KEY UPDATE: with FOR SHARE overlapping stale fences starve the successor, and two completes deadlock.
create function {schema}.fence(p_job text, p_epoch bigint) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  if pg_current_xact_id_if_assigned() is null then
    raise warning 'hourhand: fence: this transaction has written nothing yet: call it last, inside the transaction';
  end if;
  perform from {schema}.job j
    where j.name = p_job and j.epoch = p_epoch and j.ended_epoch < p_epoch
    for no key update;
  if not found then
    perform {schema}.superseded(p_job, p_epoch);
  end if;
end $$;

-- Records the success of a run atomically with the data that the caller's transaction writes.
create function {schema}.complete(p_job text, p_epoch bigint) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  r {schema}.job;
  at timestamptz := clock_timestamp();
begin
  update {schema}.job j set
    ended_epoch = p_epoch, last_outcome = 'succeeded', last_success_at = at, failures = 0,
    covered_until = case when j.window_from <= j.covered_until
      then greatest(j.covered_until, j.window_until) else j.covered_until end
  where j.name = p_job and j.epoch = p_epoch and j.ended_epoch < p_epoch
  returning j.* into r;
  if not found then
    perform {schema}.superseded(p_job, p_epoch);
  end if;
  if r.scheduled_for is not null and r.trigger in ('schedule', 'catch_up', 'retry') then
    update {schema}.job j set
      handled_until = greatest(j.handled_until, j.scheduled_for),
      open_for = null, attempts = 0, deaths = 0, not_before = null
    where j.name = p_job;
  end if;
  if r.trigger = 'continuous' then
    -- What its node's end makes of it, should that never come: the body may take its process with it, each time.
    update {schema}.job j set
      attempts = j.attempts + 1, not_before = at + make_interval(secs => least(300, 2 ^ least(r.attempt - 1, 10)))
    where j.name = p_job;
  end if;
  -- No ON CONFLICT: a second success of the occurrence must fail the caller's transaction.
  insert into {schema}.history (job, epoch, trigger, scheduled_for, started_at, ended_at, outcome, attempt, takeover,
    window_from, window_until, node, recorded_by)
  values (r.name, r.epoch, r.trigger, r.scheduled_for, r.started_at, at, 'succeeded', r.attempt, r.takeover,
    r.window_from, r.window_until, r.node, 'complete');
end $$;

-- A checkpoint: moves the start of the next window, together with the data the caller's transaction writes, and fences.
-- Never past the run's own window, or a span that nobody has read would count as covered. A continuous run follows what comes
-- after its window, up to the present.
create function {schema}.advance(p_job text, p_epoch bigint, p_until timestamptz) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  if p_until is null then
    raise exception 'hourhand: advance: until is null' using errcode = '22004';
  end if;
  update {schema}.job j set covered_until = case when j.window_from <= j.covered_until
      then greatest(j.covered_until,
        least(p_until, case when j.trigger = 'continuous' then clock_timestamp() else j.window_until end))
      else j.covered_until end
  where j.name = p_job and j.epoch = p_epoch and j.ended_epoch < p_epoch;
  if not found then
    perform {schema}.superseded(p_job, p_epoch);
  end if;
end $$;

-- Whether the caller has the job to itself, by either kind of exclusion. Locks the lease row, so that no renewal slips in.
create function {schema}.may_run(p_job text, p_key bigint, p_token uuid) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  l {schema}.lease;
  live boolean;
begin
  select e.* into l from {schema}.lease e where e.job = p_job for no key update;
  live := coalesce(l.expires_at > clock_timestamp(), false);
  if p_token is null then
    return not live and {schema}.owns(p_key);
  end if;
  return live and l.token = p_token and not exists (
    select from pg_locks k
    where k.locktype = 'advisory' and k.granted and k.mode = 'ExclusiveLock' and k.objsubid = 1
      and k.database = (select oid from pg_database where datname = current_database())
      and ((k.classid::bigint << 32) | k.objid::bigint) = p_key);
end $$;

-- Takes note of a run that ended without a word, and starts nothing. The only place that counts deaths.
-- The first death leaves the occurrence due at once, the second after 30 s, the third in a row handles it as failed. Only an
-- end recorded by a run's own node (p_died = false is one) sets the count back, so it goes on across occurrences.
-- A continuous run is never given up: from the second death on the next one waits 30 s, doubling to 5 min. After 10 min of running
-- the count begins anew.
-- Who settles has to have the job: its key in this session, or with a token a lease that has not run out while nobody holds the key.
create function {schema}.settle(p_job text, p_epoch bigint, p_died boolean, p_token uuid default null)
returns table (deaths int, gave_up boolean)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  r {schema}.job;
  at timestamptz := clock_timestamp();
  dead int;
  gives_up boolean := false;
  withdrawn boolean;
begin
  -- Row first, history second, like every transaction of ours. The lock proves that the run is over: its session is gone.
  select j.* into r from {schema}.job j
    where j.name = p_job and j.epoch = p_epoch and j.epoch > j.ended_epoch
    for no key update;
  if not found or not {schema}.may_run(p_job, r.key, p_token) then
    return;
  end if;
  if r.trigger = 'continuous' then
    dead := case when not p_died then 0 when r.started_at < at - interval '10 min' then 1 else r.deaths + 1 end;
    update {schema}.job j set
      ended_epoch = r.epoch, last_outcome = 'lost', deaths = dead,
      not_before = at + case when dead >= 2 then make_interval(secs => least(300, 30 * 2 ^ least(dead - 2, 10))) else interval '0' end
    where j.name = p_job;
  elsif r.scheduled_for is null or r.trigger not in ('schedule', 'catch_up', 'retry') then
    dead := r.deaths;
    update {schema}.job j set ended_epoch = r.epoch, last_outcome = 'lost' where j.name = p_job;
    if p_died then
      -- A body that kills its process must not do so once for each occurrence of a span.
      update {schema}.request q set
        deaths = q.deaths + 1, answered_at = case when q.deaths >= 2 then at end
      where q.job = p_job and q.epoch = p_epoch and q.answered_at is null
      returning q.deaths, q.answered_at is not null into dead, withdrawn;
    end if;
  else
    dead := case when p_died then r.deaths + 1 else 0 end;
    gives_up := dead >= 3;
    update {schema}.job j set
      ended_epoch = r.epoch, last_outcome = case when gives_up then 'failed' else 'lost' end,
      failures = case when gives_up then r.failures + 1 else r.failures end,
      deaths = dead,
      open_for = case when gives_up then null else r.scheduled_for end,
      attempts = case when gives_up then 0 else r.attempts end,
      not_before = case when dead >= 2 then at + interval '30 s' end,
      handled_until = case when gives_up then greatest(r.handled_until, r.scheduled_for) else r.handled_until end
    where j.name = p_job;
  end if;
  insert into {schema}.history (job, epoch, trigger, scheduled_for, started_at, ended_at, end_seen, outcome, attempt, takeover,
    window_from, window_until, node, recorded_by, error)
  values (r.name, r.epoch, r.trigger, r.scheduled_for, r.started_at, at, false,
    case when gives_up then 'failed' else 'lost' end, r.attempt, r.takeover, r.window_from, r.window_until, r.node,
    -- A scheduler's session is called `hourhand/15 web-1`.
    case when p_died then nullif(regexp_replace(current_setting('application_name'), '^hourhand/\d+ ', ''), '') else r.node end,
    case when gives_up then format('holder died %s times', dead)
      when withdrawn then format('holder died %s times: the rest of the backfill is given up', dead) end)
  on conflict (job, epoch) do nothing;
  return query select coalesce(dead, r.deaths), gives_up or coalesce(withdrawn, false);
end $$;

-- Runs that ended without a word: no end is on record, and nobody has the job. (A session has its locks for as long as it lives, so
-- what the caller runs itself is never among them.)
create function {schema}.lost() returns table (job text, key bigint, epoch bigint)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select j.name, j.key, j.epoch
  from {schema}.job j
  left join {schema}.lease l on l.job = j.name and l.expires_at > clock_timestamp()
  where j.epoch > j.ended_epoch and l.job is null
    and j.key not in (
      select (k.classid::bigint << 32) | k.objid::bigint from pg_locks k
      where k.locktype = 'advisory' and k.granted and k.mode = 'ExclusiveLock' and k.objsubid = 1
        and k.database = (select oid from pg_database where datname = current_database()))
$$;

-- Takes note of such runs, whoever's jobs they are, each under the job's lock: tried, and held until this transaction ends.
-- A row that somebody's transaction has locked is left for another time.
create function {schema}.settle_lost(p_epochs bigint[])
returns table (job text, key bigint, epoch bigint, deaths int, gave_up boolean)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  r record;
begin
  for r in select l.job, l.key, l.epoch from {schema}.lost() l where l.epoch = any(p_epochs) order by l.job loop
    perform from {schema}.job j where j.name = r.job for no key update skip locked;
    if found and pg_try_advisory_xact_lock(r.key) then
      return query select r.job, r.key, r.epoch, s.deaths, s.gave_up from {schema}.settle(r.job, r.epoch, true) s;
    end if;
  end loop;
end $$;

-- Whoever has a group's lock and one of its jobs' ends the runs of the others that were lost, so that none of their fenced writes
-- commits beside his run. False: one of them is just being committed; then he lets both locks go, and comes again. Whoever has been silent
-- inside such a transaction for so many seconds is frozen, and is ended.
create function {schema}.settle_group(p_group bigint, p_key bigint, p_evict_after double precision) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  lost_runs bigint[];
  blocker record;
begin
  select array_agg(l.epoch) into lost_runs
  from {schema}.lost() l join {schema}.definition d on d.job = l.job
  where (d.body ->> 'group_key')::bigint = p_group and l.key <> p_key;
  if lost_runs is null then
    return true;
  end if;
  perform {schema}.settle_lost(lost_runs);
  if not exists (select from {schema}.lost() l where l.epoch = any(lost_runs)) then
    return true;
  end if;
  -- The row's xmax is the transaction that has locked it: never a multixact, as no foreign key points to the row.
  for blocker in
    select a.pid, a.application_name, l.job
    from {schema}.lost() l join {schema}.job j on j.name = l.job
    join pg_locks k on k.locktype = 'transactionid' and k.granted and k.mode = 'ExclusiveLock' and k.transactionid = j.xmax
    join pg_stat_activity a on a.pid = k.pid
    where l.epoch = any(lost_runs) and a.pid <> pg_backend_pid() and a.state like 'idle in transaction%'
      and a.state_change < clock_timestamp() - make_interval(secs => p_evict_after)
      and (pg_has_role(current_user, a.usesysid, 'member') or pg_has_role(current_user, 'pg_signal_backend', 'member'))
  loop
    raise warning 'hourhand: session % (%) is silent inside a transaction of a lost run of job %: ended',
      blocker.pid, blocker.application_name, blocker.job;
    perform pg_terminate_backend(blocker.pid);
  end loop;
  return false;
end $$;

-- A job under a new name takes over what its old name has done, or the old one takes it back. Under the lock of the other name, tried
-- and held for this transaction alone: whoever runs that is waited for by being asked again. True: done, or there is nothing to
-- take: no such row, or the new name has a life of its own.
create function {schema}.take_over(p_job text, p_key bigint, p_from text) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  o {schema}.job;
  n {schema}.job;
begin
  -- In the order of names: two nodes that do it at once must not deadlock.
  perform from {schema}.job j where j.name in (p_job, p_from) order by j.name for no key update;
  select j.* into o from {schema}.job j where j.name = p_from;
  select j.* into n from {schema}.job j where j.name = p_job;
  if o.name is null or o.renamed_to is not null or (n.name is not null and n.renamed_to is distinct from p_from) then
    return true;
  end if;
  if not pg_try_advisory_xact_lock(o.key)
    or exists (select from {schema}.lease l where l.job = p_from and l.expires_at > clock_timestamp()) then
    return false;
  end if;
  if o.epoch > o.ended_epoch then
    perform {schema}.settle(p_from, o.epoch, true);
    select j.* into o from {schema}.job j where j.name = p_from;
  end if;
  insert into {schema}.job as j (name, key, epoch, ended_epoch, last_outcome, last_success_at, failures, handled_until,
    covered_until, open_for, attempts, deaths, not_before)
  values (p_job, p_key, o.epoch, o.ended_epoch, o.last_outcome, o.last_success_at, o.failures, o.handled_until,
    o.covered_until, o.open_for, o.attempts, o.deaths, o.not_before)
  on conflict (name) do update set
    epoch = greatest(j.epoch, excluded.epoch), ended_epoch = greatest(j.epoch, excluded.epoch),
    last_outcome = excluded.last_outcome, last_success_at = excluded.last_success_at, failures = excluded.failures,
    handled_until = excluded.handled_until, covered_until = excluded.covered_until, open_for = excluded.open_for,
    attempts = excluded.attempts, deaths = excluded.deaths, not_before = excluded.not_before, renamed_to = null;
  update {schema}.job j set renamed_to = p_job where j.name = p_from;
  insert into {schema}.definition as d (job, body, fingerprint, counts_from)
  select p_job, f.body, f.fingerprint, f.counts_from from {schema}.definition f where f.job = p_from
  on conflict (job) do nothing;
  insert into {schema}.pause as p (job, active, until, reason, actor, resumed_at)
  select p_job, f.active, f.until, f.reason, f.actor, f.resumed_at from {schema}.pause f where f.job = p_from
  on conflict (job) do update set active = excluded.active, until = excluded.until, reason = excluded.reason,
    actor = excluded.actor, resumed_at = excluded.resumed_at;
  return true;
end $$;

-- A manual run by a session that holds the job's key, in any language. It ends by `complete`, or is lost with its session.
create function {schema}.begin(p_job text)
returns table (epoch bigint, window_from timestamptz, window_until timestamptz)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  r {schema}.job;
  at timestamptz := clock_timestamp();
  group_key bigint := (select (d.body ->> 'group_key')::bigint from {schema}.definition d where d.job = p_job);
begin
  if group_key is not null and not {schema}.owns(group_key) then
    raise exception 'this session does not hold the lock of the exclusive group of job %', p_job using errcode = 'HH002',
      hint = format('take it first, before the job''s: select pg_try_advisory_lock(%s)', group_key);
  end if;
  if not {schema}.owns({schema}.key(p_job)) then
    raise exception 'this session does not hold the key of job %', p_job using errcode = 'HH002',
      hint = format('take it first, in this very session: select pg_try_advisory_lock(%s.key(%L))', '{schema}', p_job);
  end if;
  select j.* into r from {schema}.job j where j.name = p_job for no key update;
  if not {schema}.may_run(p_job, r.key, null) then
    raise exception 'job % runs under a lease', p_job using errcode = 'HH002';
  end if;
  if r.renamed_to is not null then
    raise exception 'job % goes on under the name %', p_job, r.renamed_to using errcode = 'HH003';
  end if;
  if r.epoch > r.ended_epoch then
    perform {schema}.settle(p_job, r.epoch, true);
  end if;
  return query update {schema}.job j set
    epoch = greatest(j.epoch + 1, (extract(epoch from at) * 1000000)::bigint),
    node = 'sql', pid = pg_backend_pid(),
    backend_start = (select a.backend_start from pg_stat_activity a where a.pid = pg_backend_pid()),
    started_at = at, scheduled_for = null, trigger = 'manual', attempt = 1, takeover = 0,
    window_from = j.covered_until, window_until = greatest(j.covered_until, at)
  where j.name = p_job
  returning j.epoch, j.window_from, j.window_until;
end $$;

-- EXECUTE is everybody's by default.
revoke all on all functions in schema {schema} from public;
