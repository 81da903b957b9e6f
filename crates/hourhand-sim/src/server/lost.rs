//! Runs that ended without a word: `lost` and `settle_lost` of the schema.

use hourhand_core::protocol::{Answer, SettledRun, Slot};

use super::{Execution, Lock, Server};
use crate::time::At;

impl Server {
    /// Their epochs: no end, and nobody has the job.
    pub(crate) fn lost(&self, at: At) -> Vec<i64> {
        let jobs = self.store.rows.keys().copied();
        jobs.filter(|job| self.is_lost(*job, at)).map(|job| self.store.rows[&job].epoch).collect()
    }

    /// The newest run of the job has no end, and nobody has the job.
    pub(crate) fn is_lost(&self, job: usize, at: At) -> bool {
        let open = self.store.rows.get(&job).is_some_and(|row| row.epoch > row.ended_epoch);
        open && self.locks.holder(Lock::of(self.keys[job])).is_none() && self.live_lease(job, self.now(at)).is_none()
    }

    /// Each under the job's lock, which is free; what somebody's transaction has locked is left.
    pub(super) fn settle_lost(&mut self, jobs: &[usize], epochs: &[i64], at: At) -> Execution {
        let found: Vec<(usize, i64)> = self.store.rows.iter().map(|(job, row)| (*job, row.epoch)).collect();
        let mut settled = Vec::new();
        for (job, epoch) in found {
            if !epochs.contains(&epoch) || !self.is_lost(job, at) || self.row_locked(job) {
                continue;
            }
            if let Some((deaths, gave_up)) = self.settle_row(job, true, self.now(at)) {
                let slot = jobs.iter().position(|known| *known == job).map(Slot);
                settled.push(SettledRun {
                    slot,
                    job: self.definitions[job][0].name.to_string(),
                    epoch,
                    deaths,
                    gave_up,
                });
            }
        }
        Execution::Done(Answer::SettledLost(settled))
    }
}
