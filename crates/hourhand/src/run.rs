//! A run: what a body is told, and what it can say.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hourhand_core::outcome::Trigger;
use hourhand_core::protocol::Started;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use crate::pg::Schema;
use crate::written::Written;

/// One execution of a job's body.
///
/// It was started under the job's lock. The lock can be lost while the body works (the network fails, the process freezes), and
/// then another node starts the next run. What this run writes to the database stays out of that one's way if it is *fenced*:
/// write in a transaction of your own, call [`Run::fence`] last, and commit, or let [`Run::commit`] do both.
///
/// Hold no transaction open while waiting for the outside world.
#[derive(Clone)]
pub struct Run(Arc<Inner>);

struct Inner {
    job: String,
    schema: Schema,
    scheduled_for: Option<Timestamp>,
    trigger: Trigger,
    started: Started,
    trust: watch::Receiver<Trust>,
    cancelled: CancellationToken,
    written: Mutex<Written>,
    /// The body called `complete`.
    completing: AtomicBool,
}

/// The half-open span `[from, until)` of outside data that a run has to cover.
///
/// Consecutive successes leave no gap. After a failure the next window covers the same span again, and what came since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Window {
    /// Inclusive: what is covered so far, less the job's lookback.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
    pub from: Timestamp,
    /// Exclusive: the server's time at the start of the run, or less, where the window is bounded (`window_max`) or later occurrences
    /// have the rest (`catch_up` all, a backfill).
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
    pub until: Timestamp,
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.from, self.until)
    }
}

/// Until when a run may believe in its lock: see [`Run::trust`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trust {
    /// As the machine's own clock shows it, which every process can read: `CLOCK_BOOTTIME`, elsewhere than on Linux
    /// `CLOCK_MONOTONIC`.
    pub until: Duration,
    /// How soon after that the run's work must have ended; ttl/5. Later, another node may be at it.
    pub stop_within: Duration,
}

/// What a start makes known.
pub(crate) struct Beginning {
    pub(crate) scheduled_for: Option<Timestamp>,
    pub(crate) trigger: Trigger,
    pub(crate) started: Started,
}

impl Run {
    pub(crate) fn new(job: String, schema: Schema, beginning: Beginning, trust: watch::Receiver<Trust>) -> Run {
        let Beginning { scheduled_for, trigger, started } = beginning;
        let (cancelled, written) = (CancellationToken::new(), Mutex::default());
        let completing = AtomicBool::new(false);
        Run(Arc::new(Inner { job, schema, scheduled_for, trigger, started, trust, cancelled, written, completing }))
    }

    /// The job's name.
    pub fn job(&self) -> &str {
        &self.0.job
    }

    /// The fencing token: higher with every run of the job that starts, never used twice.
    pub fn epoch(&self) -> i64 {
        self.0.started.epoch
    }

    /// The occurrence this run is for; `None` when somebody asked for it by hand.
    pub fn scheduled_for(&self) -> Option<Timestamp> {
        self.0.scheduled_for
    }

    /// Why it runs.
    pub fn trigger(&self) -> Trigger {
        self.0.trigger
    }

    /// Which attempt at its occurrence this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.started.attempt
    }

    /// How many holders of this occurrence have died before; 0: none.
    pub fn takeover(&self) -> u32 {
        self.0.started.takeover
    }

    /// The span of outside data to cover.
    pub fn window(&self) -> Window {
        Window { from: self.0.started.window_from, until: self.0.started.window_until }
    }

    /// When it started, by the server's clock.
    pub fn started_at(&self) -> Timestamp {
        self.0.started.started_at
    }

    /// Waits until the run is told to stop: shutdown, a lost lock, a timeout, a person. After the grace its task is aborted.
    ///
    /// A body that returns after that, even without an error, has not succeeded, unless it has committed
    /// [`complete`](Run::complete): half a work must not count as the whole.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.0.cancelled.cancelled()
    }

    /// Whether the run has been told to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_cancelled()
    }

    /// The token that tells the run to stop, for what takes one.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.0.cancelled.clone()
    }

    /// Until when this run may believe in its lock; moved on by each answered ping, and brought to its end, once for all, when the
    /// lock is lost.
    ///
    /// A body in this process needs none of it: it is told to stop. It is for work that the body has handed to *another* process,
    /// which has to end by itself when this one is killed, frozen or cut off from the database, and can only know when by being
    /// told beforehand. The command `hourhand` hands it to the guardian of each command.
    pub fn trust(&self) -> watch::Receiver<Trust> {
        self.0.trust.clone()
    }

    /// Adds a line to the output that history keeps: 64 KiB in all, of a longer one its beginning and its end. While the run is under
    /// way, [`Scheduler::output`](crate::Scheduler::output) has what it has written so far.
    pub fn output(&self, line: impl fmt::Display) {
        // Made into text before the lock is taken: its `Display` may be anybody's.
        let line = format!("{line}\n");
        self.0.written.lock().unwrap_or_else(PoisonError::into_inner).add(&line);
    }

    /// What it has written so far.
    pub(crate) fn written(&self) -> Option<String> {
        self.0.written.lock().unwrap_or_else(PoisonError::into_inner).text()
    }

    /// From now on only a committed `complete` counts as success.
    #[cfg(any(feature = "sqlx", feature = "tokio-postgres"))]
    pub(crate) fn begin_completing(&self) {
        self.0.completing.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_completing(&self) -> bool {
        self.0.completing.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.0.cancelled.cancel();
    }

    #[cfg(any(feature = "sqlx", feature = "tokio-postgres"))]
    pub(crate) fn schema(&self) -> &Schema {
        &self.0.schema
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        f.debug_struct("Run")
            .field("job", &inner.job)
            .field("epoch", &inner.started.epoch)
            .field("scheduled_for", &inner.scheduled_for)
            .field("trigger", &inner.trigger)
            .finish_non_exhaustive()
    }
}
