//! Is the job due, and what was missed.
//!
//! The *current* occurrence is the newest one at or before now. With catch-up `latest` it is the only one that can be due:
//! older ones that nobody ran are passed over, counted, and recorded as one skip by the start of the current one. Nothing here
//! lists occurrences one by one.

use jiff::{SignedDuration, Timestamp};

use crate::continuous;
pub use crate::decision::{Decision, Due, Skip, SkipReason};
use crate::facts::Facts;
use crate::job::{CatchUp, Definition, Overlap};
use crate::outcome::Trigger;

/// An occurrence that could have been started longer ago than this was caught up.
const CATCH_UP_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// Decides by the facts of a look what is to be done at `now` (the server's time).
pub fn decide(job: &Definition, facts: &Facts, now: Timestamp) -> Decision {
    if job.schedule.is_continuous() {
        return continuous::decide(facts, now);
    }
    let asked = now.checked_sub(job.delay()).unwrap_or(now);
    let floor = facts.floor();
    if facts.paused {
        return Decision::NotYet(next_start(job, asked.max(floor)));
    }
    if let Some(paused) = passed_over_in_pause(job, facts) {
        return Decision::PassOver(paused);
    }
    let Some(newest) = job.schedule.previous_at_or_before(asked).filter(|newest| *newest > floor) else {
        return if facts.window_behind {
            Decision::FollowUp
        } else {
            Decision::NotYet(next_start(job, asked.max(floor)))
        };
    };
    let candidate = candidate(job, floor, newest, asked);
    let Some(occurrence) = candidate.filter(|occurrence| !too_late(job, facts, *occurrence, asked)) else {
        let last = candidate.unwrap_or(newest);
        let skip = uncounted(job, facts, last).map(|skip| Skip { reason: SkipReason::TooLate, ..skip });
        return skip.map_or(Decision::NotYet(next_start(job, last)), Decision::PassOver);
    };
    // What a continuous job of that name has to wait for is not the occurrence's.
    let dead = facts.deaths > 0 && facts.trigger != Some(Trigger::Continuous);
    let waits = dead || facts.open_for == Some(occurrence);
    if let Some(until) = facts.not_before.filter(|until| waits && *until > now) {
        // A newer occurrence replaces the one that waits for a retry, with fresh attempts. Deaths are waited out in any case.
        let replaces = facts.deaths == 0 && !matches!(job.catch_up, CatchUp::All(_));
        let newer = next_start(job, asked).filter(|_| replaces);
        return Decision::Later(newer.map_or(until, |newer| newer.min(until)));
    }
    let window_end = job.schedule.next_after(occurrence).filter(|next| *next <= newest);
    let skip = if facts.open_for == Some(occurrence) { None } else { uncounted(job, facts, just_before(occurrence)) };
    Decision::Due(Due { occurrence, trigger: trigger(facts, occurrence, asked), skip, window_end })
}

/// The occurrence whose turn it is; `None`: all there are, are too old.
fn candidate(job: &Definition, floor: Timestamp, newest: Timestamp, asked: Timestamp) -> Option<Timestamp> {
    let most = match job.catch_up {
        CatchUp::Latest | CatchUp::None => 1,
        CatchUp::All(most) => most.max(1) as usize,
    };
    let window = job.catch_up_window.unwrap_or_else(|| default_window(job, newest));
    let oldest = asked.checked_sub(window).unwrap_or(Timestamp::MIN);
    let missed = job.schedule.occurrences_until(newest).take(most);
    missed.take_while(|occurrence| *occurrence > floor && *occurrence >= oldest).last()
}

fn default_window(job: &Definition, at: Timestamp) -> SignedDuration {
    job.schedule.period_at(at).unwrap_or(SignedDuration::ZERO).max(SignedDuration::from_hours(24))
}

/// A first start that would come too late, by the job's deadline or because nothing is caught up. A retry or a take-over began in
/// time; only the deadline holds for it.
fn too_late(job: &Definition, facts: &Facts, occurrence: Timestamp, asked: Timestamp) -> bool {
    let late = asked.duration_since(occurrence);
    let begun = facts.open_for == Some(occurrence);
    job.deadline.is_some_and(|deadline| late > deadline)
        || (job.catch_up == CatchUp::None && late > CATCH_UP_AFTER && !begun)
}

/// The start of the next occurrence after `instant`, with the job's delay.
pub(crate) fn next_start(job: &Definition, instant: Timestamp) -> Option<Timestamp> {
    job.schedule.next_after(instant)?.checked_add(job.delay()).ok()
}

fn just_before(occurrence: Timestamp) -> Timestamp {
    occurrence - SignedDuration::from_nanos(1)
}

/// The occurrences up to `last` that are not handled, and that nobody has counted yet: those before the open one were counted when
/// it was opened.
fn uncounted(job: &Definition, facts: &Facts, last: Timestamp) -> Option<Skip> {
    let counted = match facts.open_for {
        Some(open) if open > facts.floor() => just_before(open),
        Some(_) | None => facts.floor(),
    };
    between(job, counted, last, SkipReason::Coalesced)
}

/// What came due while the job was paused, as long as nobody has put it on record.
fn passed_over_in_pause(job: &Definition, facts: &Facts) -> Option<Skip> {
    let handled = facts.counts_from.map_or(facts.handled_until, |from| from.max(facts.handled_until));
    between(job, handled, facts.resumed_at?, SkipReason::Paused)
}

/// The occurrences after one instant, up to another.
fn between(job: &Definition, after: Timestamp, until: Timestamp, reason: SkipReason) -> Option<Skip> {
    let newest = job.schedule.previous_at_or_before(until).filter(|newest| *newest > after)?;
    Some(Skip { reason, count: job.schedule.count_between(after, newest), newest })
}

/// A take-over keeps the trigger of the lost run. `asked` is now, less the job's delay: its jitter makes no run a late one.
fn trigger(facts: &Facts, occurrence: Timestamp, asked: Timestamp) -> Trigger {
    let again = facts.open_for == Some(occurrence);
    let newest = facts.trigger.filter(|trigger| trigger.is_by_schedule() && facts.scheduled_for == Some(occurrence));
    match newest {
        _ if again && facts.attempts > 0 => Trigger::Retry,
        Some(lost) if again => lost,
        _ if asked.duration_since(occurrence) > CATCH_UP_AFTER => Trigger::CatchUp,
        _ => Trigger::Schedule,
    }
}

/// The occurrences that came due during a run for `occurrence` that ended at `now`, and are passed over because of the overlap.
pub fn overlapped(job: &Definition, occurrence: Timestamp, now: Timestamp) -> Option<Skip> {
    let asked = now.checked_sub(job.delay()).unwrap_or(now);
    let meanwhile = between(job, occurrence, asked, SkipReason::Overlap)?;
    match (job.catch_up, job.overlap) {
        // What came due is caught up like what was missed.
        (CatchUp::All(_), _) => None,
        (CatchUp::Latest | CatchUp::None, Overlap::Skip) => Some(meanwhile),
        (CatchUp::Latest | CatchUp::None, Overlap::BufferOne) => {
            between(job, occurrence, just_before(meanwhile.newest), SkipReason::Overlap)
        }
    }
}

/// Whether an occurrence has waited so long that somebody should be told: due, not handled, not running, not paused, and older
/// than `bound`; if it waits for its retry, that much older than the retry's instant. A continuous job: not running for longer than
/// that, though its backoff has passed.
pub fn overdue(job: &Definition, facts: &Facts, now: Timestamp, bound: SignedDuration) -> bool {
    if facts.renamed.is_some() {
        return false;
    }
    if job.schedule.is_continuous() {
        return continuous::overdue(facts, now, bound);
    }
    let oldest = now.checked_sub(bound + job.delay()).unwrap_or(now);
    let due = job.schedule.previous_at_or_before(oldest).filter(|occurrence| *occurrence > facts.floor());
    due.is_some_and(|newest| !waits_for_retry(job, facts, newest, oldest)) && !facts.running && !facts.paused
}

/// Whether `newest` is not run because its retry's instant, or that of one before it, was not yet reached at `then`.
fn waits_for_retry(job: &Definition, facts: &Facts, newest: Timestamp, then: Timestamp) -> bool {
    let in_turn = matches!(job.catch_up, CatchUp::All(_));
    // A newer occurrence doesn't wait for an older one's retry, but for the backoff after deaths.
    let applies = facts.deaths > 0 || facts.open_for.is_some_and(|open| open >= newest || in_turn);
    applies && facts.not_before.is_some_and(|until| until > then)
}

/// Whether a job seems to have been given up: overdue, and neither registered anew, nor started, nor run, nor known to any node for
/// two periods of its schedule. Such a job is shown, not run, and not deleted by itself.
pub fn orphaned(
    job: &Definition,
    facts: &Facts,
    registered_at: Timestamp,
    now: Timestamp,
    bound: SignedDuration,
) -> bool {
    overdue(job, facts, now, bound) && forsaken(job, facts, registered_at, now)
}

/// Whether nobody has registered, started, run or known the job for two periods of its schedule.
pub fn forsaken(job: &Definition, facts: &Facts, registered_at: Timestamp, now: Timestamp) -> bool {
    silent_for(job, facts, Some(registered_at), now).is_some_and(|(silent, period)| silent > period + period)
}

/// Whether a node that has the job should put that on record: it is overdue, and nothing there has told of it for a period. So
/// what waits for a node's own reasons is never taken for given up, and one note a period does for the whole fleet.
pub fn wants_note(job: &Definition, facts: &Facts, now: Timestamp, bound: SignedDuration) -> bool {
    silent_for(job, facts, facts.counts_from, now).is_some_and(|(silent, period)| silent > period)
        && overdue(job, facts, now, bound)
}

/// For how long nothing has told that anybody has the job, and its period: nodes that wait look again within a minute, so shorter
/// ones don't matter here; without occurrences an hour has to do.
fn silent_for(
    job: &Definition,
    facts: &Facts,
    registered_at: Option<Timestamp>,
    now: Timestamp,
) -> Option<(SignedDuration, SignedDuration)> {
    let hour = || job.schedule.is_continuous().then_some(SignedDuration::from_hours(1));
    let last = [registered_at, facts.started_at, facts.last_success_at, facts.known_at].into_iter().flatten().max()?;
    let period = job.schedule.period_at(now).or_else(hour)?.max(SignedDuration::from_mins(1));
    Some((now.duration_since(last), period))
}

/// When the nodes at rest visit the database for this job at the latest: at its next occurrence.
pub fn next_visit(job: &Definition, now: Timestamp) -> Option<Timestamp> {
    next_start(job, now.checked_sub(job.delay()).unwrap_or(now))
}

/// Whether what is handled lies more than a period of the schedule ahead: then the server's clock went back, and the job stands still
/// until it has come that far again.
pub fn lies_ahead(job: &Definition, facts: &Facts, now: Timestamp) -> bool {
    // Most jobs end here, without a look into the calendar.
    facts.handled_until > now
        && job.schedule.period_at(now).is_some_and(|period| facts.handled_until.duration_since(now) > period)
}
