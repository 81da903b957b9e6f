//! Runs that ended without a word, whoever's they were.
//!
//! A run for an occurrence is taken over: whoever wants the occurrence gets the lock, finds the run without an end and settles it.
//! Nobody wants a run that was asked for by hand, is a backfill's, or is of a job that is paused or that no process has: its end
//! would be on no record before the job is due again, and until then all would seem to be well.
//!
//! So a look shows now and then, on its way, all such runs of the schema. Whoever sees one leaves it to its own node for a while, which
//! may only have lost its session and know better, and then settles what is still without an end, in one statement. A node that
//! keeps its session does more: it waits for the end of each run of its own jobs that somebody else is at (see `looked`).

use std::collections::BTreeSet;
use std::time::Duration;

use super::life::Life;
use super::{Node, Now};
use crate::backoff::spread;
use crate::protocol::{Notice, Question, SettledRun, Slot};
use crate::time::Mono;

/// How often looks show lost runs at most: that reads every row.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// What was seen of them.
#[derive(Debug, Default)]
pub(super) struct LostRuns {
    /// When each is to be settled, and its epoch.
    settle_at: BTreeSet<(Mono, i64)>,
    /// When looks show them again.
    look_at: Mono,
}

impl Node {
    /// The question that looks at these jobs.
    pub(super) fn look_at_jobs(&self, jobs: Vec<Slot>, now: Mono) -> Question {
        Question::Look { jobs, lost: now >= self.lost.look_at && !self.shutting_down() }
    }

    /// A look has shown all runs that are lost now.
    pub(super) fn found_lost(&mut self, now: Mono, found: &[i64]) {
        self.lost.look_at = now + LOOK_EVERY;
        let mut unknown: BTreeSet<i64> = found.iter().copied().collect();
        self.lost.settle_at.retain(|(_, epoch)| unknown.remove(epoch));
        for epoch in unknown {
            let wait = self.spans.ttl + spread(self.spans.ttl, self.draw());
            self.lost.settle_at.insert((now + wait, epoch));
        }
    }

    /// When the next one is to be settled. This node's own are for it to record, and one that shuts down leaves them to others.
    pub(super) fn settles_lost_at(&self) -> Option<Mono> {
        let mut others = self.lost.settle_at.iter().filter(|(_, epoch)| !self.index.is_own(*epoch));
        others.next().map(|(at, _)| *at).filter(|_| !self.shutting_down())
    }

    /// Those whose own node has had its time.
    pub(super) fn settle_lost(&self, now: Mono) -> Option<Question> {
        self.settles_lost_at().filter(|at| *at <= now)?;
        let due = self.lost.settle_at.iter().take_while(|(at, _)| *at <= now).map(|(_, epoch)| *epoch);
        Some(Question::SettleLost(due.filter(|epoch| !self.index.is_own(*epoch)).collect()))
    }

    /// What was to be settled is, or the database would not take it: then the next look shows it again.
    pub(super) fn forget_lost(&mut self, now: Mono) {
        self.lost.settle_at.retain(|(at, _)| *at > now);
    }

    pub(super) fn lost_settled(&mut self, now: Now, settled: Vec<SettledRun>) {
        self.served(now);
        self.forget_lost(now.mono);
        for SettledRun { slot, job, epoch, deaths, gave_up } in settled {
            let Some(slot) = slot.filter(|slot| self.has(*slot)) else {
                self.say(Notice::RunLost { job, epoch });
                continue;
            };
            self.say_holder_died(slot, epoch, deaths, gave_up);
            // Its occurrence may be due again.
            if matches!(self.job(slot).life, Life::Resting) && !self.shutting_down() {
                self.live(slot, Life::Due);
            }
        }
    }
}
