//! What a job lets its program know, and asks it: hooks, and its own condition for running.

use std::sync::Arc;

use super::Job;
use crate::hooks::{Hook, JobEvent};

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
    /// ([`JobEvent::retried`]), and for an occurrence that was given up because its holders died. Not for a run that was lost: its
    /// occurrence runs again, and one that was asked for by hand says so to whoever waits for it.
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
    /// runs (or a newer occurrence does in its place) history says so. Once a period one of the processes puts on record that somebody has the
    /// job, so that it does not seem to be given up. Runs asked for by hand are not asked about.
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
