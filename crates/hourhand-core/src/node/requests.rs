//! Requests from elsewhere. The row is the request; a notice only says when to look.

use super::life::Life;
use super::{Node, Now};
use crate::facts::Facts;
use crate::protocol::Slot;
use crate::request::Taken;

impl Node {
    /// What a start of this node may take of the request that a look showed.
    pub(super) fn asked_for(&self, slot: Slot, facts: &Facts) -> Option<Taken> {
        let job = self.job(slot);
        let may = !facts.paused && !self.shutting_down() && job.stuck.is_none() && job.unrecorded.is_none();
        facts.request.filter(|_| may)?.next_step(&job.definition.schedule)
    }

    /// Every look brings the requests for all jobs of the node, also for those at rest.
    pub(super) fn found_requested(&mut self, now: Now, found: Vec<(Slot, Facts)>) {
        for (slot, facts) in found {
            if matches!(self.job(slot).life, Life::Resting) && self.asked_for(slot, &facts).is_some() {
                self.job_mut(slot).looked_at = now.mono;
                self.job_mut(slot).facts = Some(facts.clone());
                self.look_at_one(now, slot, &facts);
            }
        }
    }

    /// A session that is kept to hear of requests has been without ears: whatever was said meanwhile is found by one look.
    pub(super) fn look_after_silence(&mut self) {
        if !self.settings.resident || self.shutting_down() {
            return;
        }
        for slot in self.slots() {
            if matches!(self.job(slot).life, Life::Resting) && !self.job(slot).other_key {
                self.live(slot, Life::Due);
            }
        }
    }
}
