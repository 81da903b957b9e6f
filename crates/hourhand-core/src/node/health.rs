//! How the node is: what the last visit saw, without asking anybody.

use jiff::Timestamp;

use super::deploys::registered;
use super::{Node, Now};
use crate::continuous;
use crate::occurrence::lies_ahead;
use crate::protocol::{Slot, Trouble};

/// Whether a node does its work, and what is wrong if not. Readiness and alerting, never liveness.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// What is wrong; empty when all is well.
    pub problems: Vec<Problem>,
    /// The server's time of this view.
    pub at: Option<Timestamp>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// The database can't be had.
    Unavailable(Trouble),
    /// An occurrence waits longer than it should.
    Overdue(Slot),
    /// A run's end is not recorded.
    Unrecorded(Slot),
    /// A body does not stop.
    Stuck(Slot),
    /// Holders of the job died three times in a row.
    HoldersDie(Slot),
    /// Registered under another key.
    OtherKey(Slot),
    /// A session that is not hourhand's holds the lock.
    ForeignHolder(Slot, i32),
    /// What is handled lies more than a period ahead of the server's time: its clock went back.
    ClockWentBack(Slot),
    /// Somebody's open transaction holds the job's row.
    RowLocked(Slot),
    /// The server has no room for another lock.
    OutOfLocks,
}

impl Node {
    /// The node's health as of its last visit.
    pub fn health(&self, now: Now) -> Health {
        let at = self.clock.estimate(now);
        let mut problems: Vec<Problem> = self.session.trouble.clone().map(Problem::Unavailable).into_iter().collect();
        problems.extend(self.out_of_locks_until.map(|_| Problem::OutOfLocks));
        for slot in self.slots() {
            let job = self.job(slot);
            let late = job.facts.as_ref().zip(at).is_some_and(|(facts, at)| {
                job.going().is_none()
                    && self.stays(slot)
                    && self.late(now, slot, (facts, at), self.overdue_bound(facts))
            });
            let dying = job.facts.as_ref().zip(at).is_some_and(|(facts, at)| {
                registered(job, facts).schedule.is_continuous() && continuous::holders_die(facts, at)
            });
            let ahead = job.facts.as_ref().zip(at).is_some_and(|(facts, at)| lies_ahead(&job.definition, facts, at));
            let found = [
                ahead.then_some(Problem::ClockWentBack(slot)),
                late.then_some(Problem::Overdue(slot)),
                job.unrecorded.as_ref().map(|_| Problem::Unrecorded(slot)),
                job.stuck.map(|_| Problem::Stuck(slot)),
                (job.gave_up || dying).then_some(Problem::HoldersDie(slot)),
                job.other_key.then_some(Problem::OtherKey(slot)),
                job.said_foreign.map(|pid| Problem::ForeignHolder(slot, pid)),
                job.said_row_locked.then_some(Problem::RowLocked(slot)),
            ];
            problems.extend(found.into_iter().flatten());
        }
        Health { problems, at }
    }
}
