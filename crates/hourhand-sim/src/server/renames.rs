//! Jobs under new names: the function `take_over`, and `take_over.sql`, which calls it.
//!
//! The new name is another job to the server, with a row, a key and a lock of its own; that both are one job only the truth knows
//! ([`Server::origins`]), which is why a run under each, side by side, is found out.

use hourhand_core::facts::Renamed;
use hourhand_core::protocol::{Answer, Slot};

use super::{Execution, Lock, Row, Server};
use crate::bug::Bug;
use crate::time::At;

impl Server {
    /// As if an earlier program had registered it.
    pub(crate) fn register_first(&mut self, job: usize, at: At) {
        let row = Row::registered(self.now(at), 0);
        self.store.rows.insert(job, row);
    }

    /// The row that stands for a job, under whichever name it goes on.
    pub(crate) fn row_that_goes_on(&self, origin: usize) -> Option<&Row> {
        let row = self.store.rows.get(&origin)?;
        row.renamed_to.map_or(Some(row), |to| self.store.rows.get(&to))
    }

    /// What a look shows of the name under which a job goes on.
    pub(super) fn renamed(&self, row: &Row) -> Option<Renamed> {
        let to = row.renamed_to?;
        let there = self.store.rows.get(&to)?;
        Some(Renamed {
            to: self.definitions[to][0].name.to_string(),
            handled_until: there
                .handled_until
                .max(there.counts_from)
                .max(there.resumed_at.unwrap_or(there.counts_from)),
            open: there.epoch > there.ended_epoch,
            paused: there.paused,
            idle_since: there.not_before.max(there.last_success_at).max(Some(there.counts_from)).max(there.resumed_at),
        })
    }

    pub(super) fn take_over(&mut self, pid: i32, jobs: &[usize], heirs: &[(Slot, String)], at: At) -> Execution {
        let pair = |(slot, from): &(Slot, String)| {
            let from = self.definitions.iter().position(|[first, _]| first.name.as_str() == from);
            (jobs[slot.0], from)
        };
        let pairs: Vec<(usize, Option<usize>)> = heirs.iter().map(pair).collect();
        let locked =
            pairs.iter().flat_map(|(job, from)| [Some(*job), *from]).flatten().find(|job| self.row_locked(*job));
        if let Some(locked) = locked {
            return Execution::Wait(locked);
        }
        let done = pairs.into_iter().map(|(job, from)| from.is_none_or(|from| self.take_over_one(pid, job, from, at)));
        Execution::Done(Answer::TookOver(done.collect()))
    }

    /// False: somebody has the job under the other name.
    fn take_over_one(&mut self, pid: i32, job: usize, from: usize, at: At) -> bool {
        let now = self.now(at);
        let rows = &self.store.rows;
        let elsewhere = rows.get(&job).is_some_and(|row| row.renamed_to != Some(from));
        let Some(before) = rows.get(&from).filter(|row| row.renamed_to.is_none() && !elsewhere) else { return true };
        let open = before.epoch > before.ended_epoch;
        let holder = self.locks.holder(Lock::of(self.keys[from])).filter(|holder| *holder != pid);
        let had = holder.is_some() || self.live_lease(from, now).is_some();
        if had && self.bug != Some(Bug::TakenOverWhileRunning) {
            return false;
        }
        if open {
            self.settle_row(from, true, now);
        }
        let Some(other) = self.store.rows.get_mut(&from) else { return true };
        other.renamed_to = Some(job);
        let other = other.clone();
        let row = self
            .store
            .rows
            .entry(job)
            .or_insert_with(|| Row { counts_from: other.counts_from, ..Row::registered(now, other.version) });
        row.epoch = row.epoch.max(other.epoch);
        row.ended_epoch = row.epoch;
        row.last_outcome = other.last_outcome;
        row.last_success_at = other.last_success_at;
        row.handled_until = other.handled_until;
        row.covered_until = other.covered_until;
        (row.open_for, row.attempts, row.deaths) = (other.open_for, other.attempts, other.deaths);
        row.not_before = other.not_before;
        row.renamed_to = None;
        if other.paused || other.resumed_at.is_some() {
            (row.paused, row.resumed_at) = (other.paused, other.resumed_at);
        }
        true
    }
}
