//! Bodies: they take a while, write in fenced transactions, fail, die, and heed the word to stop, or not.

use std::time::Duration;

use hourhand_core::outcome::{BodyEnd, StopReason};
use hourhand_core::protocol::Slot;

use crate::plan::JobModel;
use crate::random::Random;
use crate::server::Cause;
use crate::time::At;

/// What a continuous body takes, left alone: longer than any simulated time.
const ENDLESS: Duration = Duration::from_secs(1_000_000);

/// A body under way.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) process: usize,
    pub(crate) pid: i32,
    pub(crate) slot: Slot,
    pub(crate) job: usize,
    pub(crate) epoch: i64,
    pub(crate) nature: Nature,
    pub(crate) told: Option<StopReason>,
    pub(crate) aborted: bool,
    /// Its transaction under way.
    pub(crate) tx: Option<u64>,
    pub(crate) called_complete: bool,
    /// Its work is done; it ends when its transaction has.
    pub(crate) done: bool,
    /// Its lock is gone, and why.
    pub(crate) gone: Option<(At, Cause)>,
    /// Another body of the job runs beside it: it must have ended by then.
    pub(crate) must_end_by: Option<At>,
}

/// What a body is like.
#[derive(Clone, Debug)]
pub(crate) struct Nature {
    /// Without disturbance it takes as long.
    pub(crate) length: Duration,
    /// When it writes, if it does.
    pub(crate) writes_after: Option<Duration>,
    /// From the fence to the COMMIT.
    pub(crate) holds_row_for: Duration,
    pub(crate) completes: bool,
    pub(crate) fails: bool,
    /// Its process dies under it.
    pub(crate) dies_after: Option<Duration>,
    /// Ends only when it is aborted.
    pub(crate) deaf: bool,
    /// Not even then, but after as long.
    pub(crate) blocks_for: Option<Duration>,
}

/// The next thing that a body does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Begins its transaction.
    Write,
    /// Calls `fence` or `complete`.
    Fence,
    /// Says COMMIT.
    Commit,
    /// Its work is done.
    Done,
    /// Its process dies.
    Die,
    /// It ends like this, with whatever it has under way.
    End(BodyEnd),
}

impl Nature {
    /// A body of a job; in quiet times all of them are well-behaved.
    pub(crate) fn draw(job: &JobModel, (quiet, continuous): (bool, bool), random: &mut Random) -> Nature {
        let endless = quiet && continuous;
        let longest = if quiet { job.body_max.min(Duration::from_secs(3)) } else { job.body_max };
        let length = if endless { ENDLESS } else { random.between(Duration::from_millis(20), longest) };
        let writes = random.chance(700);
        let holds_long = !quiet && random.chance(60);
        let odd = |random: &mut Random, per_mille: u64| !quiet && random.chance(per_mille);
        Nature {
            length,
            writes_after: writes.then(|| random.between(Duration::ZERO, length)),
            holds_row_for: if holds_long { random.millis(50, 25_000) } else { random.millis(0, 4) },
            completes: writes && random.chance(job.completing),
            fails: odd(random, job.failing),
            dies_after: odd(random, job.poison).then(|| random.between(Duration::ZERO, length)),
            deaf: odd(random, job.deaf),
            blocks_for: odd(random, job.blocking).then(|| random.millis(500, 90_000)),
        }
    }
}

impl Body {
    /// Ended of its own accord.
    pub(crate) fn end(&self, random: &mut Random) -> BodyEnd {
        if self.nature.fails && !self.called_complete {
            let transient = random.chance(500);
            return BodyEnd::Failed { error: "no luck".to_owned(), transient, retry_after: None };
        }
        BodyEnd::Returned { completing: self.called_complete }
    }
}
