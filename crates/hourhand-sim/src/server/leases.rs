//! Leases: `take_leases.sql`, `renew_leases.sql`, `release_leases.sql`, `reconcile_leases.sql`. A lease is a row, and outlives the
//! session that took it; it runs out by the server's clock.
//!
//! So it differs from a lock in all that this simulator cares for. Nobody learns that its holder died: it is waited out. A step of
//! the server's clock ends it early, and then two bodies may overlap until the holder's next renewal; that is in the contract, and
//! the checks excuse it for as long. And a failover carries it over, where locks are gone with their sessions.
//!
//! In some runs half of the processes take leases and the others locks, as in the middle of a deploy that changes from one to the other: taking a
//! lease asks that nobody holds the key, and a start of either kind asks for both again ([`Server::may_run`]).

use std::time::Duration;

use hourhand_core::protocol::{Answer, Proof, Slot};
use jiff::{SignedDuration, Timestamp};

use super::{Execution, Lock, Note, Server};
use crate::time::At;

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    /// Of the node that took it.
    pub(crate) token: u64,
    pub(crate) holder: String,
    pub(crate) epoch: Option<i64>,
    /// None: let go.
    pub(crate) expires_at: Option<Timestamp>,
}

impl Server {
    /// A lease that has not run out.
    pub(crate) fn live_lease(&self, job: usize, now: Timestamp) -> Option<&Lease> {
        self.store.leases.get(&job).filter(|lease| lease.expires_at.is_some_and(|until| until > now))
    }

    /// Whether the caller has the job to itself, by its kind of exclusion.
    pub(super) fn may_run(&self, pid: i32, job: usize, now: Timestamp) -> bool {
        let holder = self.locks.holder(Lock::of(self.keys[job]));
        let live = self.live_lease(job, now);
        match self.backends.get(&pid).and_then(|backend| backend.token) {
            None => live.is_none() && holder == Some(pid),
            Some(token) => live.is_some_and(|lease| lease.token == token) && holder.is_none(),
        }
    }

    pub(super) fn take_leases(
        &mut self,
        (pid, token): (i32, u64),
        jobs: &[usize],
        slots: &[Slot],
        at: At,
    ) -> Execution {
        let now = self.now(at);
        let Some(backend) = self.backends.get(&pid) else { return Execution::Done(Answer::Tried(Vec::new())) };
        let (holder, ttl) = (backend.application.to_string(), backend.ttl);
        let mut granted = Vec::new();
        for slot in slots {
            let job = jobs[slot.0];
            let free = self.live_lease(job, now).is_none() && self.locks.holder(Lock::of(self.keys[job])).is_none();
            if free {
                let expires_at = Some(later(now, ttl));
                self.store.leases.insert(job, Lease { token, holder: holder.clone(), epoch: None, expires_at });
            }
            granted.push(Some(free));
        }
        Execution::Done(Answer::Tried(granted))
    }

    pub(super) fn renew_leases(
        &mut self,
        (pid, token): (i32, u64),
        jobs: &[usize],
        runs: &[(Slot, i64)],
        at: At,
    ) -> Execution {
        let now = self.now(at);
        let ttl = self.backends.get(&pid).map_or(Duration::ZERO, |backend| backend.ttl);
        let (mut owned, mut cancelled) = (Vec::new(), Vec::new());
        for (slot, epoch) in runs {
            let job = jobs[slot.0];
            if self.live_lease(job, now).is_some_and(|lease| lease.token == token) {
                self.store.leases.entry(job).and_modify(|lease| lease.expires_at = Some(later(now, ttl)));
                owned.push(*slot);
            }
            if self.store.rows.get(&job).is_some_and(|row| row.cancel == Some(*epoch)) {
                cancelled.push(*epoch);
            }
        }
        Execution::Done(Answer::Pinged(Proof { marked: true, read_only: false, owned, cancelled }))
    }

    pub(super) fn release_leases(
        &mut self,
        (pid, token): (i32, u64),
        jobs: &[usize],
        slots: &[Slot],
        at: At,
    ) -> Execution {
        let now = self.now(at);
        let mut all_ours = true;
        for slot in slots {
            let job = jobs[slot.0];
            all_ours &= self.live_lease(job, now).is_some_and(|lease| lease.token == token);
            self.let_lease_go((pid, token), job);
        }
        Execution::Done(Answer::Unlocked(all_ours))
    }

    fn let_lease_go(&mut self, (pid, token): (i32, u64), job: usize) {
        let Some(lease) = self.store.leases.get_mut(&job).filter(|lease| lease.token == token) else { return };
        lease.expires_at = None;
        let epoch = lease.epoch.take();
        let row = self.store.rows.get(&job);
        let open_run = row.filter(|row| row.epoch > row.ended_epoch && Some(row.epoch) == epoch).map(|row| row.epoch);
        let lock = Lock::of(self.keys[job]);
        self.notes.push(Note::Unlocked { pid, lock, open_run });
        self.notes.push(Note::NotifyFree { key: lock.key, from: pid });
    }

    pub(super) fn reconcile_leases(
        &mut self,
        (pid, token): (i32, u64),
        jobs: &[usize],
        keep: &[Slot],
        at: At,
    ) -> Execution {
        let now = self.now(at);
        let kept: Vec<usize> = keep.iter().map(|slot| jobs[slot.0]).collect();
        let ours = |server: &Server, job: usize| server.live_lease(job, now).is_some_and(|lease| lease.token == token);
        let extra: Vec<usize> =
            self.store.leases.keys().copied().filter(|job| ours(self, *job) && !kept.contains(job)).collect();
        extra.into_iter().for_each(|job| self.let_lease_go((pid, token), job));
        let complete = kept.iter().all(|job| ours(self, *job));
        Execution::Done(Answer::Reconciled { complete })
    }
}

fn later(now: Timestamp, length: Duration) -> Timestamp {
    now + SignedDuration::try_from(length).unwrap_or(SignedDuration::ZERO)
}
