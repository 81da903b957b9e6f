//! Rolling deploys: for a while, nodes with different definitions of a job live side by side.
//!
//! A definition is registered when its process starts, and the last one registered decides. A node whose own differs *stands down*
//! for that job: it starts no occurrence of it (the start's own statement asks for the definition too), takes no watch, and goes
//! on only with what it runs already. It is told apart by a fingerprint, so that a look carries the other definition only where
//! there is one.
//!
//! Standing down has to end by itself, or a deploy that is rolled back, or one whose new processes all died, would leave a job that
//! nobody runs while healthy nodes look on. So a node that stands down looks at the job when it would be due by its own definition
//! (somebody may have registered that again), and when an occurrence of the registered one should long have been run. Is that
//! overdue, and the lock free, the node registers its own definition in place of the one it saw. The floor stays that of
//! the registration it replaces, so that the overdue time is not forgotten, and nothing before that registration comes back.
//!
//! Nobody's clock decides alone here: of several nodes that find the same occurrence overdue one replaces what all of them saw, and the
//! others look again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::index::Mark;
use super::life::Job;
use super::looked::LOOK_AGAIN;
use super::{Node, Now};
use crate::backoff::spread;
use crate::facts::{Facts, Registered};
use crate::job::Definition;
use crate::occurrence::{next_start, overdue};
use crate::protocol::{Notice, Question, Slot};

impl Node {
    /// Says once that another definition decides, and once that this node's does again.
    pub(super) fn definition_looked_at(&mut self, slot: Slot, facts: &Facts) {
        let other = facts.other.is_some();
        if std::mem::replace(&mut self.job_mut(slot).stood_down, other) != other {
            self.say(if other { Notice::StoodDown(slot) } else { Notice::StoodUp { slot, overdue: false } });
        }
    }

    /// The fingerprint of another definition whose occurrences nobody runs.
    pub(super) fn replaces(&self, now: Now, slot: Slot, facts: &Facts) -> Option<i64> {
        let other = facts.other.as_ref()?;
        let server = self.clock.estimate(now)?;
        let young = now.mono < self.began + self.settings.start_delay;
        let late = self.late(now, slot, (facts, server), self.patience(other));
        (late && facts.holder.is_none() && !young && !self.shutting_down()).then_some(other.fingerprint)
    }

    /// Whether the job is overdue, as far as looks tell. From when on a continuous run is lost that nobody has put on record, no look
    /// tells: it counts from the first one that saw it.
    pub(super) fn late(
        &self,
        now: Now,
        slot: Slot,
        (facts, server): (&Facts, Timestamp),
        bound: SignedDuration,
    ) -> bool {
        let (job, definition) = (self.job(slot), registered(self.job(slot), facts));
        if !definition.schedule.is_continuous() || facts.open_run().is_none() {
            return overdue(definition, facts, server, bound);
        }
        let bound = Duration::try_from(bound).unwrap_or_default();
        job.lost_since.as_ref().is_some_and(|lost| now.mono - lost.1 > bound)
            && overdue(definition, facts, server, SignedDuration::ZERO)
    }

    /// How long another definition's occurrence may wait for those who run it.
    pub(super) fn patience(&self, other: &Registered) -> SignedDuration {
        other.start_delay.saturating_add(SignedDuration::try_from(2 * self.settings.ttl).unwrap_or(SignedDuration::MAX))
    }

    /// When a job that this node stands down for is looked at again: at its own next occurrence, or when one of the registered
    /// definition will have waited too long, whichever comes first.
    pub(super) fn stands_down_until(&self, slot: Slot, facts: &Facts, server: Timestamp) -> Option<Timestamp> {
        let job = self.job(slot);
        let late = facts.other.as_ref().and_then(|other| {
            let theirs = next_start(registered(job, facts), facts.floor())?;
            theirs.checked_add(self.patience(other)).ok()
        });
        // It has waited too long already, and the lock is not free; or it is without occurrences.
        let soon =
            SignedDuration::try_from(LOOK_AGAIN / 2 + spread(LOOK_AGAIN / 2, self.settings.seed ^ slot.0 as u64));
        let again = soon.ok().and_then(|soon| server.checked_add(soon).ok());
        // What should always be running is due by its own definition at any time: somebody may have registered that again.
        let own = if job.is_continuous() { again } else { next_start(&job.definition, server) };
        [own, late.filter(|late| *late > server).or(again)].into_iter().flatten().min()
    }

    pub(super) fn stand_up(&self) -> Option<Question> {
        let jobs = self.index.all(Mark::StandsUp).filter_map(|slot| Some((slot, self.job(slot).stand_up?)));
        let jobs: Vec<(Slot, i64)> = jobs.collect();
        (!jobs.is_empty()).then_some(Question::StandUp(jobs))
    }

    /// Whoever was quickest has done it; all look again.
    pub(super) fn stood_up(&mut self, now: Now, jobs: Vec<(Slot, i64)>, done: Vec<bool>) {
        self.served(now);
        for ((slot, _), done) in jobs.into_iter().zip(done) {
            let seen = self.job_mut(slot).stand_up.take();
            self.job_mut(slot).not_up = seen.filter(|_| !done);
            if done {
                self.job_mut(slot).stood_down = false;
                self.job_mut(slot).stood_up = true;
                self.say(Notice::StoodUp { slot, overdue: true });
            }
        }
    }

    /// It could not be written: looked at again before it is tried again.
    pub(super) fn not_stood_up(&mut self, jobs: &[(Slot, i64)]) {
        for (slot, _) in jobs {
            self.job_mut(*slot).stand_up = None;
        }
    }
}

/// The definition that decides.
pub(super) fn registered<'a>(job: &'a Job, facts: &'a Facts) -> &'a Definition {
    let other = facts.other.as_ref().and_then(|other| other.definition.as_deref());
    other.unwrap_or(&job.definition)
}
