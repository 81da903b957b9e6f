//! Consecutive successes leave no gap and no unasked overlap (P11): what was covered is kept here, apart from the row.

use jiff::Timestamp;

use crate::world::World;

impl World {
    /// A run (of no backfill) begins: its window, but for what it looks back, goes on where the last success ended.
    pub(super) fn check_window(&mut self, job: usize, (from, until): (Timestamp, Timestamp), began: Timestamp) {
        let covered = *self.checks.covered[job].get_or_insert(from);
        let good = from == covered && until <= began.max(from);
        self.checks.require(good, self.now, || {
            format!("P11: a run of job {job} begins at {began} with the window from {from} to {until}, and {covered} is covered")
        });
    }

    /// A success or a checkpoint: what lies behind a gap does not count.
    pub(super) fn has_covered(&mut self, job: usize, (from, until): (Timestamp, Timestamp), before: Timestamp) {
        let covered = self.checks.covered[job].get_or_insert(before);
        if from <= *covered {
            *covered = (*covered).max(until);
        }
    }
}
