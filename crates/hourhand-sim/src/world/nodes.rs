//! Nodes: told what happens, and their actions carried out, as the library's loop does.
//!
//! This stands in for `drive`, the library's only loop, and obeys the same contract: one event at a time, its actions in order, one
//! question under way, and a timer that is set anew after each step (an older one that still fires is told from it by its number). It
//! decides nothing, so a bug that is found here is one of the core, or of the contract.
//!
//! Every answer to a person is held against the truth as it is given: who is told *started* has a body, who is told *already running*
//! finds somebody at it, or there was one since he asked.

use std::sync::Arc;
use std::time::Duration;

use hourhand_core::job::Definition;
use hourhand_core::protocol::{Action, Event, Notice, Question, Slot, TriggerAnswer};

use super::{Happening, World};
use crate::bug::Bug;
use crate::process::{Line, Living, Process};
use crate::server::Lock;

impl World {
    /// A machine starts a process (again), one of a deploy only once.
    pub(super) fn restarted(&mut self, machine: usize) {
        if machine >= self.plan.nodes && self.machines[machine] != usize::MAX {
            return;
        }
        let generation = self.processes.iter().filter(|process| process.machine == machine).count();
        let mut settings = if self.plan.fleet.is_some() {
            Process::settings_of_a_fleet(self.ttl, &mut self.random)
        } else {
            let leases = self.random.chance(self.leasing);
            Process::settings(self.ttl, leases, &mut self.random)
        };
        if !self.quiet && self.plan.fleet.is_none() && self.random.chance(60) {
            self.versions[machine] = 1 - self.versions[machine];
        }
        let version = self.versions[machine];
        let jobs = self.known_to(machine, version);
        let definitions: Vec<Definition> = jobs.iter().map(|job| self.jobs[*job].in_version(version).clone()).collect();
        // Continuous bodies must leave a place, as at a real start.
        let continuous = definitions.iter().filter(|job| job.schedule.is_continuous()).count();
        settings.runs_max = settings.runs_max.max(continuous.saturating_add(1));
        let mut process = Process::new(machine, generation, settings, definitions, self.now);
        process.jobs = jobs;
        process.version = version;
        let off = self.random.below(20_000).cast_signed() - 10_000;
        process.wall_off = jiff::SignedDuration::from_millis(if self.random.chance(300) { off } else { off / 1_000 });
        self.machines[machine] = self.processes.len();
        self.processes.push(process);
        self.feed(self.processes.len() - 1, Event::Woke);
    }

    /// The jobs of a machine under the names that a version has for them.
    fn known_to(&self, machine: usize, version: usize) -> Arc<[usize]> {
        let heir = |job: usize| self.jobs.iter().position(|heir| version == 1 && heir.heir_of == Some(job));
        self.knows[machine].iter().map(|job| heir(*job).unwrap_or(*job)).collect()
    }

    pub(super) fn woke(&mut self, process: usize, wakes: u64) {
        if self.processes[process].wakes == wakes {
            self.feed(process, Event::Woke);
        }
    }

    /// Tells a node what happened, and does what it wants.
    pub(crate) fn feed(&mut self, process: usize, event: Event) {
        self.note(|| format!("node {process} <- {}", brief(&event)));
        let now = self.processes[process].now(self.now);
        let actions = self.processes[process].node.step(now, event);
        for action in actions {
            self.act(process, action);
        }
        if !self.processes[process].alive() {
            return;
        }
        let wait = self.processes[process].node.wakes_in(now).max(Duration::from_millis(1));
        self.processes[process].wakes += 1;
        let wakes = self.processes[process].wakes;
        self.after(wait, Happening::Woke { process, wakes });
    }

    fn act(&mut self, process: usize, action: Action) {
        self.note(|| format!("node {process} -> {action:?}"));
        match action {
            Action::Connect { end_former } => self.connect(process, end_former),
            Action::Close => self.close(process),
            Action::Ask(question) => self.ask(process, question),
            Action::StartBody { slot, run, trigger, .. } => self.start_body(process, slot, (run, trigger)),
            Action::StopBody { slot, epoch, reason } => {
                self.stop_body(process, (slot, epoch), reason);
                if self.plan.bug == Some(Bug::CloseBeforeBodiesEnd)
                    && reason == hourhand_core::outcome::StopReason::LockLost
                    && let Line::Open(pid) = self.processes[process].line
                {
                    self.send_close(process, pid);
                }
            }
            Action::AbortBody { slot, epoch } => self.abort_body(process, (slot, epoch)),
            Action::AnswerTrigger(ticket, answer) => self.ticket_answered(process, ticket.0, &answer),
            Action::AskCondition(slot) => self.ask_condition(process, slot),
            // None of the model's jobs has a hook.
            Action::Tell(..) => {}
            Action::AnswerAdded(..) | Action::AnswerRemoved(..) | Action::Release(_) => {}
            Action::AnswerOrder(ticket, _) => drop(self.processes[process].tickets.remove(&ticket.0)),
            Action::AnswerStatus(ticket, answer) => {
                self.processes[process].tickets.remove(&ticket.0);
                self.report.statuses += 1;
                drop(answer);
            }
            Action::Say(notice) => self.said(process, &notice),
            Action::Finish => self.process_ends(process),
        }
    }

    /// Whether the process may run the job now: in quiet times every one may.
    fn ask_condition(&mut self, process: usize, slot: Slot) {
        let holds = self.quiet || self.random.chance(600);
        let job = self.processes[process].jobs[slot.0];
        self.processes[process].permits.insert(job, holds);
        let holds = holds || self.plan.bug == Some(Bug::ConditionIgnored);
        let wait = self.random.millis(0, 50);
        self.after(wait, Happening::ConditionAnswered { process, slot, holds });
    }

    fn ticket_answered(&mut self, process: usize, ticket: u64, answer: &TriggerAnswer) {
        let Some((asked, job)) = self.processes[process].tickets.remove(&ticket) else { return };
        self.checks.answered_by_hand(job, self.now);
        match answer {
            TriggerAnswer::Started(epoch) => {
                let runs = self.bodies.values().any(|body| body.process == process && body.epoch == *epoch);
                self.checks.require(runs, self.now, || format!("P10: run {epoch} is said to run here, and does not"));
                self.report.triggered += 1;
            }
            TriggerAnswer::AlreadyRunning { .. } => {
                // A body whose lock is lost is at work until it has stopped, and keeps its group from its process.
                let (groups, origins) = (&self.server.groups, &self.server.origins);
                let same = |other: usize| origins[other] == origins[job];
                let kin = |other: usize| same(other) || (groups[job].is_some() && groups[other] == groups[job]);
                let stuck = self.bodies.values().any(|body| body.process == process && kin(body.job));
                let lock_of = |key: i64| self.server.locks.holder(Lock::of(key)).is_some();
                // It may be the turn of another of its group, which is waited for.
                let group = self.server.groups[job].filter(|_| self.others_wait(job));
                let held = (0..groups.len()).any(|other| same(other) && lock_of(self.server.keys[other]))
                    || group.is_some()
                    || self.server.groups[job].is_some_and(lock_of);
                // Its clock may have been stepped meanwhile.
                let since = self.server.now(asked) - jiff::SignedDuration::from_secs(5);
                let leases = (0..groups.len()).filter(|other| same(*other));
                let mut leases = leases.filter_map(|other| self.server.store.leases.get(&other)?.expires_at);
                let leased = leases.any(|until| until > since);
                // Cut off, it believes in its locks for as long as it may, while the server has ended its session.
                let believes = self.processes[process].node.locks_held() > 0 && self.was_disturbed(process);
                // A lost run of another of its group is just being committed.
                let commits = (0..groups.len()).any(|other| kin(other) && self.server.is_lost(other, self.now));
                let freed = (0..groups.len()).any(|other| same(other) && self.checks.lock_was_freed(other, asked));
                let seen = held || leased || stuck || believes || commits || freed;
                self.checks
                    .require(seen, self.now, || format!("P10: job {job} is said to run, and nobody held its lock"));
                self.report.refused += 1;
            }
            TriggerAnswer::Paused
            | TriggerAnswer::NotDue { .. }
            | TriggerAnswer::Unreachable(_)
            | TriggerAnswer::ShuttingDown => {}
            #[allow(unreachable_patterns, reason = "more answers may come")]
            _ => {}
        }
    }

    /// Somebody watches for another job of the same group.
    fn others_wait(&self, job: usize) -> bool {
        let (groups, keys) = (&self.server.groups, &self.server.keys);
        (0..keys.len()).any(|other| {
            other != job && groups[other] == groups[job] && self.server.locks.holder(Lock::watch(keys[other])).is_some()
        })
    }

    fn said(&mut self, process: usize, notice: &Notice) {
        self.report.notices += 1;
        match notice {
            Notice::Unrecorded { slot, epoch, .. } => {
                let job = self.processes[process].jobs[slot.0];
                self.processes[process].unrecorded.insert((job, *epoch));
                self.report.unrecorded += 1;
            }
            Notice::LockLost { .. } => self.report.locks_lost += 1,
            Notice::HolderDied { .. } => self.report.deaths += 1,
            Notice::Evicted { .. } => self.report.evictions += 1,
            _ => {}
        }
    }

    /// The process has shut down.
    fn process_ends(&mut self, process: usize) {
        self.kill(process, false);
        let wait = self.random.millis(100, 8_000);
        self.after(wait, Happening::Restarted { machine: self.processes[process].machine });
    }

    /// The process is no more; its kernel closes what it had open.
    pub(crate) fn kill(&mut self, process: usize, restarts: bool) {
        if !self.processes[process].alive() {
            return;
        }
        self.note(|| format!("process {process} ends"));
        let former = self.processes[process].former;
        self.processes[process].life = Living::Gone;
        self.processes[process].line = Line::Closed;
        if let Some(pid) = former {
            self.send_close(process, pid);
        }
        self.bodies_end_with(process);
        if restarts {
            let wait = self.random.millis(200, 10_000);
            self.after(wait, Happening::Restarted { machine: self.processes[process].machine });
        }
    }
}

/// An event, without what is long.
fn brief(event: &Event) -> String {
    match event {
        Event::Answered(answer) => format!("answered {answer:?}"),
        other => format!("{other:?}"),
    }
}

/// What a question is called in traces.
pub(crate) fn name_of(question: &Question) -> &'static str {
    match question {
        Question::Migrate => "migrate",
        Question::Register { .. } => "register",
        Question::StandUp(_) => "stand up",
        Question::Look { .. } => "look",
        Question::SettleLost(_) => "settle lost",
        Question::TryLocks(_) => "try locks",
        Question::TryWatches(_) => "try watches",
        Question::Settle { .. } => "settle",
        Question::PassOver { .. } => "pass over",
        Question::TakeOver(_) => "take over",
        Question::Late(_) => "late",
        Question::Known(_) => "known",
        Question::Prune => "prune",
        Question::Prepare => "prepare",
        Question::Order(..) => "order",
        Question::Start { .. } => "start",
        Question::Ping(_) => "ping",
        Question::End { .. } => "end",
        Question::Maintain(_) => "maintain",
        Question::Unblock(_) => "unblock",
        Question::Unlock(_) => "unlock",
        Question::UnlockWatches(_) => "unlock watches",
        Question::Reconcile { .. } => "reconcile",
    }
}
