//! Looking: `look.sql` and `ping.sql`.
//!
//! *Running* is never read from a column: it is the lock, held by the session that the row names, with no end recorded for that epoch.
//! A lock that is held otherwise is somebody on his way, to a start or to letting go, and is asked about again.

use hourhand_core::facts::{Facts, Holder};
use hourhand_core::protocol::{Answer, Proof, Slot};

use super::{Execution, Form, Lock, Row, Server};
use crate::bug::Bug;
use crate::time::At;

impl Server {
    pub(super) fn look(&self, pid: i32, jobs: &[usize], (slots, lost): (&[Slot], bool), at: At) -> Execution {
        let facts: Vec<Option<Facts>> = slots.iter().map(|slot| self.facts(jobs[slot.0], pid, at)).collect();
        let others = (0..jobs.len()).map(Slot).filter(|slot| !slots.contains(slot));
        let requested =
            others.filter_map(|slot| Some((slot, self.requested(jobs[slot.0], self.now(at))?.id))).collect();
        let now = facts.iter().any(Option::is_some).then(|| self.now(at));
        let shows = lost && self.bug != Some(Bug::LostNotShown);
        let lost = lost.then(|| if shows { self.lost(at) } else { Vec::new() });
        Execution::Done(Answer::Looked { now, facts, requested, lost })
    }

    /// What a look of this session shows of a job.
    pub(crate) fn facts(&self, job: usize, pid: i32, at: At) -> Option<Facts> {
        let row = self.store.rows.get(&job)?;
        let now = self.now(at);
        let token = self.backends.get(&pid).and_then(|backend| backend.token);
        let lease = self.live_lease(job, now).filter(|lease| Some(lease.token) != token);
        let own_run = token.is_some_and(|token| {
            self.store.leases.get(&job).is_some_and(|lease| lease.token == token && lease.epoch == Some(row.epoch))
        });
        let leased = lease.is_some_and(|lease| lease.epoch == Some(row.epoch) && row.epoch > row.ended_epoch);
        let holder = self.locks.holder(Lock::of(self.keys[job]));
        let application = |pid: i32| self.backends.get(&pid).map(|backend| backend.application.to_string());
        Some(Facts {
            epoch: row.epoch,
            ended_epoch: row.ended_epoch,
            handled_until: row.handled_until,
            counts_from: Some(row.counts_from),
            renamed: self.renamed(row).map(Box::new),
            other: self.other(job, row, pid).map(Box::new),
            open_for: row.open_for,
            attempts: row.attempts,
            failures: 0,
            deaths: row.deaths,
            not_before: row.not_before,
            paused: row.paused,
            resumed_at: row.resumed_at,
            holder: holder
                .map(|pid| Holder { pid, application: application(pid) })
                .or_else(|| lease.map(|lease| Holder { pid: 0, application: Some(lease.holder.clone()) }))
                .map(Box::new),
            lease_left: lease.and_then(|lease| (lease.expires_at? - now).try_into().ok()),
            running: self.is_running(job, row) || leased,
            mine: if token.is_some() { own_run } else { row.pid == Some(pid) },
            node: row.node.as_ref().map(|node| node.to_string()),
            started_at: row.started_at,
            scheduled_for: row.scheduled_for,
            trigger: row.trigger,
            window_behind: row.window_behind(),
            last_outcome: row.last_outcome.clone(),
            last_success_at: row.last_success_at,
            known_at: row.known_at,
            request: self.requested(job, now),
        })
    }

    /// The lock is held by the session that the row names, and that run's end is not recorded.
    pub(crate) fn is_running(&self, job: usize, row: &Row) -> bool {
        let holder = self.locks.holder(Lock::of(self.keys[job]));
        row.epoch > row.ended_epoch && holder.is_some() && holder == row.pid
    }

    pub(super) fn ping(&self, pid: i32, jobs: &[usize], runs: &[(Slot, i64)]) -> Execution {
        let held: Vec<i64> =
            self.locks.of_session(pid).filter(|lock| lock.form == Form::Bigint).map(|lock| lock.key).collect();
        let job = |slot: &Slot| jobs[slot.0];
        let has = |slot: &Slot| held.contains(&self.keys[job(slot)]) && self.has_group(pid, job(slot));
        let owned = runs.iter().map(|(slot, _)| *slot).filter(has).collect();
        let cancels = |(slot, epoch): &&(Slot, i64)| {
            self.store.rows.get(&job(slot)).is_some_and(|row| row.cancel == Some(*epoch))
        };
        let cancelled = runs.iter().filter(cancels).map(|(_, epoch)| *epoch).collect();
        Execution::Done(Answer::Pinged(Proof { marked: true, read_only: false, owned, cancelled }))
    }
}
