//! What people order, and what other nodes let us know.

use super::life::Life;
use super::{Node, Now};
use crate::claim::ClaimEvent;
use crate::protocol::{Action, Order, Ordered, Question, Slot, Ticket};
use crate::request::backfill_runs;

/// An order that waits for the session.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) slot: Slot,
    pub(super) order: Order,
    pub(super) ticket: Ticket,
}

impl Node {
    pub(super) fn ordered(&mut self, now: Now, mut standing: Standing) {
        if !self.has(standing.slot) {
            return self.act(Action::AnswerOrder(standing.ticket, Ok(Ordered::Nothing)));
        }
        if let Order::Backfill { from, until, runs, .. } = &mut standing.order {
            // What lies ahead is the schedule's.
            *until = self.clock.estimate(now).unwrap_or(now.wall).min(*until);
            let schedule = &self.job(standing.slot).definition.schedule;
            match backfill_runs(schedule, *from, *until) {
                Ok(count) => *runs = count,
                Err(error) => return self.act(Action::AnswerOrder(standing.ticket, Ok(Ordered::Refused(error)))),
            }
        }
        self.orders.push_back(standing);
        self.hurry(now);
    }

    /// The order to be carried out next; it stays in its place until it is answered.
    pub(super) fn order(&self) -> Option<Question> {
        self.orders.front().map(|standing| Question::Order(standing.slot, standing.order.clone()))
    }

    pub(super) fn order_done(&mut self, now: Now, slot: Slot, done: Ordered) {
        self.served(now);
        if let Some(standing) = self.orders.pop_front() {
            self.act(Action::AnswerOrder(standing.ticket, Ok(done)));
        }
        self.look_at_change(slot);
    }

    /// Another session changed something by hand: a hint, looked into with what is known of the job.
    pub(super) fn changed(&mut self, key: i64) {
        if let Some(slot) = self.by_key.get(&key).copied() {
            self.look_at_change(slot);
        }
    }

    /// A run has started somewhere. A node that keeps its session waits for its end, or sees who dies over it.
    pub(super) fn began(&mut self, key: i64) {
        let resting = |slot: &&Slot| matches!(self.job(**slot).life, Life::Resting);
        if self.settings.resident
            && !self.shutting_down()
            && let Some(slot) = self.by_key.get(&key).filter(resting).copied()
            && !self.job(slot).other_key
        {
            self.live(slot, Life::Due);
        }
    }

    fn look_at_change(&mut self, slot: Slot) {
        let outside = self.job(slot).waits_outside() && !self.shutting_down();
        match self.job(slot).life {
            Life::Resting if !self.shutting_down() => self.live(slot, Life::Due),
            Life::Contended(_) if outside => self.live(slot, Life::Due),
            Life::Running(_) | Life::Ending(_) => self.job_mut(slot).hinted = true,
            // Each of these looks before it starts anything, or has just looked.
            Life::Resting | Life::Due | Life::Wanted(_) | Life::Granted(_) | Life::Contended(_) => {}
        }
    }

    /// The next ping brings the cancel, so it is sent now.
    pub(super) fn cancel_asked(&mut self, now: Now, key: i64) {
        let running = self.by_key.get(&key).is_some_and(|slot| self.job(*slot).going().is_some());
        if running {
            self.claim = self.claim.step(now.mono, ClaimEvent::Doubted, &self.spans);
        }
    }
}
