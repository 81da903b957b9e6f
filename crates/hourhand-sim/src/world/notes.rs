//! What happened on the server, held against the bodies that are really under way, and passed on to those who listen.
//!
//! The hard part is what a lost lock excuses. A body may outlive its lock, for a while: until its node learns of it, and then for the
//! time it has to stop. How long that is depends on why the lock went, which only the simulator knows: an honest client closes
//! its session after its bodies, so none may be left; a session that was ended from outside is noticed at once on a clean line, and
//! else by the end of trust; a frozen process notices nothing, but its bodies are frozen with it. So each body whose lock is gone
//! gets an instant by which it must have ended ([`Body::must_end_by`]), and no body may begin beside one that has none.

use std::time::Duration;

use hourhand_core::protocol::Event;

use super::{Happening, World};
use crate::body::Body;
use crate::check::named;
use crate::server::{Cause, Form, Lock, Note, STRANGER};
use crate::time::At;

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
        if let Note::Started { job, continuous: true, asked: false, .. } = note {
            self.check_backoff(job);
        }
        self.checks.hear(&note, &self.server, self.now);
        match note {
            Note::Unlocked { pid, lock, open_run } => self.check_unlock(pid, lock, open_run),
            Note::SessionGone { pid, process, cause, .. } => self.check_session_gone(pid, process, cause),
            Note::NotifyFree { key, from } => self.notify(Event::Freed(key), from),
            Note::NotifyStart { key, from } => self.notify(Event::Began(key), from),
            Note::NotifyLook { key } => self.notify(Event::Changed(key), STRANGER_PID),
            Note::Taken { .. } => self.report.requested += 1,
            Note::Started { .. }
            | Note::Ended { .. }
            | Note::Settled { .. }
            | Note::Skipped { .. }
            | Note::Committed { .. }
            | Note::WindowOpened { .. }
            | Note::Covered { .. } => {}
        }
    }

    /// A body that should always be running is not started faster than its backoff allows, unless somebody asked.
    fn check_backoff(&mut self, job: usize) {
        let asked = self.processes.iter().any(|process| process.tickets.values().any(|(_, asked)| *asked == job));
        // What was decided by a clock that was set back since is started all the same.
        let [stepped, told] =
            [self.faults.stepped_at, self.checks.by_hand[job]].map(|at| at.is_some_and(|at| self.now - at < self.ttl));
        let until = self.checks.due_from[self.server.origins[job]].filter(|_| !asked && !stepped && !told);
        let now = self.server.now(self.now);
        self.checks.require(until.is_none_or(|until| until <= now), self.now, || {
            format!("P8: continuous job {job} starts at {now}, and its backoff lasts until {until:?}")
        });
    }

    fn check_unlock(&mut self, pid: i32, lock: Lock, open_run: Option<i64>) {
        let now = self.now;
        let Some(job) = self.server.job_of(lock.key).filter(|_| lock.form == Form::Bigint) else { return };
        if let Some(epoch) = open_run {
            let began = self.checks.bodies_began.contains(&(job, epoch));
            let began = began && !self.checks.uncertain.contains(&(self.server.origins[job], epoch));
            let said = self.processes.iter().any(|process| process.unrecorded.contains(&(job, epoch)));
            self.checks.require(!began || said, now, || {
                format!("P4: the lock of job {job} is let go, and the end of run {epoch} is neither recorded nor said to be missing")
            });
        }
        let runs = self.bodies.values().find(|body| body.pid == pid && body.job == job && !body.aborted).map(named);
        self.checks
            .require(runs.is_none(), now, || format!("P7: {} runs, and its lock is let go", runs.unwrap_or_default()));
    }

    /// A session is gone, or its locks: what ran under them must have ended, or end soon, depending on why.
    fn check_session_gone(&mut self, pid: i32, process: usize, cause: Cause) {
        let now = self.now;
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
        let origin = |body: &Body| self.server.origins[body.job];
        let same = |body: &Body| origin(body) == origin(&new) && body.epoch != new.epoch;
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
        let origin = |body: &Body| self.server.origins[body.job];
        let beside = |body: &Body| origin(body) == origin(new) && body.epoch != new.epoch && body.gone.is_none();
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
