//! The maintainer: whoever waits for a lock sees who holds it, and frees the way if he has gone silent.
//!
//! A frozen process keeps its session: its kernel answers the server's keepalives for it. What it cannot do is begin a statement, and
//! a holder begins one every ttl/5. So a session that calls itself hourhand and has begun none for 5/4 of *its own* ttl is
//! ended, by pid and start. The same holds for a silent watcher, seen by those it keeps out. A session that is not hourhand's
//! may hold our key on purpose (another language, under the same lock): it is reported, and ended only if the settings say so.
//!
//! The third obstacle is the job's row: a process frozen inside its fenced transaction holds it on another connection, where no
//! lock of ours shows it. It is found through the row's `xmax`, and ended only when idle in its transaction for as long.

use std::time::Duration;

use super::index::Mark;
use super::life::Life;
use super::{Node, Now};
use crate::protocol::{Notice, Obstacle, Question, Slot};

/// How soon the lock is tried again after its silent holder was ended.
const AFTER_EVICTION: Duration = Duration::from_millis(50);

impl Node {
    /// What is to be looked into, after a refusal.
    pub(super) fn maintain(&self) -> Option<Question> {
        let refused: Vec<Slot> = self.index.all(Mark::Refused).collect();
        if !refused.is_empty() {
            return Some(Question::Maintain(refused));
        }
        self.index.all(Mark::Blocked).next().map(Question::Unblock)
    }

    /// A lock or a watch was refused: worth a look into who has it, not more often than a holder pings.
    pub(super) fn wants_maintenance(&self, now: Now, slot: Slot) -> bool {
        self.job(slot).maintained_at.is_none_or(|at| now.mono - at >= self.spans.ping_interval)
    }

    pub(super) fn obstacles_seen(&mut self, now: Now, asked: Vec<Slot>, seen: Vec<(Slot, Obstacle)>) {
        for slot in asked {
            self.job_mut(slot).maintained_at = Some(now.mono);
            if let Life::Contended(contention) = &mut self.job_mut(slot).life {
                contention.maintain = false;
            }
        }
        for (slot, obstacle) in seen {
            let (evicted, foreign) = (obstacle.evicted, !obstacle.ours && !obstacle.watch);
            self.say_obstacle(slot, obstacle);
            if foreign && !evicted {
                continue;
            }
            if let Life::Contended(contention) = &mut self.job_mut(slot).life
                && evicted
            {
                contention.outside = false;
                contention.again_at = now.mono + AFTER_EVICTION;
            }
        }
    }

    fn say_obstacle(&mut self, slot: Slot, obstacle: Obstacle) {
        let pid = obstacle.pid;
        if obstacle.evicted {
            self.say(Notice::Evicted { slot, holder: obstacle });
        } else if obstacle.forbidden {
            // One that can't be seen may be well: worth a word once (as pid 0, which is nobody's), not with every run.
            let unseen = obstacle.silent.is_none();
            let before = self.job_mut(slot).said_may_not.replace(if unseen { 0 } else { pid });
            let said = if unseen { before.is_some() } else { before == Some(pid) };
            if !said {
                self.say(Notice::MayNotEvict { slot, holder: obstacle });
            }
        } else if !obstacle.ours && !obstacle.watch {
            self.say_foreign(slot, obstacle);
        }
    }

    pub(super) fn say_foreign(&mut self, slot: Slot, holder: Obstacle) {
        if self.job_mut(slot).said_foreign.replace(holder.pid) != Some(holder.pid) {
            self.say(Notice::ForeignHolder { slot, holder });
        }
    }

    pub(super) fn blocker_seen(&mut self, now: Now, slot: Slot, blocker: Option<Obstacle>) {
        let evicted = blocker.as_ref().is_some_and(|blocker| blocker.evicted);
        if let Life::Granted(grant) = &mut self.job_mut(slot).life {
            grant.blocked = false;
            if evicted {
                grant.retry_at = now.mono;
            }
        }
        match blocker {
            Some(holder) if evicted => self.say(Notice::Evicted { slot, holder }),
            blocker => {
                self.say_row_locked(slot, blocker);
                self.give_up_group(now, slot);
            }
        }
    }

    /// Once, until the row is to be had again.
    pub(super) fn say_row_locked(&mut self, slot: Slot, blocker: Option<Obstacle>) {
        if !std::mem::replace(&mut self.job_mut(slot).said_row_locked, true) {
            self.say(Notice::RowLocked { slot, blocker });
        }
    }
}
