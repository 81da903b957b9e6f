//! A process's own condition for running a job, asked before it claims.
//!
//! It is asked when the node would try the lock or wait for it, and holds until the job comes to rest. If it does not hold, the node
//! steps back like one that finds the lock taken and somebody else watching: it looks again after its while, and asks again if
//! the occurrence still waits. So nothing is lost if no process's condition holds: the occurrence stays due, is shown as
//! overdue, and is run by the first process whose condition holds, or replaced by the next occurrence. What people ask for by
//! hand is not asked about.

use super::life::{Contention, Life, Permit, Wish};
use super::{Node, Now};
use crate::facts::Facts;
use crate::protocol::{Action, Notice, Slot};
use crate::request::Taken;

impl Node {
    fn needs_permit(&self, slot: Slot, wish: Wish) -> bool {
        let job = self.job(slot);
        let runs = matches!(wish, Wish::Occurrence(_) | Wish::FollowUp);
        runs && job.definition.conditional && job.permit != Permit::Given
    }

    /// What may be done of a wish without asking: what a person wants is not asked about.
    pub(super) fn permitted(&self, slot: Slot, wish: Wish, by_hand: bool, facts: &Facts) -> Option<Wish> {
        let now = |taken: &Taken| taken.again.is_none();
        match wish {
            wish if !self.needs_permit(slot, wish) => Some(wish),
            _ if by_hand => Some(Wish::ByHand),
            _ => self.asked_for(slot, facts).filter(now).map(Wish::Requested),
        }
    }

    /// A lock that was had for something else is let go meanwhile.
    pub(super) fn ask_condition(&mut self, slot: Slot) {
        if self.job(slot).holds.lock
            && let Some(facts) = &mut self.job_mut(slot).facts
        {
            facts.holder = None;
        }
        let asking = std::mem::replace(&mut self.job_mut(slot).permit, Permit::Asking) == Permit::Asking;
        self.live(slot, Life::Resting);
        if !asking {
            self.act(Action::AskCondition(slot));
        }
    }

    pub(super) fn condition_answered(&mut self, now: Now, slot: Slot, holds: bool) {
        if !self.has(slot) || self.job(slot).permit != Permit::Asking {
            return;
        }
        self.job_mut(slot).permit = if holds { Permit::Given } else { Permit::None };
        let resting = matches!(self.job(slot).life, Life::Resting);
        let facts = self.job(slot).facts.clone().filter(|_| resting);
        match facts {
            Some(facts) if holds => self.idle_looked_at(now, slot, &facts, false),
            Some(facts) if !self.shutting_down() && self.stays(slot) => {
                let occurrence = self.job(slot).definition.schedule.next_after(facts.floor()).map(Box::new);
                if std::mem::replace(&mut self.job_mut(slot).declined, occurrence.clone()) != occurrence {
                    self.say(Notice::Declined(slot));
                }
                let again_at = self.outside_at(now.mono);
                self.live(slot, Life::Contended(Contention { again_at, outside: true, maintain: false }));
            }
            Some(_) | None => {}
        }
    }
}
