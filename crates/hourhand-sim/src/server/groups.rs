//! Jobs that have a group: `try_grouped.sql`, and what the other statements know of groups.
//!
//! A group is one more lock. A session takes it before the job's, and has both or neither: with the group's alone it would keep out
//! everybody and run nothing. Whose turn it is follows from watches, which say who waits, and from the rows, which say who ran last:
//! without turns a job that is due often would starve the others.
//!
//! The lock stops overlap, not a late write of a run that died: so whoever gets the group first ends the lost runs of all its
//! jobs, which closes their fences ([`Bug::GroupNotFenced`]).

use std::time::Duration;

use hourhand_core::protocol::Slot;

use super::{Lock, Server};
use crate::bug::Bug;
use crate::time::At;

/// A watcher that has begun no statement for so long keeps nobody out.
const WAITS: Duration = Duration::from_secs(5);

impl Server {
    /// All that a session holds when it has these jobs: their locks, then those of their groups.
    pub(super) fn held_for(&self, jobs: &[usize], slots: &[Slot]) -> Vec<Lock> {
        let jobs = || slots.iter().map(|slot| jobs[slot.0]);
        let groups = jobs().filter_map(|job| self.groups[job]).map(Lock::of);
        jobs().map(|job| Lock::of(self.keys[job])).chain(groups).collect()
    }

    /// The session has the lock of the job's group, if it has one.
    pub(super) fn has_group(&self, pid: i32, job: usize) -> bool {
        let held = |group: i64| self.locks.holder(Lock::of(group)) == Some(pid);
        self.bug == Some(Bug::GroupNotAsked) || self.groups[job].is_none_or(held)
    }

    /// Of each group asked for, the job whose turn it is.
    pub(super) fn turns(&self, jobs: &[usize], slots: &[Slot], at: At) -> Vec<usize> {
        let asked: Vec<usize> = slots.iter().map(|slot| jobs[slot.0]).collect();
        let waits = |job: usize| {
            let watcher = self.locks.holder(Lock::watch(self.keys[job])).and_then(|pid| self.backends.get(&pid));
            asked.contains(&job) || watcher.is_some_and(|watcher| at - watcher.begun < WAITS)
        };
        let free = |job: usize| self.locks.holder(Lock::of(self.keys[job])).is_none();
        let turn = |group: i64| {
            let members = (0..self.keys.len()).filter(|job| self.groups[*job] == Some(group));
            let waiting = members.filter(|job| self.store.rows.contains_key(job) && free(*job) && waits(*job));
            waiting.min_by_key(|job| self.store.rows.get(job).and_then(|row| row.started_at))
        };
        asked.iter().filter_map(|job| turn(self.groups[*job]?)).collect()
    }

    /// Both locks, or neither.
    pub(super) fn try_one(&mut self, pid: i32, job: usize, (turns, at): (&[usize], At)) -> bool {
        let lock = Lock::of(self.keys[job]);
        let Some(group) = self.groups[job].map(Lock::of) else { return self.locks.try_take(lock, pid) };
        if self.bug == Some(Bug::GroupNotAsked) {
            let granted = self.locks.try_take(lock, pid);
            if granted && self.locks.holder(group).is_none() {
                self.locks.try_take(group, pid);
            }
            return granted;
        }
        if !turns.contains(&job) || !self.locks.try_take(group, pid) {
            return false;
        }
        let granted = self.locks.try_take(lock, pid);
        if !granted {
            self.locks.let_go(group, pid);
            return false;
        }
        let alone = self.settle_group(pid, job, at);
        if !alone {
            self.locks.let_go(lock, pid);
            self.locks.let_go(group, pid);
        }
        alone
    }

    /// Lost runs of the others of its group are ended; false: one of them is just being committed.
    fn settle_group(&mut self, pid: i32, job: usize, at: At) -> bool {
        if self.bug == Some(Bug::GroupNotFenced) {
            return true;
        }
        let kin = |other: &usize| *other != job && self.groups[*other] == self.groups[job];
        let lost: Vec<usize> = (0..self.keys.len()).filter(kin).filter(|other| self.is_lost(*other, at)).collect();
        for other in &lost {
            if !self.row_locked(*other) {
                self.settle_row(*other, true, self.now(at));
            }
        }
        let left: Vec<usize> = lost.into_iter().filter(|other| self.is_lost(*other, at)).collect();
        for other in &left {
            self.unblock(pid, *other, at);
        }
        left.is_empty()
    }
}
