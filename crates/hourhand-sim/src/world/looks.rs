//! What only time can show: nobody waits for ever, nothing is left behind, nothing is held at rest.
//!
//! Promises of liveness can't be judged while faults go on: with the server down nothing runs, and rightly. So a run ends with a quiet
//! period, in which no fault begins, bodies are well-behaved and all is to come right within the bounds below. They are of the model's
//! own small world (ttl of 5 to 15 s, jobs due every 20 s to 2 min) and leave room for what legitimately comes first: a
//! start delay of 10 s, a frozen holder's 5/4 ttl, a retry, the look of those who do not watch after half a minute.

use std::time::Duration;

use hourhand_core::job::Definition;
use hourhand_core::occurrence::overdue;
use hourhand_core::request::Wanted;
use jiff::SignedDuration;

use super::{Happening, World};
use crate::body::Body;
use crate::process::{Line, Process};
use crate::server::Lock;
use crate::time::At;

/// Within this a due occurrence runs or is handled, once all is quiet; and whoever asked is answered.
const BOUND: Duration = Duration::from_secs(75);
/// Within this a lost run is on record, once all is quiet: the next look that any node makes shows it, and its own node has its time.
const LOST_BOUND: Duration = Duration::from_secs(150);
/// Who waits for a lock, and does not watch it, has looked by then.
const LOOKS_AGAIN: Duration = Duration::from_secs(45);
/// More statements within a second are a loop that has run hot...
const STATEMENTS_A_SECOND: usize = 250;
/// ... unless so many come to each job: one process may run them all, and end them within a second.
const STATEMENTS_A_JOB: usize = 8;

impl World {
    /// Once a second.
    pub(crate) fn glance(&mut self) {
        self.faults_pass();
        self.check_lost_runs();
        let twice = self.server.locks.all().find(|(.., count)| *count > 1);
        self.checks.require(twice.is_none(), self.now, || format!("P1: a lock is taken more than once: {twice:?}"));
        for process in 0..self.processes.len() {
            if self.processes[process].alive() && self.processes[process].frozen_until.is_none() {
                self.glance_at(process);
            }
        }
        self.after(Duration::from_secs(1), Happening::Glance);
    }

    fn glance_at(&mut self, process: usize) {
        let now = self.now;
        let at = &mut self.processes[process];
        let sent = at.sent.iter().filter(|sent| now - **sent <= Duration::from_secs(1)).count();
        let last = at.sent.last().copied();
        at.sent.retain(|sent| now - *sent <= Duration::from_secs(1) || Some(*sent) == last);
        let asked = at.tickets.values().map(|(asked, _)| *asked).min();
        let thawed = at.thawed_at.unwrap_or(at.born);
        let (line, linger, resident) = (at.line, at.settings.linger, at.settings.resident);
        let bound = STATEMENTS_A_SECOND.max(STATEMENTS_A_JOB * self.jobs.len());
        self.checks
            .require(sent < bound, now, || format!("P12: process {process} sent {sent} statements within a second"));
        let waits = asked.map_or(Duration::ZERO, |asked| now - asked.max(thawed));
        self.checks.require(waits < BOUND, now, || {
            format!("P8: somebody waits for an answer of process {process} for {waits:?}")
        });
        let silent = last.map_or(Duration::ZERO, |last| now - last.max(thawed));
        if let Line::Open(pid) = line
            && !resident
            && silent >= linger + Duration::from_secs(45)
        {
            let runs = || self.bodies.values().any(|body| body.process == process);
            let holds = self.server.locks.of_session(pid).next().is_some() || runs();
            self.checks.require(holds, now, || {
                format!("P9: process {process} has held a session for {silent:?}, and nothing else")
            });
        }
    }

    /// A run that ended without a word is on record soon, though nobody wants its occurrence, or it had none.
    fn check_lost_runs(&mut self) {
        for body in self.bodies.values() {
            self.checks.worked_at[body.job] = self.now;
        }
        let quiet = At::default() + self.plan.quiet_from();
        for job in 0..self.jobs.len() {
            let lost = self.server.is_lost(job, self.now);
            let since = lost.then(|| self.checks.lost_since[job].unwrap_or(self.now.max(quiet)));
            self.checks.lost_since[job] = since;
            let for_long = since.filter(|since| self.now > *since && self.now - *since > LOST_BOUND);
            self.checks.require(for_long.is_none(), self.now, || {
                format!("P8: the newest run of job {job} is lost since {for_long:?}, and that is on no record")
            });
        }
    }

    /// A body is at work, or was just now: who waited for its lock without the watch looks again after his while. One that has completed
    /// its run and does not return keeps the lock as well.
    fn was_busy(&self, job: usize) -> bool {
        self.now - self.checks.worked_at[job] < LOOKS_AGAIN
    }

    /// Whoever asked for a run before all was quiet has got one, or his request is void.
    fn check_requests_at_the_end(&mut self) {
        let (now, at) = (self.server.now(self.now), self.now);
        let quiet = At::default() + self.plan.quiet_from();
        // Requests under an old name are not carried along.
        let renamed = |job: usize| self.server.store.rows.get(&job).is_some_and(|row| row.renamed_to.is_some());
        let waits = self.server.store.requests.iter().find(|asked| {
            !self.was_busy(asked.job)
                && !renamed(asked.job)
                && !self.orphaned(asked.job)
                && asked.open
                && asked.wanted == Wanted::Run
                && asked.expires_at > now
                && asked.asked_at <= quiet
        });
        let waits = waits.map(|asked| (asked.id, asked.job));
        self.checks.require(waits.is_none(), at, || format!("request and job {waits:?}: nobody has taken it"));
    }

    /// All who brought the registered definition are gone. The others learn of it when the job is due by their own, and stand up when
    /// it is overdue by the registered one.
    fn orphaned(&self, job: usize) -> bool {
        let registered = self.server.store.rows.get(&job).map(|row| row.version);
        let runs_it = |process: &Process| {
            process.jobs.contains(&job) && Some(self.server.definition_in(job, process.version)) == registered
        };
        !self.processes.iter().filter(|process| process.alive()).any(runs_it)
    }

    fn check_leases_at_the_end(&mut self) {
        let now = self.server.now(self.now);
        for job in 0..self.jobs.len() {
            let Some(token) = self.server.live_lease(job, now).map(|lease| lease.token) else { continue };
            let process = token as usize;
            let runs = self.bodies.values().any(|body| body.process == process && body.job == job);
            let last = self.processes[process].sent.last().copied().unwrap_or_default();
            let busy = self.now - last < Duration::from_secs(2) || !self.processes[process].alive();
            self.checks.require(runs || busy, self.now, || {
                format!("P8: the lease of job {job} is left with process {process}")
            });
        }
    }

    /// After the quiet period: all that is due is handled or runs, and no lock is left.
    pub(crate) fn check_the_end(&mut self) {
        let now = self.server.now(self.now);
        for job in 0..self.jobs.len() {
            if self.jobs[job].heir_of.is_some() && !self.server.store.rows.contains_key(&job) {
                // Nobody has brought the new name.
                continue;
            }
            let bound = SignedDuration::try_from(BOUND).unwrap_or(SignedDuration::MAX);
            let facts = self.server.facts(job, 0, self.now);
            let definition = self.server.registered(job);
            let by =
                |definition: &Definition| facts.as_ref().is_none_or(|facts| overdue(definition, facts, now, bound));
            let other =
                &self.server.definitions[job][1 - self.server.store.rows.get(&job).map_or(0, |row| row.version)];
            let late = by(&definition) && (!self.orphaned(job) || by(other)) && !self.was_busy(job);
            self.checks.require(!late, self.now, || format!("P8: job {job} is overdue when all is quiet: {facts:?}"));
        }
        self.check_requests_at_the_end();
        self.check_leases_at_the_end();
        let locks: Vec<(Lock, i32, u32)> = self.server.locks.all().collect();
        for (lock, pid, count) in locks {
            let job = self.server.job_of(lock.key);
            let known = self.server.backends.get(&pid).map(|backend| (backend.process, self.now - backend.begun));
            // What waits for its turn in a group keeps its watch, also while its own node runs another of the group.
            let group = job.and_then(|job| self.server.groups[job]);
            let has = |body: &Body| {
                let own = self.server.groups[body.job];
                Some(body.job) == job || own == Some(lock.key) || (own.is_some() && own == group)
            };
            let runs = self.bodies.values().any(|body| body.pid == pid && has(body));
            // On its way: to a start, or to be let go.
            let busy = known.is_some_and(|(_, silent)| silent < Duration::from_secs(2));
            self.checks.require(count == 1 && (runs || busy), self.now, || {
                format!("P8: the lock {lock:?} is left with {pid}, taken {count} times")
            });
        }
    }
}
