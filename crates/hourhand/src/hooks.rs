//! What a job lets its program know, and asks it: hooks, and its own condition for running.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use hourhand_core::outcome::Outcome;
use hourhand_core::protocol::{Happened, What};
use jiff::Timestamp;

use crate::job::Job;

pub(crate) type Hook = Arc<dyn Fn(JobEvent) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;
pub(crate) type Condition = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// The hooks of a job, and its condition.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) success: Option<Hook>,
    failure: Option<Hook>,
    recovery: Option<Hook>,
    pub(crate) late: Option<Hook>,
    pub(crate) condition: Option<Condition>,
}

impl Hooks {
    pub(crate) fn of(&self, what: What) -> Option<&Hook> {
        match what {
            What::Success => self.success.as_ref(),
            What::Failure => self.failure.as_ref(),
            What::Recovery => self.recovery.as_ref(),
            What::Late => self.late.as_ref(),
        }
    }
}

/// What a hook of a job is told.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JobEvent {
    /// The job's name.
    pub job: String,
    /// The run's fencing token; none where an occurrence waits for a run.
    pub epoch: Option<i64>,
    /// How the run ended.
    pub outcome: Option<Outcome>,
    /// Its message.
    pub error: Option<String>,
    /// An outage that was to be expected: [`Failure::transient`](crate::Failure::transient).
    pub transient: bool,
    /// The occurrence that the run was for, or that waits; none for a run by hand.
    pub scheduled_for: Option<Timestamp>,
    /// Failed runs in a row: with this one, or before the success that ended them.
    pub failures: u32,
    /// The occurrence will be tried again, by the job's `retry`.
    pub retried: bool,
}

impl JobEvent {
    pub(crate) fn new(job: String, happened: Happened) -> JobEvent {
        let Happened { what: _, epoch, outcome, error, transient, occurrence, failures, retried } = happened;
        let outcome = outcome.as_deref().and_then(Outcome::parse);
        JobEvent { job, epoch, outcome, error, transient, scheduled_for: occurrence, failures, retried }
    }
}

/// Hooks: each event is told once in the whole fleet, by the node that put it on record, to that node's hook. A hook is called on the service's
/// runtime, beside the scheduler: it has 10 s and is then dropped, and a panic is caught; either is said once. What a
/// process is told is lost if it dies at that moment: history is the record, a hook is a call.
impl Job {
    /// Called for each run that succeeded: for a dead man's switch, which raises the alarm when it is not pinged.
    pub fn on_success<F, Fut>(mut self, hook: F) -> Job
    where
        F: Fn(JobEvent) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.success = Some(boxed(hook));
        self
    }

    /// Called for each run that failed, panicked or took too long, also if it will be tried again
    /// ([`JobEvent::retried`]), and for an occurrence that was given up because its holders died.
    pub fn on_failure<F, Fut>(mut self, hook: F) -> Job
    where
        F: Fn(JobEvent) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.failure = Some(boxed(hook));
        self
    }

    /// Called for the first success after failures.
    pub fn on_recovery<F, Fut>(mut self, hook: F) -> Job
    where
        F: Fn(JobEvent) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.recovery = Some(boxed(hook));
        self
    }

    /// Called when an occurrence is overdue: due, not handled, not running, not paused, and older than a minute or, if that is
    /// more, start delay, jitter and twice ttl together. Told once for the oldest that waits, by a node that is awake for it;
    /// if no process was up, by the first one that comes back.
    pub fn on_late<F, Fut>(mut self, hook: F) -> Job
    where
        F: Fn(JobEvent) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.late = Some(boxed(hook));
        self
    }

    /// This process runs the job only while `condition` holds: asked when an occurrence is due, before the job's lock is tried. It
    /// should answer at once; after 5 s, or if it panics, it counts as not holding.
    ///
    /// If it does not hold, other processes run the job. If it holds nowhere, the occurrence stays due: each process asks again
    /// about every half minute, [`status`](crate::Scheduler::status) and health show it as overdue, and when it finally
    /// runs (or a newer occurrence does in its place) history says so. Runs asked for by hand are not asked about.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::sync::atomic::{AtomicBool, Ordering};
    /// # use hourhand::{Failure, Job, Schedule};
    /// let warm = Arc::new(AtomicBool::new(false));
    /// let job = Job::new("report", Schedule::hourly(), async |_| Ok::<_, Failure>(()))
    ///     .only_if(move || std::future::ready(warm.load(Ordering::Relaxed)));
    /// ```
    pub fn only_if<F, Fut>(mut self, condition: F) -> Job
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = bool> + Send + 'static,
    {
        self.hooks.condition = Some(Arc::new(move || Box::pin(condition())));
        self
    }
}

fn boxed<F, Fut>(hook: F) -> Hook
where
    F: Fn(JobEvent) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |event| Box::pin(hook(event)))
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}
