//! What the session answers.

use std::time::Duration;

use jiff::Timestamp;

use super::{Slot, Started};
use crate::facts::Facts;
use crate::request::BackfillError;

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
    /// It was recorded before: by an earlier try, or as lost by another node.
    RecordedBefore {
        /// The outcome that stands, in the word of history.
        outcome: String,
    },
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

/// A run that was put on record as lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledRun {
    /// Its job, where this node has it.
    pub slot: Option<Slot>,
    /// Its job's name.
    pub job: String,
    /// The run.
    pub epoch: i64,
    /// Deaths in a row.
    pub deaths: u32,
    /// Its occurrence is handled as failed, or the rest of its backfill given up.
    pub gave_up: bool,
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
    /// Taken over, or nothing to take; or not yet: a run under the other name is under way. One entry a job.
    TookOver(Vec<bool>),
    /// Registered, or not: by now another definition stands there. One entry a job.
    StoodUp(Vec<bool>),
    /// What the look showed; `None`: no such row.
    Looked {
        /// The server's time.
        now: Option<Timestamp>,
        /// One entry a job asked for.
        facts: Vec<Option<Facts>>,
        /// Other jobs of the node that somebody asks for, with the number of what is asked.
        requested: Vec<(Slot, i64)>,
        /// The epochs of all lost runs that nobody has put on record; `None`: not asked for.
        lost: Option<Vec<i64>>,
    },
    /// Granted or not; `None`: this backend does not carry our mark.
    Tried(Vec<Option<bool>>),
    /// Settled, with the deaths in a row and whether the occurrence was given up; `None`: there was nothing to settle.
    Settled(Option<(u32, bool)>),
    /// Those that were put on record.
    SettledLost(Vec<SettledRun>),
    /// On record, or not: the row was not as seen.
    PassedOver(bool),
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
    /// First to say so, or not. One entry an occurrence.
    Late(Vec<bool>),
    /// Noted, by this node or by another one before it.
    Known,
    /// How many rows were removed.
    Pruned(usize),
    /// Ready; or not, and asked no more on this session.
    Prepared,
    /// What became of an order.
    Ordered(Ordered),
    /// Each lock was ours to let go.
    Unlocked(bool),
    /// The session holds exactly what was to be kept, or not even that.
    Reconciled {
        /// Everything to keep is there.
        complete: bool,
    },
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ordered {
    /// The job is paused; a run under way goes on.
    Paused {
        /// That run, if any.
        running: Option<i64>,
    },
    /// It would end before it begins: nothing is written.
    PauseOver,
    /// The job goes on.
    Resumed,
    /// This run has been asked to stop.
    Cancelling(i64),
    /// No run was under way; what had been asked for is withdrawn.
    Withdrawn,
    /// The backfill of so many runs stands in its row.
    Backfilling(u64),
    /// The span can't be run again.
    Refused(BackfillError),
    /// There was nothing to do: not paused, not running, or not that run; or a backfill of the job is
    /// under way already.
    Nothing,
}
