//! A job that waits, and that a node has all the same, is put on record as known: else it would seem to be given up.
//!
//! Its own condition says no, there is no room for its body, another job of its group goes on and on: the process that has it sees at
//! each of its looks that it waits, and starts nothing. Once nothing has told of the job for a period, the process takes note, on a visit
//! that it makes anyway and after all that is more urgent: one note a period in the whole fleet, for the next look shows it to everybody.

use super::life::{Job, Life, Permit};
use super::plan::AT_ONCE;
use super::{Node, Now};
use crate::facts::Facts;
use crate::job::Starts;
use crate::occurrence::wants_note;
use crate::protocol::{Question, Slot};

impl Job {
    /// It waits, for whatever reason: no run of it is under way here, or about to be.
    fn idles(&self) -> bool {
        match self.life {
            Life::Resting | Life::Due | Life::Wanted(_) | Life::Contended(_) => true,
            Life::Granted(_) | Life::Running(_) | Life::Ending(_) => false,
        }
    }
}

impl Node {
    pub(super) fn note_unknown(&mut self, now: Now, slot: Slot, facts: &Facts) {
        let Some(server) = self.clock.estimate(now) else { return };
        let job = self.job(slot);
        let by_schedule = job.definition.starts == Starts::BySchedule && facts.other.is_none();
        let wanted = by_schedule && wants_note(&job.definition, facts, server, self.overdue_bound(facts));
        if wanted && self.stays(slot) && !self.shutting_down() {
            self.unknown.insert(slot);
        } else {
            self.unknown.remove(&slot);
        }
    }

    /// Not before all that can start has: what runs tells of itself.
    pub(super) fn make_known(&mut self) -> Option<Question> {
        if self.unknown.is_empty() {
            return None;
        }
        let waits = |slot: &Slot| self.stays(*slot) && self.job(*slot).idles();
        let waiting: Vec<Slot> = self.unknown.iter().copied().filter(waits).collect();
        // The condition may yet hold.
        let (later, mut slots): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|slot| self.job(*slot).permit == Permit::Asking);
        self.unknown = later.into_iter().chain(slots.split_off(slots.len().min(AT_ONCE))).collect();
        (!slots.is_empty()).then_some(Question::Known(slots))
    }
}
