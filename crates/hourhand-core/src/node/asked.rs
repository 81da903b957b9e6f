//! Runs that start only when asked: by a program that is started when there is something to do, instead of being there all the time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::life::{Intent, Life, Wish};
use super::{Node, Now};
use crate::facts::Facts;
use crate::job::Definition;
use crate::occurrence::{Decision, decide};
use crate::outcome::Verdict;
use crate::protocol::{Action, Notice, Slot, Started, Ticket, TriggerAnswer};
use crate::time::Mono;

/// Whether the current occurrence needs a run. Older ones were promised to nobody: they are neither run nor counted.
pub(super) fn decide_when_asked(job: &Definition, facts: &Facts, now: Timestamp) -> Decision {
    let current = job.schedule.previous_at_or_before(now);
    let before = current.and_then(|current| current.checked_sub(SignedDuration::from_nanos(1)).ok());
    let handled_until = before.map_or(facts.handled_until, |before| before.max(facts.handled_until));
    let next = job.schedule.next_after(now);
    // Since when another node's schedule counts says nothing of this one.
    match decide(job, &Facts { handled_until, counts_from: None, ..facts.clone() }, now) {
        // What a bounded window has left is for the node whose policy that is, as are bodies that should always be running.
        Decision::FollowUp | Decision::Continuous | Decision::LookAgain | Decision::NotYet(_) => Decision::NotYet(next),
        decision @ (Decision::Due(_) | Decision::PassOver(_) | Decision::Later(_)) => decision,
    }
}

impl Node {
    /// The answer to whoever asked for a run if one is due, when none is.
    pub(super) fn not_due(&self, now: Now, slot: Slot, facts: &Facts) -> Option<TriggerAnswer> {
        match self.decide(now, slot, facts) {
            Decision::NotYet(next) => Some(TriggerAnswer::NotDue { next }),
            Decision::Later(at) => Some(TriggerAnswer::NotDue { next: Some(at) }),
            Decision::LookAgain => Some(TriggerAnswer::NotDue { next: None }),
            Decision::Due(_) | Decision::PassOver(_) | Decision::FollowUp | Decision::Continuous => None,
        }
    }

    /// Without rows there is nothing to look at: the lock alone decides.
    pub(super) fn asked_for_lock(&mut self, now: Now, slot: Slot, ticket: Ticket) {
        let mut job = self.job_mut(slot);
        job.tickets.push((ticket, now.mono));
        // No look is due, ever.
        job.look_at = Mono(Duration::MAX);
        drop(job);
        self.live(slot, Life::Wanted(Box::new(Intent { wish: Wish::ByHand, seen: 0, lost: None })));
        self.hurry(now);
    }

    /// Somebody has the lock, whoever it is.
    pub(super) fn lock_taken(&mut self, slot: Slot) {
        self.live(slot, Life::Resting);
        self.answer_tickets(slot, &TriggerAnswer::AlreadyRunning { node: None, since: None, epoch: None });
    }

    /// The lock is all that a start needs. The run has an epoch for this process alone: no fence knows it.
    pub(super) fn run_without_row(&mut self, now: Now, slot: Slot) {
        let started_at = self.clock.estimate(now).unwrap_or(now.wall);
        let (window_from, window_until) = (started_at, started_at);
        let epoch = started_at.as_microsecond();
        let run = Started { epoch, attempt: 1, takeover: 0, window_from, window_until, started_at };
        let intent = Intent { wish: Wish::ByHand, seen: 0, lost: None };
        self.run(now, &self.start_of(slot, &intent), run);
    }

    /// There is nothing to be recorded: the lock is let go next.
    pub(super) fn end_without_record(&mut self, slot: Slot, epoch: i64, verdict: Verdict) {
        let Verdict { outcome, error, transient, .. } = verdict;
        let outcome = outcome.as_str().to_owned();
        self.act(Action::Say(Notice::RunEnded { slot, epoch, outcome, error, transient, skipped: 0 }));
        self.live(slot, Life::Resting);
    }
}
