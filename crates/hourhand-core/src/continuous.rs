//! Continuous jobs: a body that should be running at all times, on exactly one node.
//!
//! Such a job has no occurrences, so nothing is ever handled, missed, too late or passed over. It is due whenever it has no run and
//! its backoff has passed. The backoff stands in the job's row (`not_before`, and in `attempts` the ends in a row that came too
//! soon), so that neither a restart nor another node forgets it.
//!
//! | the run | the next one |
//! | --- | --- |
//! | returned, failed or panicked, or was cancelled by a person | after the backoff: 1 s, doubling to 5 min; 1 s again after 10 min of running |
//! | was stopped by the shutdown of its process, or lost by its own node | at once, elsewhere |
//! | died without a word | at once; after a second death in a row 30 s later, doubling to 5 min |
//!
//! *Returned* is an end like any other: a body that should always be running has no business returning, and one that returns
//! at once would otherwise be started again as fast as the database answers. *Cancelled* means "start it anew": what is to stay
//! down is paused, which says who wants it, why, and until when; then its run is cancelled. The third death in a row makes health
//! bad, as with any job; but nothing is given up, because there is nothing that could wait for a successor.
//!
//! *Windows.* A run's window `[from, until)` is what was missed while no body ran: from what is covered to its start. What comes
//! later is the body's to follow; `advance` moves what is covered up to the present, and a run that succeeded has covered at least
//! its window. The next run's window begins there, and so leaves no gap.

use jiff::{SignedDuration, Timestamp};

use crate::backoff::Retry;
use crate::decision::Decision;
use crate::facts::Facts;
use crate::job::Definition;
use crate::outcome::{BodyEnd, Outcome, StopReason, Verdict, judge};

/// A run that lasted so long was no false start: the next backoff is the shortest.
const STEADY_AFTER: SignedDuration = SignedDuration::from_mins(10);
const BACKOFF: SignedDuration = SignedDuration::from_secs(1);
const BACKOFF_MAX: SignedDuration = SignedDuration::from_mins(5);
/// Deaths in a row from which on somebody should look at it.
const DEATHS_MAX: u32 = 3;

/// What is to be done about a continuous job at `now` (the server's time).
pub(crate) fn decide(facts: &Facts, now: Timestamp) -> Decision {
    match facts.not_before {
        // No instant is known at which that changes.
        _ if facts.paused => Decision::LookAgain,
        Some(until) if until > now => Decision::Later(until),
        Some(_) | None => Decision::Continuous,
    }
}

/// How the end of a continuous run is recorded. `attempt`: from 1, how many runs in a row this is that ended too soon, if it did.
/// `handled` says that the row's count of them begins anew, `counts` that it grows.
pub(crate) fn judge_run(
    end: BodyEnd,
    stopped: Option<StopReason>,
    job: &Definition,
    (attempt, lasted): (u32, SignedDuration),
) -> Verdict {
    let steady = lasted >= STEADY_AFTER;
    let retry = Retry::exponential(u32::MAX, BACKOFF, BACKOFF_MAX);
    let attempt = if steady { 1 } else { attempt };
    let verdict = judge(end, stopped, job.completes, attempt, &retry);
    let elsewhere = verdict.outcome == Outcome::Lost
        || (verdict.outcome == Outcome::Cancelled && stopped != Some(StopReason::Cancelled));
    if elsewhere {
        return verdict;
    }
    let own = retry.wait_after(attempt).unwrap_or(BACKOFF_MAX);
    // A failure may have asked for a wait of its own.
    let backoff = if verdict.backoff.is_zero() { own } else { verdict.backoff };
    Verdict { handled: steady, counts: !steady, backoff, ..verdict }
}

/// No body has been running for longer than `bound`, though it could.
pub(crate) fn overdue(facts: &Facts, now: Timestamp, bound: SignedDuration) -> bool {
    let ended = facts.not_before.max(facts.last_success_at).max(facts.counts_from).max(facts.resumed_at);
    // When a run was lost that nobody has put on record, nobody knows.
    let since = if facts.open_run().is_some() { facts.started_at } else { ended };
    let late = since.is_some_and(|since| now.duration_since(since) > bound);
    late && !facts.running && !facts.paused
}

/// Its processes die, one after another, and none has lasted since.
pub(crate) fn holders_die(facts: &Facts, now: Timestamp) -> bool {
    let steady = facts.running && facts.started_at.is_some_and(|started| now.duration_since(started) >= STEADY_AFTER);
    facts.deaths >= DEATHS_MAX && !steady
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_asks_for_a_wait_of_its_own_gets_it() {
        let name = crate::name::JobName::parse("tail").expect("a plain name");
        let key = crate::key::Key::of(None, &name);
        let job = Definition::new(name, key, crate::schedule::Schedule::continuous());
        let asked = SignedDuration::from_secs(45);
        let end = BodyEnd::Failed { error: "429".to_owned(), transient: true, retry_after: Some(asked) };
        let verdict = judge_run(end, None, &job, (3, SignedDuration::from_secs(5)));
        assert_eq!((verdict.backoff, verdict.handled, verdict.counts), (asked, false, true));
    }
}
