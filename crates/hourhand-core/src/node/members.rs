//! Jobs that come and go while the node runs.
//!
//! A job that was removed starts nothing any more, but what it left behind takes its course: a run under way ends and is put on
//! record, its lock and watch are let go, an end that the database refused is written when it takes it. Only then is its slot
//! released. A slot is never used again, so that no late answer can be taken for another job's.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::life::{Job, Life};
use super::{Node, Now};
use crate::job::Definition;
use crate::protocol::{Action, Slot, Ticket, TriggerAnswer};

/// So long a session is kept for the next job that is added: thousands are, one after the other.
const STAY: Duration = Duration::from_secs(2);

impl Node {
    /// There is such a job.
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.jobs.get(slot.0).is_some_and(Option::is_some)
    }

    /// There is such a job, and it has not been removed.
    pub(super) fn stays(&self, slot: Slot) -> bool {
        self.has(slot) && !self.leaving.contains(&slot)
    }

    /// A job begins with a look, once it is registered.
    pub(super) fn join(&mut self, slot: Slot, definition: Arc<Definition>) {
        if self.jobs.len() <= slot.0 {
            self.jobs.resize_with(slot.0 + 1, || None);
        }
        self.by_key.insert(definition.key.0, slot);
        let mut job = Box::new(Job::new(definition));
        if self.settings.rowless {
            // There is no row to register or to look at.
            job.life = Life::Resting;
        } else {
            self.unregistered.insert(slot);
        }
        self.index.insert(slot, &job);
        self.jobs[slot.0] = Some(job);
    }

    pub(super) fn added(&mut self, now: Now, jobs: Vec<(Slot, Arc<Definition>)>, ticket: Ticket) {
        for (slot, definition) in jobs {
            self.join(slot, definition);
            if self.shutting_down() {
                self.rest_until(slot, None);
            }
            self.adding.push((slot, ticket));
        }
        self.session.stay_until = now.mono + STAY;
        self.hurry(now);
        // Whoever adds jobs while the database is away must not wait for it.
        if self.shutting_down() || self.session.trouble.is_some() {
            self.answer_added();
        }
    }

    /// Answers all who wait for jobs that they added, as far as the jobs are registered or have to wait for the database.
    pub(super) fn answer_added(&mut self) {
        let away = self.shutting_down() || self.session.trouble.is_some();
        let adding = std::mem::take(&mut self.adding);
        let awaited = |slot: &Slot| self.unregistered.contains(slot) && self.awaits_registration(*slot);
        let unregistered = adding.iter().filter(|(slot, _)| !away && awaited(slot));
        let wait: HashSet<Ticket> = unregistered.map(|(_, ticket)| *ticket).collect();
        let (later, done): (Vec<_>, Vec<_>) = adding.into_iter().partition(|(_, ticket)| wait.contains(ticket));
        self.adding = later;
        for answered in done.chunk_by(|(_, one), (_, other)| one == other) {
            let refused: Vec<Slot> =
                answered.iter().map(|(slot, _)| *slot).filter(|s| self.job(*s).other_key).collect();
            for slot in &refused {
                self.leave_for_good(*slot);
            }
            self.act(Action::AnswerAdded(answered[0].1, refused));
        }
    }

    pub(super) fn removed(&mut self, now: Now, slot: Slot, ticket: Ticket) {
        let going = self.has(slot).then(|| self.job(slot).going().map(|going| going.run.epoch)).flatten();
        if self.stays(slot) {
            self.leave_for_good(slot);
            self.session.stay_until = now.mono + STAY;
        }
        self.act(Action::AnswerRemoved(ticket, going));
    }

    fn leave_for_good(&mut self, slot: Slot) {
        self.leaving.insert(slot);
        self.unregistered.remove(&slot);
        self.answer_tickets(slot, &TriggerAnswer::ShuttingDown);
        match &self.job(slot).life {
            Life::Running(_) | Life::Ending(_) => {}
            Life::Resting | Life::Due | Life::Wanted(_) | Life::Granted(_) | Life::Contended(_) => {
                self.rest_until(slot, None);
            }
        }
    }

    /// Lets go of the jobs that nothing is left of. Not while a question is under way, whose answer may speak of one.
    pub(super) fn release(&mut self) {
        if self.leaving.is_empty() || self.asked.is_some() {
            return;
        }
        let ordered = |slot: Slot| self.orders.iter().any(|standing| standing.slot == slot);
        let gone = |slot: &Slot| !self.job(*slot).is_active() && self.job(*slot).stuck.is_none() && !ordered(*slot);
        for slot in self.leaving.iter().copied().filter(gone).collect::<Vec<_>>() {
            self.leaving.remove(&slot);
            let key = self.job(slot).definition.key.0;
            self.by_key.remove(&key);
            if let Some(job) = self.jobs[slot.0].take() {
                self.index.remove(slot, &job);
            }
            self.act(Action::Release(slot));
        }
    }
}
