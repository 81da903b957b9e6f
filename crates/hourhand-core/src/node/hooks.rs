//! What hooks are told: once in the fleet, by the node that put it on record.
//!
//! A failure and a recovery are told by the node whose statement recorded the end. How many failures came before stands in the
//! job's row, and was read by the look that the start rests on. An occurrence that waits too long is noted in a row of its own; the node whose
//! statement was first tells. A node that is up is awake for every occurrence that waits, so there is one, unless no process runs.

use std::time::Duration;

use jiff::SignedDuration;

use super::index::Mark;
use super::life::{Job, Life, Waiting};
use super::{Node, Now};
use crate::facts::Facts;
use crate::outcome::Outcome;
use crate::protocol::{Action, End, Happened, Question, Slot, What};
use crate::time::Mono;

impl Job {
    /// The occurrence that waits has waited too long by now, and was not looked at since.
    pub(super) fn is_late_since_look(&self, now: Mono) -> bool {
        self.waiting
            .as_ref()
            .is_some_and(|waiting| !waiting.told && waiting.late_at <= now && self.looked_at < waiting.late_at)
    }
}

impl Node {
    /// The end of a run is on record.
    pub(super) fn tell_end(&mut self, end: &End, outcome: &str) {
        let job = self.job(end.slot);
        let ending = match &job.life {
            Life::Ending(ending) if ending.epoch == end.epoch => Some(&**ending),
            _ => job.unrecorded.as_deref().filter(|ending| ending.epoch == end.epoch),
        };
        let Some((occurrence, before)) = ending.map(|ending| (ending.occurrence, ending.failures)) else { return };
        let tells_success = job.definition.tells_success;
        let failed = Outcome::parse(outcome).is_some_and(Outcome::is_failure);
        let succeeded = Outcome::parse(outcome) == Some(Outcome::Succeeded);
        let told = |what, failures| Happened {
            what,
            epoch: Some(end.epoch),
            outcome: Some(outcome.to_owned()),
            error: end.verdict.error.clone().filter(|_| failed),
            transient: failed && end.verdict.transient,
            occurrence,
            failures,
            retried: failed && !end.verdict.handled,
        };
        let all = [
            failed.then(|| told(What::Failure, before + 1)),
            (succeeded && before > 0).then(|| told(What::Recovery, before)),
            (succeeded && tells_success).then(|| told(What::Success, before)),
        ];
        for happened in all.into_iter().flatten() {
            self.act(Action::Tell(end.slot, happened));
        }
    }

    /// The holders of an occurrence died so often that it is handled as failed.
    pub(super) fn tell_gave_up(&mut self, slot: Slot, epoch: i64, deaths: u32) {
        let facts = self.job(slot).facts.as_ref();
        let happened = Happened {
            what: What::Failure,
            epoch: Some(epoch),
            outcome: Some(Outcome::Failed.as_str().to_owned()),
            error: Some(format!("holder died {deaths} times")),
            transient: false,
            occurrence: facts.and_then(|facts| facts.scheduled_for),
            failures: facts.map_or(0, |facts| facts.failures) + 1,
            retried: false,
        };
        self.act(Action::Tell(slot, happened));
    }

    /// Takes note of the oldest occurrence that waits, as a look shows it, and of when that has been too long.
    pub(super) fn note_waiting(&mut self, now: Now, slot: Slot, facts: &Facts) {
        let job = self.job(slot);
        if !job.definition.tells_late {
            return;
        }
        let known = job.waiting.as_deref().copied();
        let waiting = (!facts.paused && !facts.running && job.going().is_none())
            .then(|| self.waiting(now, slot, facts))
            .flatten()
            .map(|fresh| known.filter(|known| known.occurrence == fresh.occurrence && known.told).unwrap_or(fresh));
        self.job_mut(slot).waiting = waiting.map(Box::new);
    }

    fn waiting(&self, now: Now, slot: Slot, facts: &Facts) -> Option<Waiting> {
        let definition = super::deploys::registered(self.job(slot), facts);
        let server = self.clock.estimate(now)?;
        let occurrence = definition.schedule.next_after(facts.floor()).filter(|occurrence| *occurrence <= server)?;
        let bound = self.overdue_bound(facts).saturating_add(definition.delay());
        let left = bound.saturating_sub(server.duration_since(occurrence)).max(SignedDuration::ZERO);
        let late_at = now.mono + Duration::try_from(left).ok()?;
        Some(Waiting { occurrence, late_at, told: false })
    }

    /// What has waited too long, and was still waiting when it was looked at after that.
    pub(super) fn tell_late(&self, now: Mono) -> Option<Question> {
        let late = self.index.all(Mark::Waiting).filter_map(|slot| {
            let job = self.job(slot);
            let waiting = job.waiting.as_ref().filter(|waiting| !waiting.told && waiting.late_at <= now)?;
            (job.looked_at >= waiting.late_at).then_some((slot, waiting.occurrence))
        });
        let late: Vec<_> = late.collect();
        (!late.is_empty()).then_some(Question::Late(late))
    }

    pub(super) fn told_late(&mut self, asked: Vec<(Slot, jiff::Timestamp)>, first: Vec<bool>) {
        let first = first.into_iter().chain(std::iter::repeat(false));
        for ((slot, occurrence), first) in asked.into_iter().zip(first) {
            if let Some(waiting) = &mut self.job_mut(slot).waiting {
                waiting.told |= waiting.occurrence == occurrence;
            }
            if first {
                let failures = self.job(slot).facts.as_ref().map_or(0, |facts| facts.failures);
                let happened = Happened {
                    what: What::Late,
                    epoch: None,
                    outcome: None,
                    error: None,
                    transient: false,
                    occurrence: Some(occurrence),
                    failures,
                    retried: false,
                };
                self.act(Action::Tell(slot, happened));
            }
        }
    }
}
