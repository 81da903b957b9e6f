//! Definitions: `register.sql` and `stand_up.sql`.
//!
//! Two versions of the program live side by side, as in a rolling deploy, and are replaced by each other at random. The last one that
//! registered decides; a node with another definition stands down, and stands up when nobody has run the job for too long.
//! A definition is its version's number here: its fingerprint.

use std::sync::Arc;

use hourhand_core::facts::Registered;
use hourhand_core::job::Definition;
use hourhand_core::outcome::Trigger;
use hourhand_core::protocol::{Answer, Slot, Start};
use jiff::SignedDuration;

use super::{Execution, Row, Server};
use crate::bug::Bug;
use crate::time::At;

impl Server {
    /// Which of a job's definitions a version of the program brings: the second only where it is another.
    pub(crate) fn definition_in(&self, job: usize, version: usize) -> usize {
        let [first, second] = &self.definitions[job];
        if first == second { 0 } else { version }
    }

    /// What a session's program brings.
    pub(super) fn own_definition(&self, pid: i32, job: usize) -> Option<usize> {
        self.backends.get(&pid).map(|backend| self.definition_in(job, backend.version))
    }

    /// The definition that decides.
    pub(crate) fn registered(&self, job: usize) -> Arc<Definition> {
        self.definitions[job][self.store.rows.get(&job).map_or(0, |row| row.version)].clone()
    }

    /// What a look of this session shows of it, if it is another.
    pub(super) fn other(&self, job: usize, row: &Row, pid: i32) -> Option<Registered> {
        let own = self.own_definition(pid, job)?;
        (own != row.version).then(|| Registered {
            fingerprint: row.version as i64,
            definition: Some(self.registered(job)),
            start_delay: SignedDuration::ZERO,
        })
    }

    /// A run that is not one of the registered definition.
    pub(super) fn is_foreign(&self, job: usize, start: &Start) -> bool {
        let schedule = &self.registered(job).schedule;
        if start.trigger == Trigger::Continuous {
            return !schedule.is_continuous();
        }
        start.occurrence.is_some_and(|occurrence| schedule.previous_at_or_before(occurrence) != Some(occurrence))
    }

    pub(super) fn register(
        &mut self,
        pid: i32,
        jobs: &[usize],
        (slots, replace): (&[Slot], bool),
        at: At,
    ) -> Execution {
        let now = self.now(at);
        for job in slots.iter().map(|slot| jobs[slot.0]) {
            let Some(own) = self.own_definition(pid, job) else { continue };
            let row = self.store.rows.entry(job).or_insert_with(|| Row::registered(now, own));
            if replace && row.version != own {
                (row.version, row.counts_from) = (own, now);
            }
        }
        Execution::Done(Answer::Registered(Vec::new()))
    }

    pub(super) fn stand_up(&mut self, pid: i32, jobs: &[usize], seen: &[(Slot, i64)]) -> Execution {
        let done = seen.iter().map(|(slot, seen)| self.stand_up_one(pid, jobs[slot.0], *seen)).collect();
        Execution::Done(Answer::StoodUp(done))
    }

    fn stand_up_one(&mut self, pid: i32, job: usize, seen: i64) -> bool {
        let own = self.own_definition(pid, job).filter(|_| self.bug != Some(Bug::StandDownForEver));
        let row = self.store.rows.get_mut(&job).filter(|row| row.version as i64 == seen);
        let Some((own, row)) = own.zip(row) else { return false };
        row.version = own;
        true
    }

    /// As `known.sql`.
    pub(super) fn known(&mut self, jobs: &[usize], slots: &[Slot], at: At) -> Execution {
        let now = self.now(at);
        for slot in slots {
            if let Some(row) = self.store.rows.get_mut(&jobs[slot.0]) {
                row.known_at = Some(now);
            }
        }
        Execution::Done(Answer::Known)
    }
}
