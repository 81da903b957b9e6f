//! A job under a new name goes on where the old one was: nothing is repeated and no span is left out.
//!
//! The node that knows the new name takes the state over before it registers it: one statement, under the lock of the old name, so
//! while nobody runs that. If somebody does, the new name waits. From then on the old row says where the job went, and no start under
//! the old name comes about any more: nodes of the old version stand down for it.
//!
//! As with definitions, standing down ends by itself, or a deploy that is rolled back would leave the job to nobody: when an
//! occurrence by the old node's own schedule has long been due and is not handled under the new name either, the old node takes
//! the state back, by the same statement the other way round, and the nodes of the new name stand down in their turn. A process
//! that starts with the new name takes it over again. What is paused under the new name waits there: only the pause of the name
//! under which the job goes on counts.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::life::{Inheritance, Life};
use super::looked::{LOOK_AGAIN, RECHECK_FOR};
use super::{Node, Now};
use crate::backoff::spread;
use crate::facts::{Facts, Renamed};
use crate::occurrence::next_start;
use crate::protocol::{Notice, Question, Slot, TriggerAnswer};
use crate::time::Mono;

impl Node {
    /// Whether something is to be registered, or taken over before, at this moment.
    pub(super) fn wants_registration(&self, now: Mono) -> bool {
        self.unregistered.iter().any(|slot| self.ready_to_register(*slot) || self.inherits(*slot, now).is_some())
    }

    /// It will be registered by this visit, if all goes well.
    pub(super) fn awaits_registration(&self, slot: Slot) -> bool {
        self.job(slot).heir_of.as_ref().is_none_or(|heir_of| heir_of.retry_at == Mono::default())
    }

    pub(super) fn ready_to_register(&self, slot: Slot) -> bool {
        self.job(slot).heir_of.is_none()
    }

    fn inherits(&self, slot: Slot, now: Mono) -> Option<(Slot, String)> {
        let heir_of = self.job(slot).heir_of.as_ref().filter(|heir_of| heir_of.retry_at <= now)?;
        Some((slot, heir_of.from.clone()))
    }

    pub(super) fn take_over(&self, now: Mono) -> Option<Question> {
        let heirs: Vec<_> = self.unregistered.iter().filter_map(|slot| self.inherits(*slot, now)).collect();
        (!heirs.is_empty()).then_some(Question::TakeOver(heirs))
    }

    /// What is not to be had yet is tried again after a while: a run under the other name is under way.
    pub(super) fn took_over(&mut self, now: Now, asked: Vec<(Slot, String)>, done: Vec<bool>) {
        self.served(now);
        for ((slot, from), done) in asked.into_iter().zip(done) {
            if done {
                self.job_mut(slot).heir_of = None;
                continue;
            }
            let retry_at = now.mono + spread(Duration::from_secs(2), self.draw());
            self.job_mut(slot).heir_of = Some(Box::new(Inheritance { from, retry_at }));
            self.answer_heirs_tickets(now.mono, slot);
        }
        self.answer_added();
    }

    /// Whoever asked for a run is not kept waiting for the one under the other name: of a continuous job it may last for weeks.
    fn answer_heirs_tickets(&mut self, now: Mono, slot: Slot) {
        let oldest = self.job(slot).tickets.iter().map(|(_, since)| *since).min();
        if oldest.is_some_and(|since| now - since >= RECHECK_FOR) {
            self.answer_tickets(slot, &TriggerAnswer::AlreadyRunning { node: None, since: None, epoch: None });
        }
    }

    /// A job that went on under another name, and that nobody runs there: it is taken back.
    pub(super) fn takes_back(&mut self, now: Now, slot: Slot, facts: &Facts) -> bool {
        let Some((renamed, server)) = facts.renamed.as_ref().zip(self.clock.estimate(now)) else { return false };
        let overdue = self.renamed_late_at(slot, renamed).is_some_and(|late| late <= server);
        let young = now.mono < self.began + self.settings.start_delay;
        if !overdue || renamed.open || renamed.paused || young || self.shutting_down() || !self.stays(slot) {
            return false;
        }
        self.job_mut(slot).heir_of = Some(Box::new(Inheritance::of(renamed.to.clone())));
        self.unregistered.insert(slot);
        self.say(Notice::TakenBack { slot, from: renamed.to.clone() });
        true
    }

    /// The row is gone (a failover lost it, or the schema was made anew): where the job is to be found is asked for again, as at the
    /// start of the process. Registered as a new job it would run beside the one under the other name.
    pub(super) fn register_anew(&mut self, slot: Slot) {
        self.unregistered.insert(slot);
        self.inherit_again(slot);
    }

    /// A new session: the server may be another one, which does not know of what was taken over and not registered yet.
    pub(super) fn inherit_anew(&mut self) {
        let slots: Vec<Slot> = self.unregistered.iter().copied().collect();
        slots.into_iter().for_each(|slot| self.inherit_again(slot));
    }

    fn inherit_again(&mut self, slot: Slot) {
        let mut job = self.job_mut(slot);
        if job.heir_of.is_none() {
            job.heir_of = Inheritance::by(&job.definition);
        }
        // As before its first visit: not looked at before it is registered, whoever asks for a run.
        if job.heir_of.is_some() && matches!(job.life, Life::Resting | Life::Contended(_)) {
            (job.life, job.calendar_at) = (Life::Due, None);
        }
    }

    /// When the first occurrence that is not handled under the other name has waited too long for it; of a continuous job, when it
    /// has been without a run too long.
    fn renamed_late_at(&self, slot: Slot, renamed: &Renamed) -> Option<Timestamp> {
        let bound = SignedDuration::try_from(2 * self.settings.ttl + self.settings.start_delay).ok()?;
        let job = self.job(slot);
        let due =
            if job.is_continuous() { renamed.idle_since } else { next_start(&job.definition, renamed.handled_until) }?;
        due.checked_add(bound.max(SignedDuration::from_secs(60))).ok()
    }

    /// When a job that went on under another name is looked at again.
    pub(super) fn renamed_until(&self, slot: Slot, renamed: &Renamed, server: Timestamp) -> Option<Timestamp> {
        let soon = SignedDuration::try_from(spread(LOOK_AGAIN, self.settings.seed ^ slot.0 as u64)).ok()?;
        let again = server.checked_add(soon).ok();
        let late = self.renamed_late_at(slot, renamed).filter(|late| *late > server);
        // A pause may last: whoever resumes it waits for the next occurrence, or has somebody to run what is due.
        let next = next_start(&self.job(slot).definition, server).filter(|_| renamed.paused);
        late.or(next).or(again)
    }
}
