//! What the node asks of its session.

use jiff::Timestamp;

use super::Slot;
use crate::occurrence::{Skip, SkipReason};
use crate::outcome::{Trigger, Verdict};
use crate::request::Taken;

/// What the node asks of its session.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// Make or upgrade the schema.
    Migrate,
    /// Register the definitions of these jobs. `replace`: this process begins, and what is registered otherwise is older; else only
    /// what is missing is registered.
    Register {
        /// At most a thousand.
        jobs: Vec<Slot>,
        /// Whether to.
        replace: bool,
    },
    /// Take the state of other names over, each under that name's lock, before the jobs are registered.
    TakeOver(Vec<(Slot, String)>),
    /// Register this node's definitions in place of these others (by their fingerprints), with the same floor: nobody runs them.
    StandUp(Vec<(Slot, i64)>),
    /// Read all that a decision needs.
    Look {
        /// Of these jobs.
        jobs: Vec<Slot>,
        /// And which runs of the schema ended without a word.
        lost: bool,
    },
    /// Try the locks.
    TryLocks(Vec<Slot>),
    /// Try the watches.
    TryWatches(Vec<Slot>),
    /// Record that the run `epoch` is lost; the job's lock is held. `died`: its process is gone (else: its start's answer was).
    Settle {
        /// The job.
        slot: Slot,
        /// The lost run.
        epoch: i64,
        /// Counts as a death.
        died: bool,
    },
    /// Record that these runs are lost, by their epochs, as far as they still have no end and nobody has their jobs' locks.
    SettleLost(Vec<i64>),
    /// Put on record that occurrences are passed over; the job's lock is held.
    PassOver {
        /// The job.
        slot: Slot,
        /// The row's epoch that the decision rests on.
        seen: i64,
        /// What is passed over.
        skip: Skip,
    },
    /// Start runs. `alone`: wait for the row's lock within `lock_timeout`, where several starts skip what is locked.
    Start {
        /// One a job.
        starts: Vec<Start>,
        /// Wait for the row.
        alone: bool,
    },
    /// Prove that the session lives and owns these locks.
    Ping(Vec<(Slot, i64)>),
    /// Record ends.
    End {
        /// One a run.
        ends: Vec<End>,
        /// Wait for the row.
        alone: bool,
    },
    /// See who holds the locks and watches of these jobs, and end the sessions that have gone silent.
    Maintain(Vec<Slot>),
    /// See whose open transaction holds a job's row, and end that session if it has gone silent inside it.
    Unblock(Slot),
    /// Take note that these occurrences have waited too long: whoever is first tells people.
    Late(Vec<(Slot, Timestamp)>),
    /// Take note that a node has these jobs, which wait: they are not given up.
    Known(Vec<Slot>),
    /// Remove history that is older than its job's retention, a bounded batch of it.
    Prune,
    /// Carry out what a person orders.
    Order(Slot, Order),
    /// Make the statements of a visit ready on this session: it is kept, and will send them soon.
    Prepare,
    /// Let locks go, and say so.
    Unlock(Vec<Slot>),
    /// Let watches go.
    UnlockWatches(Vec<Slot>),
    /// List what the session holds, and let go whatever is not among these locks and watches.
    Reconcile {
        /// Locks to keep.
        locks: Vec<Slot>,
        /// Watches to keep.
        watches: Vec<Slot>,
    },
}

/// A start, as decided by a look; the statement re-checks it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// The job.
    pub slot: Slot,
    /// Its occurrence; none for a manual run.
    pub occurrence: Option<Timestamp>,
    /// The row's epoch that the decision rests on.
    pub seen: i64,
    /// What the run will be called.
    pub trigger: Trigger,
    /// Occurrences it replaces.
    pub skipped: u64,
    /// The newest of them.
    pub skipped_for: Option<Timestamp>,
    /// Why.
    pub reason: SkipReason,
    /// Its window ends here at the latest.
    pub window_end: Option<Timestamp>,
    /// What it takes of a request: in the same statement, or nothing starts.
    pub taken: Option<Taken>,
}

/// A run that has started.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    /// The fencing token.
    pub epoch: i64,
    /// From 1.
    pub attempt: u32,
    /// How many holders of this occurrence have died before.
    pub takeover: u32,
    /// The half-open span of outside data to cover: from.
    pub window_from: Timestamp,
    /// The half-open span of outside data to cover: until.
    pub window_until: Timestamp,
    /// The server's time at the start.
    pub started_at: Timestamp,
}

/// The end of a run, to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The job.
    pub slot: Slot,
    /// The run.
    pub epoch: i64,
    /// How it ended and what that does.
    pub verdict: Verdict,
    /// How much of it is written.
    pub form: EndForm,
    /// Occurrences that came due meanwhile, skipped if the run leaves its own handled.
    pub skipped: u64,
    /// The newest of them.
    pub skipped_for: Option<Timestamp>,
}

/// How much of an end is written: what was refused whole is tried again with less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndForm {
    /// Row and history with message and output.
    Full,
    /// Row and history without message and output.
    Bare,
    /// The row alone.
    RowAlone,
}

/// What a person orders for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing starts until it is resumed, or until then.
    Pause {
        /// Ends by itself then.
        until: Option<Timestamp>,
        /// Why, for people.
        reason: Option<String>,
        /// Who says so.
        actor: Option<String>,
    },
    /// Goes on with the next occurrence, or catches up.
    Resume {
        /// What came due meanwhile counts as missed, not as passed over.
        catch_up: bool,
        /// Who says so.
        actor: Option<String>,
    },
    /// The run under way is to stop, and what is asked for is withdrawn.
    Cancel {
        /// Only this one.
        epoch: Option<i64>,
        /// Who says so.
        actor: Option<String>,
    },
    /// A backfill has nothing left to run: its schedule was changed meanwhile. Ordered by a node itself.
    Close {
        /// The request.
        request: i64,
    },
    /// The occurrences of a span are to be run again.
    Backfill {
        /// From this instant.
        from: Timestamp,
        /// Before this one.
        until: Timestamp,
        /// How many that are: the node counts them.
        runs: u64,
        /// Who says so.
        actor: Option<String>,
    },
}
