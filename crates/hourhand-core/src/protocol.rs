//! The words between the node, which decides, and whoever carries out its decisions: a real session, or the simulator's.
//!
//! The node asks one question at a time; each is one statement, and is answered, refused, or cut off by the session's end.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::facts::Facts;
use crate::outcome::{BodyEnd, StopReason, Trigger, Verdict};

/// A job's place in its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub usize);

/// Whoever asked the node for something and waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// What the node asks of its session.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// Make or upgrade the schema.
    Migrate,
    /// Register the definitions of all jobs.
    Register,
    /// Read all that a decision needs.
    Look(Vec<Slot>),
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

/// What became of one start.
#[derive(Clone, Debug, PartialEq)]
pub enum StartAnswer {
    /// It runs.
    Started(Started),
    /// The row was not as seen, or is locked by somebody's open transaction.
    NotStarted,
    /// This backend does not hold the lock: the session is not what we took it for.
    NotOwned,
}

/// What became of one end.
#[derive(Clone, Debug, PartialEq)]
pub enum EndAnswer {
    /// It is durable.
    Recorded {
        /// The outcome that stands, in the word of history: `succeeded` if the body has completed the run itself.
        outcome: String,
        /// The row afterwards: occurrences up to here need no run.
        handled_until: Timestamp,
        /// The row afterwards: the occurrence that is still open.
        open_for: Option<Timestamp>,
        /// The row afterwards: the open occurrence waits until then.
        not_before: Option<Timestamp>,
    },
    /// An earlier try has recorded it.
    RecordedBefore,
    /// A later run has started; nothing was written.
    Superseded,
    /// Somebody's open transaction holds the row.
    RowLocked,
}

/// What a ping proved.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The session carries our mark.
    pub marked: bool,
    /// The server refuses writes.
    pub read_only: bool,
    /// The locks of these jobs, of those asked for, are ours.
    pub owned: Vec<Slot>,
    /// The runs among those asked for that somebody wants cancelled.
    pub cancelled: Vec<i64>,
}

/// Another session in a job's way, as the maintainer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Its backend's process id.
    pub pid: i32,
    /// What it calls itself, where visible.
    pub application: Option<String>,
    /// Where it comes from, where visible and not a Unix socket.
    pub client: Option<String>,
    /// How long ago it began its last statement (in an open transaction: ended it), where visible.
    pub silent: Option<Duration>,
    /// It is hourhand's.
    pub ours: bool,
    /// It holds the watch, not the lock.
    pub watch: bool,
    /// It has been ended.
    pub evicted: bool,
    /// It should have been ended, and this role may not.
    pub forbidden: bool,
}

/// What the session answered, in the order of what was asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The schema is there.
    Migrated,
    /// Another session is making it.
    MigrationBusy,
    /// Registered, but for these jobs, which stand under another key.
    Registered(Vec<Slot>),
    /// What the look showed; `None`: no such row.
    Looked {
        /// The server's time.
        now: Option<Timestamp>,
        /// One entry a job asked for.
        facts: Vec<Option<Facts>>,
    },
    /// Granted or not; `None`: this backend does not carry our mark.
    Tried(Vec<Option<bool>>),
    /// Settled, with the deaths in a row and whether the occurrence was given up; `None`: there was nothing to settle.
    Settled(Option<(u32, bool)>),
    /// One entry a start.
    Started(Vec<StartAnswer>),
    /// The proof.
    Pinged(Proof),
    /// One entry an end, with the server's time.
    Ended(Vec<EndAnswer>),
    /// Every session that holds a lock or a watch of the jobs asked for.
    Obstacles(Vec<(Slot, Obstacle)>),
    /// Whose transaction holds the row, if anybody's.
    Blocker(Option<Obstacle>),
    /// Each lock was ours to let go.
    Unlocked(bool),
    /// The session holds exactly what was to be kept, or not even that.
    Reconciled {
        /// Everything to keep is there.
        complete: bool,
    },
}

/// Why a question, or the connection, came to nothing. Branches on the kind; the text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What to do about it.
    pub kind: TroubleKind,
    /// For people, without secrets.
    pub text: String,
}

/// The kinds of trouble that are treated differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// No server, no answer, or the session ended.
    Unreachable,
    /// Wrong password, no such database: trying again soon helps little.
    Refused,
    /// No connection left (53300).
    TooManyConnections,
    /// Our own bound passed without an answer: whatever was asked for may still happen.
    TimedOut,
    /// The server gave the statement up (57014), or its wait for a row (55P03).
    Cancelled,
    /// The lock table is full (53200).
    OutOfLocks,
    /// Schema, table or function is missing.
    NotMigrated,
    /// A privilege is missing (42501).
    Forbidden,
    /// The server is too old, or otherwise can never serve.
    Incompatible,
    /// A transaction pooler stands between: a session lock would be nobody's.
    Pooled,
    /// Anything else the server said.
    Other,
}

/// Where a request to run a job now ended up.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerAnswer {
    /// It runs on this node.
    Started(i64),
    /// It runs already, here or elsewhere.
    AlreadyRunning {
        /// The node, where known.
        node: Option<String>,
        /// Since when, by the server's clock.
        since: Option<Timestamp>,
        /// The run, where known.
        epoch: Option<i64>,
    },
    /// The job is paused.
    Paused,
    /// The database could not be asked.
    Unreachable(Trouble),
    /// This node is shutting down.
    ShuttingDown,
}

/// What happens to a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Time passed.
    Woke,
    /// The session is open.
    Connected {
        /// The server's time.
        server: Timestamp,
        /// Its backend's process id.
        pid: i32,
    },
    /// The session could not be had.
    ConnectFailed(Trouble),
    /// The session ended.
    Closed(Trouble),
    /// The question asked was answered.
    Answered(Answer),
    /// The question asked came to nothing.
    Refused(Trouble),
    /// Another node let the lock with this key go.
    Freed(i64),
    /// A body ended.
    BodyEnded {
        /// Its job.
        slot: Slot,
        /// Its run.
        epoch: i64,
        /// How.
        end: BodyEnd,
    },
    /// Somebody wants this job run now.
    Triggered {
        /// The job.
        slot: Slot,
        /// Who waits for the answer.
        ticket: Ticket,
    },
    /// Somebody wants to know how all jobs stand.
    StatusAsked(Ticket),
    /// End: no new runs, let those under way finish within the grace.
    Shutdown,
}

/// What a node wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Open the session. `end_former`: end this node's former one on the server, whose locks nobody uses any more.
    Connect {
        /// Whether to.
        end_former: bool,
    },
    /// Let the session go.
    Close,
    /// Ask this; answer with `Answered`, `Refused` or `Closed`.
    Ask(Question),
    /// Start the body of a run.
    StartBody {
        /// The job.
        slot: Slot,
        /// Its occurrence.
        occurrence: Option<Timestamp>,
        /// Why it runs.
        trigger: Trigger,
        /// The run.
        run: Started,
    },
    /// Tell a body to stop.
    StopBody {
        /// The job.
        slot: Slot,
        /// The run.
        epoch: i64,
        /// Why.
        reason: StopReason,
    },
    /// End a body's task: it was told to stop and did not within its grace.
    AbortBody {
        /// The job.
        slot: Slot,
        /// The run.
        epoch: i64,
    },
    /// Answer a request to run a job now.
    AnswerTrigger(Ticket, TriggerAnswer),
    /// Answer a question for all jobs' status: the server's time, and the facts of each job.
    AnswerStatus(Ticket, Result<(Timestamp, Vec<Option<Facts>>), Trouble>),
    /// Tell people.
    Say(Notice),
    /// Nothing is left to do: the node has shut down.
    Finish,
}

/// What people are told, each once and not once a try.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The database can't be had; the node goes on trying.
    Unavailable(Trouble),
    /// It answers again, after this long.
    Available(Duration),
    /// The node's wall clock differs from the server's by a second or more.
    ClockOff(SignedDuration),
    /// The mark is missing: a transaction pooler stands between, or somebody shares our session.
    SessionShared,
    /// A job is registered under another key; this node does not run it.
    OtherKey(Slot),
    /// A run began.
    RunStarted {
        /// Its job.
        slot: Slot,
        /// The run.
        epoch: i64,
        /// Why.
        trigger: Trigger,
        /// Its occurrence.
        occurrence: Option<Timestamp>,
        /// How many holders of the occurrence died before.
        takeover: u32,
        /// Occurrences passed over.
        skipped: u64,
    },
    /// A run ended and its end is durable.
    RunEnded {
        /// Its job.
        slot: Slot,
        /// The run.
        epoch: i64,
        /// The outcome that stands.
        outcome: String,
        /// Its message.
        error: Option<String>,
        /// A failure that was to be expected.
        transient: bool,
        /// Occurrences skipped because they came due meanwhile.
        skipped: u64,
    },
    /// A later run has started before this one's end could be recorded.
    RunSuperseded {
        /// Its job.
        slot: Slot,
        /// The run.
        epoch: i64,
    },
    /// A run ended, but the database would not record it for ttl; it will be written when it can.
    Unrecorded {
        /// Its job.
        slot: Slot,
        /// The run.
        epoch: i64,
        /// What the database said last.
        trouble: Option<Trouble>,
    },
    /// The lock was lost while a run was under way.
    LockLost {
        /// Its job.
        slot: Slot,
        /// The run.
        epoch: i64,
        /// What showed it.
        why: String,
    },
    /// A run of another process ended without a word.
    HolderDied {
        /// Its job.
        slot: Slot,
        /// The lost run.
        epoch: i64,
        /// Deaths in a row.
        deaths: u32,
        /// The occurrence is handled as failed.
        gave_up: bool,
    },
    /// A lock is held by a session that runs nothing of ours.
    ForeignHolder {
        /// The job.
        slot: Slot,
        /// Who.
        holder: Obstacle,
    },
    /// A silent session was ended: a frozen holder or watcher, or a transaction left open inside a fence.
    Evicted {
        /// The job whose way is free again.
        slot: Slot,
        /// Who.
        holder: Obstacle,
    },
    /// A silent session should be ended, and this role may not.
    MayNotEvict {
        /// The job.
        slot: Slot,
        /// Who.
        holder: Obstacle,
    },
    /// Somebody's open transaction holds the job's row: nothing can start or end.
    RowLocked {
        /// The job.
        slot: Slot,
        /// Whose, where visible.
        blocker: Option<Obstacle>,
    },
    /// The server has no room for another lock; the jobs are tried again.
    OutOfLocks,
    /// A body was told to stop and aborted, and its task goes on: it blocks.
    BodyStuck {
        /// The job.
        slot: Slot,
        /// The run.
        epoch: i64,
    },
    /// The runtime on which bodies run has shut down: the node shuts down too.
    RuntimeGone,
}
