//! Requests from elsewhere. The row is the request; a notice only says when to look.

use super::Node;
use super::life::Life;
use super::looked::LOOK_AGAIN;
use super::orders::Standing;
use crate::facts::Facts;
use crate::job::Starts;
use crate::protocol::{Order, Slot, Ticket};
use crate::request::Taken;
use crate::time::Mono;

/// The ticket of what a node orders itself.
const NOBODY: Ticket = Ticket(0);

impl Node {
    /// What a start of this node may take of the request that a look showed.
    pub(super) fn asked_for(&self, slot: Slot, facts: &Facts) -> Option<Taken> {
        let job = self.job(slot);
        // A node that stands down, or runs only what it is asked for itself, leaves it to those with the registered definition.
        let may = !facts.paused
            && facts.other.is_none()
            && facts.renamed.is_none()
            && job.definition.starts == Starts::BySchedule
            && !self.shutting_down()
            && self.stays(slot)
            && job.stuck.is_none()
            && job.unrecorded.is_none();
        facts.request.filter(|_| may)?.next_step(&job.definition.schedule)
    }

    /// A backfill of which nothing is left (the schedule was changed meanwhile) is closed, or it would keep out the next one.
    pub(super) fn close_exhausted(&mut self, slot: Slot, facts: &Facts) {
        let job = self.job(slot);
        let registers = facts.other.is_none() && job.definition.starts == Starts::BySchedule;
        let Some(request) = facts.request.filter(|_| registers && !self.shutting_down()) else { return };
        if request.next_step(&job.definition.schedule).is_none() {
            let order = Order::Close { request: request.id };
            if !self.orders.iter().any(|standing| standing.order == order) {
                self.orders.push_back(Standing { slot, order, ticket: NOBODY });
            }
        }
    }

    /// Every look brings word of the requests for all jobs of the node, also for those at rest. One that a look at the job itself
    /// has shown already, and that could not be taken then (the job was paused, say), is looked at again after a while.
    pub(super) fn found_requested(&mut self, now: Mono, found: Vec<(Slot, i64)>) {
        for (slot, request) in found {
            let job = self.job(slot);
            let shown = job.facts.as_ref().and_then(|facts| facts.request).is_some_and(|known| known.id == request);
            let known = shown && now - job.looked_at < LOOK_AGAIN;
            if matches!(job.life, Life::Resting)
                && job.definition.starts == Starts::BySchedule
                && !known
                && !job.other_key
                && !self.shutting_down()
                && self.stays(slot)
            {
                self.live(slot, Life::Due);
            }
        }
    }

    /// A session that is kept to hear of requests has been without ears: whatever was said meanwhile is found by one look.
    pub(super) fn look_after_silence(&mut self) {
        if self.settings.resident {
            self.look_at_all();
        }
    }

    /// Anything may have changed.
    pub(super) fn look_at_all(&mut self) {
        if self.settings.rowless || self.shutting_down() {
            return;
        }
        for slot in self.slots() {
            if matches!(self.job(slot).life, Life::Resting) && !self.job(slot).other_key {
                self.live(slot, Life::Due);
            }
        }
    }
}
