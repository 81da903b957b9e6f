//! Is the job due, and what was missed.
//!
//! The *current* occurrence is the newest one at or before now. With catch-up `latest` it is the only one that can be due:
//! older ones that nobody ran are passed over, counted, and recorded as one skip by the start of the current one. Nothing here
//! lists occurrences one by one.

use jiff::{SignedDuration, Timestamp};

use crate::facts::Facts;
use crate::job::Definition;
use crate::outcome::Trigger;

/// An occurrence that could have been started longer ago than this was caught up.
const CATCH_UP_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// An occurrence that needs a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The instant at which the job is due.
    pub occurrence: Timestamp,
    /// What the run will be called.
    pub trigger: Trigger,
    /// Older occurrences that this one replaces and that nobody has counted yet.
    pub skipped: u64,
    /// The newest of them.
    pub skipped_for: Option<Timestamp>,
}

/// What is to be done about a job at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// An occurrence needs a run.
    Due(Due),
    /// An occurrence needs a run, but not before then.
    Later(Timestamp),
    /// Nothing to run before then; `None`: never again.
    NotYet(Option<Timestamp>),
}

/// Decides by the facts of a look what is to be done at `now` (the server's time).
pub fn decide(job: &Definition, facts: &Facts, now: Timestamp) -> Decision {
    let asked = now.checked_sub(job.delay()).unwrap_or(now);
    let floor = facts.floor();
    let current = job.schedule.previous_at_or_before(asked).filter(|occurrence| *occurrence > floor);
    let Some(occurrence) = current.filter(|_| !facts.paused) else {
        return Decision::NotYet(next_start(job, asked.max(floor)));
    };
    let waits = facts.deaths > 0 || facts.open_for == Some(occurrence);
    if let Some(until) = facts.not_before.filter(|until| waits && *until > now) {
        // A newer occurrence replaces the one that waits for a retry, with fresh attempts. Deaths are waited out in any case.
        let newer = next_start(job, asked).filter(|_| facts.deaths == 0);
        return Decision::Later(newer.map_or(until, |newer| newer.min(until)));
    }
    let (skipped, skipped_for) = passed_over(job, facts, occurrence);
    Decision::Due(Due { occurrence, trigger: trigger(facts, occurrence, asked), skipped, skipped_for })
}

/// The start of the next occurrence after `instant`, with the job's delay.
fn next_start(job: &Definition, instant: Timestamp) -> Option<Timestamp> {
    job.schedule.next_after(instant)?.checked_add(job.delay()).ok()
}

/// How many occurrences this one replaces. Those before the open one were counted when it was opened.
fn passed_over(job: &Definition, facts: &Facts, occurrence: Timestamp) -> (u64, Option<Timestamp>) {
    if facts.open_for == Some(occurrence) {
        return (0, None);
    }
    let just_before = occurrence - SignedDuration::from_nanos(1);
    let newest = job.schedule.previous_at_or_before(just_before);
    let counted = match facts.open_for {
        Some(open) if open > facts.floor() => open - SignedDuration::from_nanos(1),
        Some(_) | None => facts.floor(),
    };
    match newest.filter(|newest| *newest > counted) {
        Some(newest) => (job.schedule.count_between(counted, newest), Some(newest)),
        None => (0, None),
    }
}

/// A take-over keeps the trigger of the lost run. `asked` is now, less the job's delay: its jitter makes no run a late one.
fn trigger(facts: &Facts, occurrence: Timestamp, asked: Timestamp) -> Trigger {
    let again = facts.open_for == Some(occurrence);
    match facts.trigger.filter(|_| facts.scheduled_for == Some(occurrence)) {
        _ if again && facts.attempts > 0 => Trigger::Retry,
        Some(lost) if again => lost,
        _ if asked.duration_since(occurrence) > CATCH_UP_AFTER => Trigger::CatchUp,
        _ => Trigger::Schedule,
    }
}

/// The occurrences that came due during a run for `occurrence` that ended at `now`: skipped because of the overlap.
pub fn overlapped(job: &Definition, occurrence: Timestamp, now: Timestamp) -> (u64, Option<Timestamp>) {
    let asked = now.checked_sub(job.delay()).unwrap_or(now);
    match job.schedule.previous_at_or_before(asked).filter(|newest| *newest > occurrence) {
        Some(newest) => (job.schedule.count_between(occurrence, newest), Some(newest)),
        None => (0, None),
    }
}

/// Whether an occurrence has waited so long that somebody should be told: due, not handled, not running, not paused, and older
/// than `bound`.
pub fn overdue(job: &Definition, facts: &Facts, now: Timestamp, bound: SignedDuration) -> bool {
    let oldest = now.checked_sub(bound + job.delay()).unwrap_or(now);
    let due = job.schedule.previous_at_or_before(oldest).is_some_and(|occurrence| occurrence > facts.floor());
    due && !facts.running && !facts.paused
}
