//! Groups of jobs that never overlap, anywhere in the fleet.
//!
//! A group is a session lock of its own, which one statement tries before the job's and lets go where the job's is refused: the
//! session has both or neither, so nothing here keeps account of it. `unlock` lets both go, the job's first; ping, reconciling and
//! the start's own look ask for both.
//!
//! *In-process first.* A lock is re-entrant within a session: a second job of the group would be granted it as well. So none is
//! tried while another of its group has a lock here; it waits, like one whose lock another node has.
//!
//! *Turns.* Whoever lets a group go is the first to know, and one that is always due would take it again each time. So a waiting job
//! waits with its own watch, which everybody sees, and the statement lets of all that wait (and are asked for) only the one try
//! whose newest start is the oldest. Each of them gets its turn after at most one run of each other. A watcher that has begun no
//! statement for some seconds, or whose job somebody holds, keeps nobody out.
//!
//! A member whose row is not to be had (somebody's open transaction) gives its group up meanwhile.

use super::index::Mark;
use super::life::{Contention, Life};
use super::{Node, Now};
use crate::protocol::{Slot, TriggerAnswer};
use crate::time::Mono;

impl Node {
    /// Another job of its group has a lock in this process, or a body that still stops though its lock is lost.
    pub(super) fn group_busy(&self, slot: Slot) -> bool {
        let group = &self.job(slot).definition.group;
        group.as_ref().is_some_and(|group| self.index.is_busy(group.key.0, slot))
    }

    /// A body whose lock is lost still stops here, or blocks: no lock of the group is tried meanwhile, nor pinged for, and who watches
    /// in silence is taken for frozen.
    pub(super) fn leave_group_watches(&mut self, now: Mono) {
        for slot in self.index.all(Mark::WatchingInGroup).collect::<Vec<_>>() {
            if self.group_busy(slot) && !self.holds_any_lock() {
                let again_at = self.outside_at(now);
                self.live(slot, Life::Contended(Contention { again_at, outside: true, maintain: false }));
            }
        }
    }

    /// Those whose group is busy here wait for it as for another node's lock.
    pub(super) fn wait_for_groups(&mut self, now: Now) {
        for slot in self.those(Mark::Wanted, |job| job.definition.group.is_some()) {
            if self.group_busy(slot) {
                self.lock_refused(now, slot);
            }
        }
    }

    /// A group's lock was let go: its jobs that watch here try at once.
    pub(super) fn group_freed(&mut self, now: Mono, key: i64) {
        let of_group = |group: &crate::job::Group| group.key.0 == key;
        for slot in self.those(Mark::Watch, |job| job.definition.group.as_ref().is_some_and(of_group)) {
            if let Life::Contended(contention) = &mut self.job_mut(slot).life {
                contention.again_at = now;
            }
        }
    }

    /// What whoever wants a run now is told if it can't be had because of the job's group.
    pub(super) fn group_runs(&self, slot: Slot) -> Option<TriggerAnswer> {
        let group = self.job(slot).definition.group.as_ref()?;
        let node = Some(format!("another job of group {}", group.name));
        Some(TriggerAnswer::AlreadyRunning { node, since: None, epoch: None })
    }

    /// The row is not to be had: the others of its group need not wait for it.
    pub(super) fn give_up_group(&mut self, now: Now, slot: Slot) {
        if self.job(slot).definition.group.is_some() && matches!(self.job(slot).life, Life::Granted(_)) {
            let again_at = self.outside_at(now.mono);
            self.live(slot, Life::Contended(Contention { again_at, outside: true, maintain: false }));
        }
    }
}
