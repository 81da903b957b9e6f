//! A model of PostgreSQL, as far as the protocol touches it.
//!
//! A statement has its effect at one instant, all of it or nothing; it takes time before and its answer takes time afterwards. Two
//! things last: a session, with its advisory locks, and an open transaction of a body, with its lock on a job's row. A statement that
//! wants such a row passes it over, or waits for it within `lock_timeout`; after waiting it reads the row again, but what it read
//! elsewhere stays as it was when it began, as in PostgreSQL.

mod definitions;
mod fence;
mod groups;
mod leases;
mod locks;
mod look;
mod lost;
mod maintain;
mod renames;
mod requests;
mod runs;
mod session;
mod store;
mod windows;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hourhand_core::job::Definition;
use hourhand_core::name::JobName;
use hourhand_core::outcome::Outcome;
use hourhand_core::protocol::{Answer, Order, Ordered, Question, TroubleKind};
use jiff::{SignedDuration, Timestamp};

pub(crate) use self::fence::{Fenced, IDLE_IN_TRANSACTION, Tx, TxState};
pub(crate) use self::locks::{Form, Lock, Locks};
pub(crate) use self::store::{Row, Store};

use crate::bug::Bug;
use crate::time::At;

/// A session's process on the server.
#[derive(Debug)]
pub(crate) struct Backend {
    /// Whose it is.
    pub(crate) process: usize,
    pub(crate) application: Arc<str>,
    pub(crate) ttl: Duration,
    /// The jobs that its node's slots stand for.
    pub(crate) jobs: Arc<[usize]>,
    /// The version of the program that it runs.
    pub(crate) version: usize,
    /// Its node takes leases, signed with this, instead of locks.
    pub(crate) token: Option<u64>,
    /// When it began a statement last.
    pub(crate) begun: At,
    /// When anything came from the client last.
    pub(crate) heard: At,
    pub(crate) queue: VecDeque<Request>,
    pub(crate) busy: bool,
}

impl Backend {
    /// A session of a process, just opened.
    pub(crate) fn of(process: usize, application: Arc<str>, jobs: Arc<[usize]>, (ttl, at): (Duration, At)) -> Backend {
        let queue = VecDeque::new();
        Backend { process, application, ttl, jobs, version: 0, token: None, begun: at, heard: at, queue, busy: false }
    }

    /// A session that is not hourhand's.
    pub(crate) fn of_a_stranger(at: At) -> Backend {
        Backend::of(STRANGER, "psql".into(), Arc::from([]), (Duration::ZERO, at))
    }
}

/// The process of sessions that are not hourhand's.
pub(crate) const STRANGER: usize = usize::MAX;

/// A question on its way through the server.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) ask: u64,
    pub(crate) question: Question,
    pub(crate) seen: Snapshot,
    /// It has waited for a row: in line already.
    pub(crate) waited: bool,
}

/// What a statement saw when it began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) epochs: BTreeMap<usize, i64>,
    pub(crate) history: usize,
}

/// What came of trying to carry a statement out.
#[derive(Debug)]
pub(crate) enum Execution {
    Done(Answer),
    Failed(TroubleKind),
    /// The job's row is locked.
    Wait(usize),
}

/// Whoever waits for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    Backend(i32),
    Tx(u64),
}

/// Why a session is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The client closed it, or its process ended.
    Client,
    /// Nothing came from the client for as long as the server waits.
    Silence,
    /// A person, a restart, a failover.
    Ended,
    /// The maintainer of another node.
    Evicted,
    /// Its own node, from its next session.
    Former,
}

/// What happened on the server: for the checks.
#[derive(Clone, Debug)]
pub(crate) enum Note {
    Started {
        job: usize,
        epoch: i64,
        before: i64,
        occurrence: Option<Timestamp>,
        repeated: bool,
        handled: bool,
        foreign: bool,
        continuous: bool,
        asked: bool,
    },
    Ended {
        job: usize,
        epoch: i64,
        outcome: Outcome,
        completed: bool,
        due_from: Option<Timestamp>,
    },
    Settled {
        job: usize,
        died: bool,
        gave_up: bool,
        scheduled: bool,
        due_from: Option<Timestamp>,
    },
    Skipped {
        job: usize,
        by: Option<i64>,
    },
    Unlocked {
        pid: i32,
        lock: Lock,
        open_run: Option<i64>,
    },
    SessionGone {
        pid: i32,
        process: usize,
        cause: Cause,
        locks: Vec<Lock>,
    },
    Committed {
        tx: Tx,
        row_epoch: i64,
    },
    NotifyFree {
        key: i64,
        from: i32,
    },
    NotifyLook {
        key: i64,
    },
    NotifyStart {
        key: i64,
        from: i32,
    },
    /// The window that a run begins with, but for one of a backfill.
    WindowOpened {
        job: usize,
        from: Timestamp,
        until: Timestamp,
        began: Timestamp,
    },
    /// A success, or a checkpoint, has covered this span.
    Covered {
        job: usize,
        from: Timestamp,
        until: Timestamp,
        /// What the row said before.
        before: Timestamp,
    },
    Taken {
        id: i64,
        again: Option<Timestamp>,
    },
}

/// The server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) up: bool,
    pub(crate) clock_off: SignedDuration,
    pub(crate) store: Store,
    pub(crate) locks: Locks,
    pub(crate) backends: BTreeMap<i32, Backend>,
    pub(crate) txs: BTreeMap<u64, Tx>,
    /// Whose open transaction holds a job's row.
    pub(crate) row_locks: BTreeMap<usize, u64>,
    pub(crate) waiting: BTreeMap<usize, VecDeque<Waiter>>,
    /// The statements of those that wait.
    pub(crate) held_up: BTreeMap<i32, Request>,
    /// Each job's key.
    pub(crate) keys: Vec<i64>,
    /// The key of each job's group.
    pub(crate) groups: Vec<Option<i64>>,
    /// Under which name each job began: its own, or the one that it was renamed from.
    pub(crate) origins: Vec<usize>,
    by_key: HashMap<i64, usize>,
    /// Each job's definition in each version of the program.
    pub(crate) definitions: Vec<[Arc<Definition>; 2]>,
    /// No room for another lock.
    pub(crate) out_of_locks: bool,
    pub(crate) notes: Vec<Note>,
    pub(crate) bug: Option<Bug>,
    /// For [`Bug::EpochInMemory`].
    pub(crate) remembered: BTreeMap<(usize, usize), i64>,
    next_pid: i32,
    next_tx: u64,
    next_request: i64,
}

impl Server {
    pub(crate) fn new(definitions: Vec<[Arc<Definition>; 2]>, bug: Option<Bug>) -> Server {
        let keys: Vec<i64> = definitions.iter().map(|[first, _]| first.key.0).collect();
        let groups = definitions.iter().map(|[first, _]| first.group.as_ref().map(|group| group.key.0)).collect();
        let named = |name: &JobName| definitions.iter().position(|[first, _]| first.name == *name);
        let origin = |(job, [first, _]): (usize, &[Arc<Definition>; 2])| {
            first.renamed_from.as_ref().and_then(named).unwrap_or(job)
        };
        let origins = definitions.iter().enumerate().map(origin).collect();
        let by_key = keys.iter().enumerate().map(|(job, key)| (*key, job)).collect();
        Server {
            up: true,
            clock_off: SignedDuration::ZERO,
            store: Store::default(),
            locks: Locks::default(),
            backends: BTreeMap::new(),
            txs: BTreeMap::new(),
            row_locks: BTreeMap::new(),
            waiting: BTreeMap::new(),
            held_up: BTreeMap::new(),
            keys,
            groups,
            origins,
            by_key,
            definitions,
            out_of_locks: false,
            notes: Vec::new(),
            bug,
            remembered: BTreeMap::new(),
            next_pid: 100,
            next_tx: 0,
            next_request: 0,
        }
    }

    /// What its clock shows.
    pub(crate) fn now(&self, at: At) -> Timestamp {
        at.shown_by(self.clock_off)
    }

    /// Opens a session.
    pub(crate) fn open(&mut self, backend: Backend) -> i32 {
        self.next_pid += 1;
        self.backends.insert(self.next_pid, backend);
        self.next_pid
    }

    /// Ends a session; its locks are free at once, its statement is given up.
    pub(crate) fn end_session(&mut self, pid: i32, cause: Cause) -> bool {
        let Some(backend) = self.backends.remove(&pid) else { return false };
        self.held_up.remove(&pid);
        self.wait_no_more(Waiter::Backend(pid));
        let locks = self.locks.drop_all(pid);
        self.notes.push(Note::SessionGone { pid, process: backend.process, cause, locks });
        true
    }

    /// What a statement that begins now sees, of what is asked about afterwards: the rows that a start is for.
    pub(crate) fn snapshot(&self, pid: i32, question: &Question) -> Snapshot {
        let (Question::Start { starts, .. }, Some(backend)) = (question, self.backends.get(&pid)) else {
            return Snapshot::default();
        };
        let jobs = starts.iter().map(|start| backend.jobs[start.slot.0]);
        let epochs = jobs.filter_map(|job| Some((job, self.store.rows.get(&job)?.epoch))).collect();
        Snapshot { epochs, history: self.store.history.len() }
    }

    /// It stands in line for no row any more.
    pub(crate) fn wait_no_more(&mut self, who: Waiter) {
        self.waiting.retain(|_, line| {
            line.retain(|waiter| *waiter != who);
            !line.is_empty()
        });
    }

    /// Whose key that is.
    pub(crate) fn job_of(&self, key: i64) -> Option<usize> {
        self.by_key.get(&key).copied()
    }

    /// Carries a statement out, at this instant.
    pub(crate) fn execute(&mut self, pid: i32, request: &Request, at: At) -> Execution {
        let Some(backend) = self.backends.get(&pid) else { return Execution::Failed(TroubleKind::Unreachable) };
        let jobs = backend.jobs.clone();
        if let Some(token) = backend.token {
            match &request.question {
                Question::TryLocks(slots) => return self.take_leases((pid, token), &jobs, slots, at),
                Question::Ping(runs) => return self.renew_leases((pid, token), &jobs, runs, at),
                Question::Unlock(slots) => return self.release_leases((pid, token), &jobs, slots, at),
                Question::Reconcile { locks, .. } => return self.reconcile_leases((pid, token), &jobs, locks, at),
                _ => {}
            }
        }
        match &request.question {
            Question::Migrate => Execution::Done(Answer::Migrated),
            Question::Register { jobs: slots, replace } => self.register(pid, &jobs, (slots, *replace), at),
            Question::StandUp(seen) => self.stand_up(pid, &jobs, seen),
            Question::Look { jobs: slots, lost } => self.look(pid, &jobs, (slots, *lost), at),
            Question::TryLocks(slots) => self.try_locks(pid, &jobs, slots, at),
            Question::TryWatches(slots) => self.try_watches(pid, &jobs, slots),
            Question::Settle { slot, epoch, died } => self.settle(pid, jobs[slot.0], (*epoch, *died), at),
            Question::SettleLost(epochs) => self.settle_lost(&jobs, epochs, at),
            Question::PassOver { slot, seen, skip } => self.pass_over(pid, jobs[slot.0], (*seen, skip.newest), at),
            Question::TakeOver(heirs) => self.take_over(pid, &jobs, heirs, at),
            Question::Late(late) => Execution::Done(Answer::Late(vec![false; late.len()])),
            Question::Known(slots) => self.known(&jobs, slots, at),
            Question::Prune => Execution::Done(Answer::Pruned(0)),
            Question::Prepare => Execution::Done(Answer::Prepared),
            // Nobody orders anything here: pauses and cancels are written by the plan.
            Question::Order(_, Order::Close { request }) => self.close_request(*request),
            Question::Order(..) => Execution::Done(Answer::Ordered(Ordered::Nothing)),
            Question::Start { starts, alone } => self.start(pid, &jobs, (starts, *alone, &request.seen), at),
            Question::Ping(runs) => self.ping(pid, &jobs, runs),
            Question::End { ends, alone } => self.end(pid, &jobs, (ends, *alone), at),
            Question::Maintain(slots) => self.maintain(pid, &jobs, slots, at),
            Question::Unblock(slot) => self.unblock(pid, jobs[slot.0], at),
            Question::Unlock(slots) => self.unlock(pid, &jobs, slots),
            Question::UnlockWatches(slots) => self.unlock_watches(pid, &jobs, slots),
            Question::Reconcile { locks, watches } => self.reconcile(pid, &jobs, locks, watches),
        }
    }

    /// The row is locked by an open transaction.
    pub(crate) fn row_locked(&self, job: usize) -> bool {
        self.row_locks.contains_key(&job)
    }

    /// The server stops, with everything that is not durable.
    pub(crate) fn stop(&mut self) {
        self.up = false;
        let sessions: Vec<i32> = self.backends.keys().copied().collect();
        for pid in sessions {
            self.end_session(pid, Cause::Ended);
        }
        self.txs.clear();
        self.row_locks.clear();
        self.waiting.clear();
        self.held_up.clear();
    }
}
