//! What goes wrong: drawn from the seed, until quiet comes.
//!
//! Each fault is one that has stopped a scheduler somewhere: a lock left in a pool, a process suspended with its laptop, a standby
//! promoted without the last commits, a transaction left open by hand. They overlap, and some strike at the worst instant: right after a
//! statement that matters was carried out, so that nobody learns of it. How often they come is drawn for the whole run, for what
//! only happens after a minute of peace never happens under constant fire.
//!
//! People's requests are among them (triggers, pauses, cancels, backfills): they are no faults, but come as unforeseen.

use std::collections::VecDeque;
use std::time::Duration;

use hourhand_core::protocol::{Event, Question, Ticket};
use hourhand_core::request::Wanted;
use jiff::SignedDuration;

use super::{CANARIES, Happening, World};
use crate::plan::Plan;
use crate::process::{Line, Living};
use crate::random::Random;
use crate::server::{Backend, Cause, Fenced, Lock, STRANGER, Store};
use crate::time::At;

/// Faults under way.
#[derive(Debug)]
pub(crate) struct Faults {
    /// The longest wait between two.
    every: Duration,
    /// None begins or lasts beyond.
    until: At,
    cut: Vec<At>,
    /// How often each link was cut.
    cuts: Vec<u64>,
    slow: Vec<At>,
    /// Statements take long.
    pub(crate) heavy_until: At,
    /// Connections are refused.
    pub(crate) crowded_until: At,
    /// The server's clock was stepped (or another's took its place).
    pub(crate) stepped_at: Option<At>,
    out_of_locks_until: At,
    /// Of 1,000 statements that matter, as many are the last of their session.
    strikes: u64,
    /// What the standby had at some instants.
    standby: VecDeque<(At, Store)>,
    paused: Vec<usize>,
}

/// Something to go wrong.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Kill,
    Freeze,
    Cut,
    Slow,
    Heavy,
    Terminate,
    UnlockAll,
    Restart,
    Failover,
    StepWall,
    StepServer,
    Crowd,
    FillLocks,
    Trigger,
    Request,
    Backfill,
    Status,
    Pause,
    Cancel,
    Replace,
    ForeignLock,
    LockRow,
    WakeInVain,
    Canary,
}

const FAULTS: [Fault; 36] = [
    Fault::Kill,
    Fault::Kill,
    Fault::Freeze,
    Fault::Freeze,
    Fault::Cut,
    Fault::Cut,
    Fault::Slow,
    Fault::Slow,
    Fault::Heavy,
    Fault::Terminate,
    Fault::Terminate,
    Fault::Terminate,
    Fault::UnlockAll,
    Fault::Restart,
    Fault::Failover,
    Fault::StepWall,
    Fault::StepServer,
    Fault::Crowd,
    Fault::FillLocks,
    Fault::Trigger,
    Fault::Trigger,
    Fault::Trigger,
    Fault::Trigger,
    Fault::Request,
    Fault::Request,
    Fault::Backfill,
    Fault::Status,
    Fault::Pause,
    Fault::Cancel,
    Fault::Replace,
    Fault::Replace,
    Fault::ForeignLock,
    Fault::LockRow,
    Fault::LockRow,
    Fault::WakeInVain,
    Fault::Canary,
];

impl Faults {
    pub(crate) fn new(plan: &Plan, random: &mut Random) -> Faults {
        let never = At::default();
        let machines = plan.nodes + CANARIES;
        Faults {
            every: Duration::from_secs(*random.pick(&[4, 10, 30])),
            until: never + plan.quiet_from(),
            cut: vec![never; machines],
            cuts: vec![0; machines],
            slow: vec![never; machines],
            heavy_until: never,
            crowded_until: never,
            stepped_at: None,
            out_of_locks_until: never,
            strikes: *random.pick(&[0, 3, 20]),
            standby: VecDeque::new(),
            paused: Vec::new(),
        }
    }

    pub(crate) fn cut_until(&self, machine: usize) -> At {
        self.cut[machine]
    }

    pub(crate) fn cut_number(&self, machine: usize) -> u64 {
        self.cuts[machine]
    }

    pub(crate) fn slow_until(&self, machine: usize) -> At {
        self.slow[machine]
    }

    /// Whether the session ends right after this statement.
    pub(crate) fn strikes_now(&self, quiet: bool, question: &Question, random: &mut Random) -> bool {
        let matters = matches!(
            question,
            Question::Start { .. }
                | Question::End { .. }
                | Question::Settle { .. }
                | Question::TryLocks(_)
                | Question::Unlock(_)
        );
        !quiet && matters && self.strikes > 0 && random.chance(self.strikes)
    }
}

impl World {
    /// When a fault that lasts so long ends: not long after quiet has come.
    fn lasts(&mut self, least: u64, most: u64) -> At {
        let length = self.random.millis(least, most);
        (self.now + length).min(self.faults.until)
    }

    pub(super) fn fault(&mut self) {
        if self.quiet {
            return;
        }
        let fault = *self.random.pick(&FAULTS);
        self.note(|| format!("fault: {fault:?}"));
        self.report.faults += 1;
        self.carry_out(fault);
        let wait = self.random.between(Duration::from_millis(50), self.faults.every);
        self.after(wait, Happening::Fault);
    }

    fn carry_out(&mut self, fault: Fault) {
        let machine = self.random.below(self.machines.len() as u64) as usize;
        let process = Some(self.machines[machine]).filter(|at| *at != usize::MAX && self.processes[*at].alive());
        match fault {
            Fault::Cut => self.cut(machine),
            Fault::Slow => self.faults.slow[machine] = self.lasts(500, 30_000),
            Fault::Heavy => self.faults.heavy_until = self.lasts(500, 20_000),
            Fault::Crowd => self.faults.crowded_until = self.lasts(500, 20_000),
            Fault::FillLocks => {
                self.faults.out_of_locks_until = self.lasts(500, 15_000);
                self.server.out_of_locks = true;
            }
            Fault::Terminate => self.terminate(),
            Fault::Restart => self.stop_server(20_000),
            Fault::Failover => self.fail_over(),
            Fault::StepServer => self.step_server(3_000),
            Fault::Pause => self.pause(),
            Fault::Cancel => self.cancel(),
            Fault::Request | Fault::Backfill => self.request_from_elsewhere(fault),
            Fault::ForeignLock => self.foreign_lock(),
            Fault::LockRow => self.lock_row(),
            Fault::Canary => self.canary(),
            Fault::Kill | Fault::Freeze | Fault::UnlockAll | Fault::StepWall => self.process_fault(fault, process),
            Fault::Trigger | Fault::Status | Fault::Replace | Fault::WakeInVain => self.request(fault, process),
        }
    }

    /// A machine with the other version begins, and is taken away after a while.
    fn canary(&mut self) {
        let Some(machine) = (self.plan.nodes..self.machines.len()).find(|at| self.machines[*at] == usize::MAX) else {
            return;
        };
        self.versions[machine] = 1;
        self.restarted(machine);
        let until = self.lasts(200, 90_000);
        self.at(until, Happening::Withdrawn { process: self.machines[machine] });
    }

    fn process_fault(&mut self, fault: Fault, process: Option<usize>) {
        let Some(process) = process else { return };
        match fault {
            Fault::Kill => self.kill(process, true),
            Fault::Freeze if self.processes[process].frozen_until.is_none() => {
                let until = self.lasts(500, 60_000);
                self.processes[process].frozen_until = Some(until);
                self.at(until, Happening::Thawed { process });
            }
            Fault::UnlockAll => self.unlock_all(process),
            Fault::StepWall => {
                let step = self.random.below(7_200_000).cast_signed() - 3_600_000;
                self.processes[process].wall_off += SignedDuration::from_millis(step);
            }
            _ => {}
        }
    }

    fn request(&mut self, fault: Fault, process: Option<usize>) {
        let Some(process) = process.filter(|at| self.processes[*at].frozen_until.is_none()) else { return };
        match fault {
            Fault::Trigger => {
                let slot = self.random.below(self.processes[process].jobs.len() as u64) as usize;
                let ticket = self.ticket(process, self.processes[process].jobs[slot]);
                self.feed(process, Event::Triggered { slot: hourhand_core::protocol::Slot(slot), ticket });
            }
            Fault::Status => {
                let ticket = self.ticket(process, 0);
                self.feed(process, Event::StatusAsked(ticket));
            }
            Fault::Replace => {
                self.processes[process].life = Living::ShuttingDown;
                self.feed(process, Event::Shutdown);
            }
            _ => self.after(Duration::ZERO, Happening::WokeInVain { process }),
        }
    }

    fn ticket(&mut self, process: usize, job: usize) -> Ticket {
        let ticket = self.order;
        self.processes[process].tickets.insert(ticket, (self.now, job));
        Ticket(ticket)
    }

    pub(super) fn thawed(&mut self, process: usize) {
        self.processes[process].frozen_until = None;
        self.processes[process].thawed_at = Some(self.now);
        self.bodies_thawed(process);
        if self.processes[process].alive() {
            self.after(Duration::from_micros(2), Happening::WokeInVain { process });
        }
    }

    /// The link is cut without a word; the server ends what it hears nothing of.
    fn cut(&mut self, machine: usize) {
        if self.faults.cut[machine] > self.now {
            return;
        }
        self.faults.cut[machine] = self.lasts(300, 50_000);
        self.faults.cuts[machine] += 1;
        let cut = self.faults.cuts[machine];
        let theirs = |process: usize| process != STRANGER && self.processes[process].machine == machine;
        let sessions: Vec<(i32, At, Duration)> = (self.server.backends.iter())
            .filter(|(_, backend)| theirs(backend.process))
            .map(|(pid, backend)| (*pid, backend.heard, backend.ttl))
            .collect();
        for (pid, heard, ttl) in sessions {
            // A silent client is asked every 3/5 ttl, and its kernel answers.
            let idle = self.random.between(Duration::ZERO, ttl * 3 / 5);
            let heard = heard.max(At(self.now.0.saturating_sub(idle.as_micros() as u64)));
            let wait = self.random.between(ttl, ttl * 6 / 5);
            self.at((heard + wait).max(self.now), Happening::Silence { pid, cut });
        }
    }

    fn terminate(&mut self) {
        let sessions: Vec<i32> = self.server.backends.keys().copied().collect();
        if !sessions.is_empty() {
            let pid = *self.random.pick(&sessions);
            self.end_session(pid, Cause::Ended);
        }
    }

    /// Somebody calls `pg_advisory_unlock_all` on the session: it lives, its locks do not.
    fn unlock_all(&mut self, process: usize) {
        if let Line::Open(pid) = self.processes[process].line {
            let locks = self.server.locks.drop_all(pid);
            self.server.notes.push(crate::server::Note::SessionGone { pid, process, cause: Cause::Ended, locks });
        }
    }

    fn stop_server(&mut self, down: u64) {
        if !self.server.up {
            return;
        }
        let sessions: Vec<(i32, usize)> = (self.server.backends.iter())
            .filter(|(_, backend)| backend.process != STRANGER)
            .map(|(pid, backend)| (*pid, backend.process))
            .collect();
        self.server.stop();
        for (pid, process) in sessions {
            self.tell_closed(process, pid);
        }
        let until = self.lasts(100, down);
        self.at(until, Happening::ServerUp);
    }

    pub(super) fn server_up(&mut self) {
        self.server.up = true;
    }

    /// The standby takes over, without the last of what was committed, and with a clock of its own.
    fn fail_over(&mut self) {
        if !self.server.up {
            return;
        }
        self.stop_server(10_000);
        // Asynchronous replication: what was committed last is lost, whoever was told of it.
        let lag = self.random.millis(0, 3_000);
        let since = At(self.now.0.saturating_sub(lag.as_micros() as u64));
        let stood = self.faults.standby.iter().rev().find(|(at, _)| *at <= since).cloned();
        if let Some((at, store)) = stood {
            self.server.store = store;
            self.checks.rolled_back(at, &self.server);
        }
        self.step_server(500);
    }

    fn step_server(&mut self, most: u64) {
        let step = self.random.below(2 * most).cast_signed() - most.cast_signed();
        self.server.clock_off += SignedDuration::from_millis(step);
        self.faults.stepped_at = Some(self.now);
    }

    pub(super) fn replicated(&mut self) {
        let store = self.server.store.clone();
        self.faults.standby.push_back((self.now, store));
        if self.faults.standby.len() > 10 {
            self.faults.standby.pop_front();
        }
        if !self.quiet {
            self.after(Duration::from_millis(500), Happening::Replicated);
        }
    }

    fn pause(&mut self) {
        let job = self.random.below(self.jobs.len() as u64) as usize;
        let now = self.server.now(self.now);
        // People see under which name it goes on.
        if let Some(row) = self.server.store.rows.get_mut(&job).filter(|row| row.renamed_to.is_none()) {
            if row.paused {
                row.resumed_at = Some(now);
            }
            row.paused = !row.paused;
            self.faults.paused.push(job);
        }
    }

    /// Somebody asks the database, not a node.
    fn request_from_elsewhere(&mut self, fault: Fault) {
        let job = self.random.below(self.jobs.len() as u64) as usize;
        if !self.server.up || !self.server.store.rows.contains_key(&job) {
            return;
        }
        let now = self.server.now(self.now);
        let lasts = SignedDuration::from_secs(*self.random.pick(&[2, 60, 3_600]));
        let (wanted, lasts) = match fault {
            Fault::Backfill => {
                let span = SignedDuration::from_secs(*self.random.pick(&[60, 300]));
                (Wanted::Backfill { after: now - span, until: now }, SignedDuration::from_hours(1))
            }
            _ => (Wanted::Run, lasts),
        };
        self.server.request(job, wanted, lasts, self.now);
    }

    fn cancel(&mut self) {
        let job = self.random.below(self.jobs.len() as u64) as usize;
        if let Some(row) = self.server.store.rows.get_mut(&job) {
            row.cancel = Some(row.epoch);
        }
    }

    /// A session that is not hourhand's takes a job's lock.
    fn foreign_lock(&mut self) {
        if !self.server.up {
            return;
        }
        let job = self.random.below(self.jobs.len() as u64) as usize;
        let pid = self.server.open(Backend::of_a_stranger(self.now));
        let group = self.server.groups[job].filter(|_| self.random.chance(500));
        self.server.locks.try_take(Lock::of(group.unwrap_or(self.server.keys[job])), pid);
        let until = self.lasts(100, 30_000);
        self.at(until, Happening::StrangerDone { pid });
    }

    /// Somebody's transaction holds a job's row.
    fn lock_row(&mut self) {
        if !self.server.up {
            return;
        }
        let job = self.random.below(self.jobs.len() as u64) as usize;
        let tx = self.server.begin(None, job, 0, false);
        if self.server.fence(tx, self.now) != Fenced::Superseded {
            let until = self.lasts(50, 20_000);
            self.at(until, Happening::StrangerTxDone { tx });
        }
    }

    /// Faults are over: those under way have ended, or are ended now.
    pub(super) fn become_quiet(&mut self) {
        self.note(|| "quiet".to_owned());
        // The last to ask: each is to get a run before the end.
        for _ in 0..self.jobs.len() {
            self.request_from_elsewhere(Fault::Request);
        }
        self.quiet = true;
        self.server.out_of_locks = false;
        let now = self.server.now(self.now);
        for row in self.server.store.rows.values_mut().filter(|row| row.paused && row.renamed_to.is_none()) {
            row.paused = false;
            row.resumed_at = Some(now);
        }
    }

    /// Once a second: faults that end by themselves.
    pub(crate) fn faults_pass(&mut self) {
        if self.faults.out_of_locks_until <= self.now {
            self.server.out_of_locks = false;
        }
    }
}
