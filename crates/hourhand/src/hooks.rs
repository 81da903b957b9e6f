//! What a program is told of its jobs, and asked about them.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use hourhand_core::outcome::Outcome;
use hourhand_core::protocol::{Happened, What};
use jiff::Timestamp;

pub(crate) type Hook = Arc<dyn Fn(JobEvent) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;
pub(crate) type Condition = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// The hooks of a job, and its condition.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) success: Option<Hook>,
    pub(crate) failure: Option<Hook>,
    pub(crate) recovery: Option<Hook>,
    pub(crate) late: Option<Hook>,
    pub(crate) condition: Option<Condition>,
}

impl Hooks {
    /// It has one.
    pub(crate) fn any(&self) -> bool {
        let all = [&self.success, &self.failure, &self.recovery, &self.late];
        all.into_iter().any(Option::is_some) || self.condition.is_some()
    }

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

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}
