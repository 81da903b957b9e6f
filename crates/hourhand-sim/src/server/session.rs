//! Taking and letting go: `try_locks.sql`, `try_watches.sql`, `unlock.sql`, `unlock_watches.sql`, `owned.sql`.
//!
//! An advisory lock is no part of a transaction: what a statement has taken before it failed stays taken, and so does what it took
//! although its answer never arrived. That is the doubt that a node has to clear up, by asking what it holds and giving back what no run of
//! its owns. Locks count: one taken twice has to be let go twice, so no lock may ever be taken twice (looked at once a second).

use hourhand_core::protocol::{Answer, Question, Slot, TroubleKind};

use super::{Execution, Form, Lock, Note, Server};
use crate::bug::Bug;
use crate::time::At;

impl Server {
    pub(super) fn try_locks(&mut self, pid: i32, jobs: &[usize], slots: &[Slot], at: At) -> Execution {
        let turns = self.turns(jobs, slots, at);
        let wanted: Vec<usize> = slots.iter().map(|slot| jobs[slot.0]).collect();
        let execution = self.take(&wanted, |server, job| server.try_one(pid, *job, (&turns, at)));
        if self.bug == Some(Bug::SkipByFinder)
            && let Execution::Done(Answer::Tried(answers)) = &execution
        {
            let refused = slots.iter().zip(answers).filter(|(_, granted)| **granted == Some(false));
            refused.map(|(slot, _)| jobs[slot.0]).collect::<Vec<_>>().into_iter().for_each(|job| self.write_off(job));
        }
        execution
    }

    pub(super) fn try_watches(&mut self, pid: i32, jobs: &[usize], slots: &[Slot]) -> Execution {
        let locks: Vec<Lock> = slots.iter().map(|slot| Lock::watch(self.keys[jobs[slot.0]])).collect();
        self.take(&locks, |server, lock| server.locks.try_take(*lock, pid))
    }

    /// The beginning of a statement that is cancelled on its way.
    pub(crate) fn take_some(&mut self, pid: i32, question: &Question) {
        let (Some(jobs), Question::TryLocks(slots)) = (self.backends.get(&pid).map(|at| at.jobs.clone()), question)
        else {
            return;
        };
        if self.backends.get(&pid).is_some_and(|backend| backend.token.is_some()) {
            return;
        }
        for slot in slots.iter().take(slots.len().div_ceil(2)) {
            // The beginning of it may be the group's alone.
            let group = self.groups[jobs[slot.0]].map(Lock::of);
            if group.is_none_or(|group| self.locks.holder(group).is_none() && self.locks.try_take(group, pid)) {
                self.locks.try_take(Lock::of(self.keys[jobs[slot.0]]), pid);
            }
        }
    }

    /// With the lock table full the statement fails; what it has taken before stays taken.
    fn take<L>(&mut self, locks: &[L], try_one: impl Fn(&mut Server, &L) -> bool) -> Execution {
        let room = if self.out_of_locks { locks.len() / 2 } else { locks.len() };
        let granted = locks.iter().take(room).map(|lock| Some(try_one(self, lock))).collect();
        if room < locks.len() {
            Execution::Failed(TroubleKind::OutOfLocks)
        } else {
            Execution::Done(Answer::Tried(granted))
        }
    }

    /// [`Bug::SkipByFinder`]: the finder takes the running occurrence for handled.
    fn write_off(&mut self, job: usize) {
        if let Some(row) = self.store.rows.get_mut(&job)
            && let Some(occurrence) = row.scheduled_for
            && row.handled_until < occurrence
        {
            row.handled_until = occurrence;
            self.notes.push(Note::Skipped { job, by: None });
        }
    }

    pub(super) fn unlock(&mut self, pid: i32, jobs: &[usize], slots: &[Slot]) -> Execution {
        let locks = self.held_for(jobs, slots);
        self.give_back(pid, &locks)
    }

    pub(super) fn unlock_watches(&mut self, pid: i32, jobs: &[usize], slots: &[Slot]) -> Execution {
        let locks: Vec<Lock> = slots.iter().map(|slot| Lock::watch(self.keys[jobs[slot.0]])).collect();
        self.give_back(pid, &locks)
    }

    fn give_back(&mut self, pid: i32, locks: &[Lock]) -> Execution {
        let mut all_ours = true;
        for lock in locks {
            all_ours &= self.locks.let_go(*lock, pid);
            let job = self.job_of(lock.key);
            let row = job.and_then(|job| self.store.rows.get(&job));
            let open_run = row.filter(|row| row.epoch > row.ended_epoch && row.pid == Some(pid)).map(|row| row.epoch);
            self.notes.push(Note::Unlocked { pid, lock: *lock, open_run });
            if lock.form == Form::Bigint {
                self.notes.push(Note::NotifyFree { key: lock.key, from: pid });
            }
        }
        // A planted bug may have let go before.
        let all_ours = all_ours || matches!(self.bug, Some(Bug::UnlockBeforeEnd | Bug::GroupNotAsked));
        Execution::Done(Answer::Unlocked(all_ours))
    }

    /// [`Bug::UnlockBeforeEnd`]: the lock goes before the end is there.
    pub(super) fn unlock_early(&mut self, pid: i32, job: usize) {
        let lock = Lock::of(self.keys[job]);
        if self.locks.holder(lock) == Some(pid) {
            self.give_back(pid, &[lock]);
        }
    }

    /// Two statements of the same session, with nothing of its own in between: what it holds, and letting go what nobody knows of.
    pub(super) fn reconcile(&mut self, pid: i32, jobs: &[usize], locks: &[Slot], watches: &[Slot]) -> Execution {
        let wanted: Vec<Lock> = (self.held_for(jobs, locks).into_iter())
            .chain(watches.iter().map(|slot| Lock::watch(self.keys[jobs[slot.0]])))
            .collect();
        let held: Vec<Lock> = self.locks.of_session(pid).collect();
        let extra: Vec<Lock> = held.iter().filter(|lock| !wanted.contains(lock)).copied().collect();
        if self.bug != Some(Bug::DoubtIgnored) {
            self.give_back(pid, &extra);
        }
        Execution::Done(Answer::Reconciled { complete: wanted.iter().all(|lock| held.contains(lock)) })
    }
}
