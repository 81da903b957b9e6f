//! What people are told.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Obstacle, Slot, Trouble};
use crate::occurrence::Skip;
use crate::outcome::Trigger;

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
    /// Another definition was registered after this node's: it runs the job no more, while that one's occurrences are run.
    StoodDown(Slot),
    /// This node runs the job again. `overdue`: nobody ran the other definition, and this one is registered in its place.
    StoodUp {
        /// The job.
        slot: Slot,
        /// Whether so; else its definition was registered by another process.
        overdue: bool,
    },
    /// The job went on under another name, and nobody runs it there: this node runs it again under its own.
    TakenBack {
        /// The job.
        slot: Slot,
        /// The other name.
        from: String,
    },
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
    /// Occurrences are passed over without a run.
    PassedOver {
        /// Their job.
        slot: Slot,
        /// Which, and why.
        skip: Skip,
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
    /// A run of a job that this node does not have ended without a word, and this node has put that on record.
    RunLost {
        /// The job's name.
        job: String,
        /// The lost run.
        epoch: i64,
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
    /// A run takes longer than its job's `warn_after`.
    RunTakesLong {
        /// The job.
        slot: Slot,
        /// The run.
        epoch: i64,
        /// How long that is.
        after: SignedDuration,
    },
    /// The process's own condition for running the job does not hold: it is left to others. Once an occurrence.
    Declined(Slot),
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
