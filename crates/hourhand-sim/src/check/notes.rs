//! What happened on the server, held against the truth.

use std::time::Duration;

use hourhand_core::outcome::Outcome;
use hourhand_core::protocol::Event;
use jiff::Timestamp;

use super::named;
use crate::body::Body;
use crate::server::{Cause, Form, Lock, Note, STRANGER, Tx};
use crate::time::At;
use crate::world::{Happening, World};

/// Nobody's session.
const STRANGER_PID: i32 = 0;
/// How long a clean line and an aborted task may take, besides the time to stop.
const SLACK: Duration = Duration::from_millis(500);

impl World {
    /// After every step.
    pub(crate) fn check(&mut self) {
        for note in std::mem::take(&mut self.server.notes) {
            self.check_note(note);
        }
        if !self.checks.hurry {
            return;
        }
        let now = self.now;
        let late = self.bodies.values().find(|body| self.goes_on_too_long(body)).map(named);
        self.checks.require(late.is_none(), now, || {
            format!("P7: {} goes on too long after its lock was gone", late.unwrap_or_default())
        });
        self.checks.hurry = self.bodies.values().any(|body| body.must_end_by.is_some());
    }

    fn goes_on_too_long(&self, body: &Body) -> bool {
        let spans = self.checks.spans;
        let since = body.gone.map_or(At::default(), |(at, _)| at);
        // Its line may have gone bad before it could learn of it.
        let deafened = self.was_disturbed(body.process) && self.now - since <= spans.give_up + spans.stop_max + SLACK;
        body.must_end_by.is_some_and(|by| self.now > by)
            && body.nature.blocks_for.is_none()
            && self.processes[body.process].frozen_until.is_none()
            && !deafened
    }

    fn check_note(&mut self, note: Note) {
        let now = self.now;
        match note {
            Note::Started { job, epoch, before, occurrence, repeated, handled, foreign, continuous, asked } => {
                self.check_backoff(job, continuous && !asked);
                if continuous {
                    // Occurrences that the job had before are forgotten, with their deaths.
                    self.checks.deaths[job] = 0;
                }
                if continuous || occurrence.is_some() {
                    self.checks.due_from[job] = None;
                }
                let fresh = epoch > before && !self.checks.runs.contains_key(&(job, epoch));
                self.checks
                    .require(fresh, now, || format!("P2: epoch {epoch} of job {job} is not a new one ({before})"));
                self.checks.require(!repeated && !handled, now, || {
                    format!("P1: run {epoch} of job {job} repeats {occurrence:?}, which is handled")
                });
                self.checks.require(!foreign, now, || {
                    format!("deploy: run {epoch} of job {job} is for {occurrence:?}, which the registered definition has not")
                });
                self.checks.runs.insert((job, epoch), occurrence);
                self.checks.newest[job] = epoch;
                self.checks.newest_at[job] = now;
            }
            Note::Ended { job, epoch, outcome, completed, due_from } => {
                self.checks.due_from[job] = due_from.or(self.checks.due_from[job]);
                if due_from.is_some() {
                    self.checks.deaths[job] = 0;
                }
                self.check_end(job, epoch, outcome == Outcome::Succeeded && !completed);
            }
            Note::Settled { job, died, gave_up, scheduled, due_from } => {
                self.checks.due_from[job] = due_from.or(self.checks.due_from[job]);
                if scheduled {
                    self.checks.deaths[job] = if died { self.checks.deaths[job] + 1 } else { 0 };
                }
                let deaths = self.checks.deaths[job];
                self.checks.require(deaths < 3 || gave_up || !scheduled, now, || {
                    format!("P8: {deaths} processes died in a row under job {job}, and its occurrence is not given up")
                });
            }
            Note::Skipped { job, by } => {
                self.checks
                    .require(by.is_some(), now, || format!("P3: an occurrence of job {job} is skipped by no run"));
            }
            Note::Unlocked { pid, lock, open_run } => self.check_unlock(pid, lock, open_run),
            Note::SessionGone { pid, process, cause, locks } => self.check_session_gone(pid, (process, cause), &locks),
            Note::Committed { tx, row_epoch } => self.check_commit(&tx, row_epoch),
            Note::NotifyFree { key, from } => self.notify(Event::Freed(key), from),
            Note::NotifyStart { key, from } => self.notify(Event::Began(key), from),
            Note::NotifyLook { key } => self.notify(Event::Changed(key), STRANGER_PID),
            Note::WindowOpened { job, from, until, began } => self.check_window(job, (from, until), began),
            Note::Covered { job, from, until, before } => self.has_covered(job, (from, until), before),
            Note::Taken { id, again } => self.check_taken(id, again),
        }
    }

    /// A body that should always be running is not started faster than its backoff allows, unless somebody asked.
    fn check_backoff(&mut self, job: usize, continuous: bool) {
        let asked = self.processes.iter().any(|process| process.tickets.values().any(|(_, asked)| *asked == job));
        // What was decided by a clock that was set back since is started all the same.
        let [stepped, told] =
            [self.faults.stepped_at, self.checks.by_hand[job]].map(|at| at.is_some_and(|at| self.now - at < self.ttl));
        let until = self.checks.due_from[job].filter(|_| continuous && !asked && !stepped && !told);
        let now = self.server.now(self.now);
        self.checks.require(until.is_none_or(|until| until <= now), self.now, || {
            format!("P8: continuous job {job} starts at {now}, and its backoff lasts until {until:?}")
        });
    }

    fn check_end(&mut self, job: usize, epoch: i64, success: bool) {
        let now = self.now;
        let Some(occurrence) = self.checks.runs.get(&(job, epoch)).copied().flatten() else { return };
        self.checks.deaths[job] = 0;
        if success {
            let before = self.checks.successes.insert((job, occurrence), now);
            self.checks.require(before.is_none(), now, || format!("P3: {occurrence} of job {job} succeeded twice"));
        }
    }

    /// A start has taken a request: a run now once, each occurrence of a backfill once and in order.
    fn check_taken(&mut self, id: i64, again: Option<Timestamp>) {
        let now = self.now;
        self.report.requested += 1;
        let before = self.checks.taken.insert(id, (again, now));
        let once = before.is_none_or(|(before, _)| before < again);
        self.checks.require(once, now, || format!("request {id} is taken for {again:?} after {before:?}"));
    }

    /// A fenced write has become visible.
    fn check_commit(&mut self, tx: &Tx, row_epoch: i64) {
        let newest = self.checks.newest[tx.job];
        self.checks.require(row_epoch == tx.epoch && newest == tx.epoch, self.now, || {
            format!("P2: run {} of job {} wrote, and the current one is {newest} (row: {row_epoch})", tx.epoch, tx.job)
        });
        let (own, groups) = (self.checks.newest_at[tx.job], &self.server.groups);
        let kin = |other: &usize| groups[tx.job].is_some() && groups[*other] == groups[tx.job] && *other != tx.job;
        let later = (0..groups.len()).filter(kin).find(|other| self.checks.newest_at[*other] > own);
        self.checks.require(later.is_none() || own == At::default(), self.now, || {
            format!("P2: run {} of job {} wrote after job {later:?} of its group had begun", tx.epoch, tx.job)
        });
    }

    fn check_unlock(&mut self, pid: i32, lock: Lock, open_run: Option<i64>) {
        let now = self.now;
        if lock.form == Form::Bigint {
            self.freed(lock);
        }
        let Some(job) = self.job_of(lock).filter(|_| lock.form == Form::Bigint) else { return };
        if let Some(epoch) = open_run {
            let began = self.checks.bodies_began.contains(&(job, epoch));
            let began = began && !self.checks.uncertain.contains(&(job, epoch));
            let said = self.processes.iter().any(|process| process.unrecorded.contains(&(job, epoch)));
            self.checks.require(!began || said, now, || {
                format!("P4: the lock of job {job} is let go, and the end of run {epoch} is neither recorded nor said to be missing")
            });
        }
        let runs = self.bodies.values().find(|body| body.pid == pid && body.job == job && !body.aborted).map(named);
        self.checks
            .require(runs.is_none(), now, || format!("P7: {} runs, and its lock is let go", runs.unwrap_or_default()));
    }

    /// A lock is let go: a job's, or that of a group.
    fn freed(&mut self, lock: Lock) {
        for job in 0..self.jobs.len() {
            if self.server.keys[job] == lock.key || self.server.groups[job] == Some(lock.key) {
                self.checks.freed_at[job] = self.now;
            }
        }
    }

    fn job_of(&self, lock: Lock) -> Option<usize> {
        self.server.job_of(lock.key)
    }

    /// A session is gone, or its locks: what ran under them must have ended, or end soon, depending on why.
    fn check_session_gone(&mut self, pid: i32, (process, cause): (usize, Cause), locks: &[Lock]) {
        let now = self.now;
        for lock in locks.iter().filter(|lock| lock.form == Form::Bigint) {
            self.freed(*lock);
        }
        if process == STRANGER {
            return;
        }
        if cause == Cause::Evicted {
            let disturbed = self.was_disturbed(process);
            self.checks.require(disturbed, now, || {
                format!("P7: the session {pid} of process {process} was alive and is evicted")
            });
        }
        if self.processes[process].leases() {
            // What runs under a lease does not run under a session.
            return;
        }
        let ids: Vec<u64> = self.bodies.iter().filter(|(_, body)| body.pid == pid).map(|(id, _)| *id).collect();
        self.checks.hurry |= !ids.is_empty();
        for id in ids {
            let disturbed = self.was_disturbed(process);
            let frozen = self.processes[process].frozen_until.is_some();
            let thawed = self.processes[process].thawed_at.is_some_and(|at| now - at < self.ttl);
            let spans = self.checks.spans;
            let Some(body) = self.bodies.get_mut(&id).filter(|body| body.gone.is_none()) else { continue };
            body.gone = Some((now, cause));
            let exempt = body.aborted && body.nature.blocks_for.is_some();
            body.must_end_by = match cause {
                _ if frozen || exempt => None,
                Cause::Silence if thawed => Some(now + spans.stop_max + SLACK),
                Cause::Client | Cause::Former | Cause::Silence => Some(now),
                Cause::Ended | Cause::Evicted if disturbed => Some(now + spans.give_up + spans.stop_max + SLACK),
                // Its locks alone are gone: the next ping shows it.
                Cause::Ended | Cause::Evicted => Some(now + spans.ping_interval * 2 + spans.stop_max + SLACK),
            };
            let early = body.must_end_by == Some(now) && body.nature.blocks_for.is_none();
            let who = named(body);
            self.checks.require(!early, now, || format!("P7: {who} runs, and its lock is gone ({cause:?})"));
        }
    }

    /// The process was frozen, or its link was not clean, not long ago.
    pub(crate) fn was_disturbed(&self, process: usize) -> bool {
        let recently = self.ttl * 3;
        let at = &self.processes[process];
        let near = |until: At| until != At::default() && (until > self.now || self.now - until < recently);
        at.frozen_until.is_some()
            || at.thawed_at.is_some_and(|thawed| self.now - thawed < recently)
            || near(self.faults.cut_until(at.machine))
            || near(self.faults.slow_until(at.machine))
            || near(self.faults.heavy_until)
    }

    pub(crate) fn bodies_thawed(&mut self, process: usize) {
        let machine = self.processes[process].machine;
        let deafened = self.faults.cut_until(machine) > self.now || self.faults.slow_until(machine) > self.now;
        // Behind a bad line it does not learn what happened while it was frozen: its trust ends by itself.
        let learns = if deafened { self.checks.spans.give_up } else { Duration::ZERO };
        let by = self.now + learns + self.checks.spans.stop_max + SLACK;
        self.checks.hurry = true;
        for body in self.bodies.values_mut().filter(|body| body.process == process && body.gone.is_some()) {
            body.must_end_by = Some(by);
        }
    }

    /// A body begins: nobody else's may be under way, unless its lock was taken from it.
    pub(crate) fn body_began(&mut self, id: u64) {
        let Some(new) = self.bodies.get(&id).cloned() else { return };
        let leases = self.processes[new.process].leases();
        self.check_leased_bodies(&new);
        let lock = Lock::of(self.server.keys[new.job]);
        let too_late = !leases && self.server.locks.holder(lock) != Some(new.pid);
        self.checks.hurry |= too_late;
        if too_late && let Some(body) = self.bodies.get_mut(&id) {
            // Its session ended, or its lock was taken from it, while the start's answer was on its way.
            body.gone = Some((self.now, Cause::Ended));
            body.must_end_by = Some(self.now + self.checks.spans.give_up + self.checks.spans.stop_max + SLACK);
        }
        self.checks.bodies_began.insert((new.job, new.epoch));
        let group = |job: usize| self.server.groups[job];
        let grouped =
            |body: &Body| body.job != new.job && group(new.job).is_some() && group(body.job) == group(new.job);
        let same = |body: &Body| body.job == new.job && body.epoch != new.epoch;
        let beside = |body: &&Body| (same(body) || grouped(body)) && body.gone.is_none();
        let allowed = |body: &Body| body.aborted && body.nature.blocks_for.is_some();
        let other = self.bodies.values().filter(beside).find(|body| !allowed(body)).map(named);
        self.checks.require(other.is_none() || too_late, self.now, || {
            format!("P1: {} begins beside {}", named(&new), other.unwrap_or_default())
        });
    }

    /// A body begins beside one that runs under a lease: that must have run out, and its body ended before, unless its process
    /// was frozen, or the server's clock was stepped.
    fn check_leased_bodies(&mut self, new: &Body) {
        let now = self.now;
        let beside = |body: &Body| body.job == new.job && body.epoch != new.epoch && body.gone.is_none();
        let ids: Vec<u64> = (self.bodies.iter())
            .filter(|(_, body)| beside(body) && self.processes[body.process].leases())
            .map(|(id, _)| *id)
            .collect();
        self.checks.hurry |= !ids.is_empty();
        for id in ids {
            let Some(body) = self.bodies.get(&id).cloned() else { continue };
            let process = &self.processes[body.process];
            let frozen = process.frozen_until.is_some();
            let recently = |at: Option<At>| at.is_some_and(|at| now - at < self.ttl * 2);
            let excused = frozen || recently(process.thawed_at) || recently(self.faults.stepped_at);
            let blocks = body.aborted && body.nature.blocks_for.is_some();
            let live = self.server.live_lease(body.job, self.server.now(now));
            let ours = live.is_some_and(|lease| lease.token == body.process as u64);
            self.checks.require(!ours && (excused || blocks), now, || {
                format!("P7: {} begins beside {}, which runs under a lease", named(new), named(&body))
            });
            let by = now + self.checks.spans.give_up + self.checks.spans.stop_max + SLACK;
            if let Some(body) = self.bodies.get_mut(&id) {
                body.gone = Some((now, Cause::Ended));
                body.must_end_by = (!frozen && !blocks).then_some(by);
            }
        }
    }

    /// Notices are hints: some are lost, some come twice.
    fn notify(&mut self, said: Event, from: i32) {
        let listeners: Vec<(usize, i32)> = (self.server.backends.iter())
            .filter(|(pid, backend)| **pid != from && backend.process != STRANGER && backend.token.is_none())
            // It is nothing to the others.
            .filter(|(_, at)| !matches!(said, Event::Began(_)) || self.processes[at.process].settings.resident)
            .map(|(pid, backend)| (backend.process, *pid))
            .collect();
        for (process, pid) in listeners {
            let times = match self.random.below(20) {
                0 if !self.quiet => 0,
                1 => 2,
                _ => 1,
            };
            for _ in 0..times {
                let arrival = self.arrival(process, false);
                self.at(arrival, Happening::Notified { process, pid, said: said.clone() });
            }
        }
    }
}
