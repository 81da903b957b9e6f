//! What a job is: its name, its schedule, its policies.

use jiff::SignedDuration;

use crate::backoff::Retry;
use crate::key::Key;
use crate::name::JobName;
use crate::schedule::Schedule;

/// The definition of a job, as a node holds it. What its body does is not known here.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Unique within a schema.
    pub name: JobName,
    /// The lock's key.
    pub key: Key,
    /// When it is due.
    pub schedule: Schedule,
    /// How late after its instant an occurrence starts at most, the same for every occurrence of the job; `scheduled_for` stays.
    pub jitter: SignedDuration,
    /// How far a window reaches back behind what is covered.
    pub lookback: SignedDuration,
    /// How far before its registration the first window begins.
    pub initial_window: SignedDuration,
    /// How long a body may run; `None` for no limit.
    pub timeout: Option<SignedDuration>,
    /// How long a body that was told to stop may take.
    pub stop_grace: SignedDuration,
    /// What becomes of an occurrence whose run failed.
    pub retry: Retry,
    /// Only a committed `complete` counts as success.
    pub completes: bool,
}

impl Definition {
    /// A job with every policy at its default.
    pub fn new(name: JobName, key: Key, schedule: Schedule) -> Definition {
        Definition {
            name,
            key,
            schedule,
            jitter: SignedDuration::ZERO,
            lookback: SignedDuration::ZERO,
            initial_window: SignedDuration::ZERO,
            timeout: Some(SignedDuration::from_hours(1)),
            stop_grace: SignedDuration::from_secs(10),
            retry: Retry::none(),
            completes: false,
        }
    }

    /// How long after its instant each of the job's occurrences starts: a stable share of the jitter, by its key.
    pub fn delay(&self) -> SignedDuration {
        let share = crate::backoff::fraction(self.key.0 as u64);
        SignedDuration::try_from_secs_f64(self.jitter.as_secs_f64() * share).unwrap_or(SignedDuration::ZERO)
    }
}
