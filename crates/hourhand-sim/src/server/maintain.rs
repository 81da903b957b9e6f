//! Who is in the way: `maintain.sql` and `unblock.sql`.
//!
//! A session is judged by the last instant at which it *began* a statement, not by what it answered or by its state: a frozen process
//! has a kernel that goes on acknowledging, and a session in the middle of a long statement has begun it. The bound, 5/4 of the ttl
//! that its own name tells, lies beyond the instant at which an honest holder that was cut off has given up by itself (3/5 ttl) and
//! stopped its bodies, so whoever is evicted either has no body left or is frozen and will find its lock gone when it is thawed.
//! The checks hold that against the truth: nobody may be evicted who was neither frozen nor behind a bad line.
//!
//! The model's sessions may all see each other; what happens where a role may not is tried on real servers.

use std::time::Duration;

use hourhand_core::protocol::{Answer, Obstacle, Slot};

use super::{Cause, Execution, Lock, Server, TxState};
use crate::bug::Bug;
use crate::time::At;

impl Server {
    pub(super) fn maintain(&mut self, pid: i32, jobs: &[usize], slots: &[Slot], at: At) -> Execution {
        let mut seen = Vec::new();
        for slot in slots {
            let key = self.keys[jobs[slot.0]];
            let group = self.groups[jobs[slot.0]].map(|group| (Lock::of(group), false));
            for (lock, watch) in [(Lock::of(key), false), (Lock::watch(key), true)].into_iter().chain(group) {
                let holder = self.locks.holder(lock).filter(|holder| *holder != pid);
                seen.extend(holder.and_then(|holder| self.obstacle(holder, watch, at)).map(|found| (*slot, found)));
            }
        }
        for (_, obstacle) in seen.iter().filter(|(_, obstacle)| obstacle.evicted) {
            self.end_session(obstacle.pid, Cause::Evicted);
        }
        Execution::Done(Answer::Obstacles(seen))
    }

    fn obstacle(&self, pid: i32, watch: bool, at: At) -> Option<Obstacle> {
        let backend = self.backends.get(&pid)?;
        let silent = at - backend.begun;
        let ours = backend.application.starts_with("hourhand/");
        let patience = match self.bug {
            Some(Bug::EvictTooSoon) => backend.ttl / 10,
            _ => backend.ttl * 5 / 4,
        };
        let application = Some(backend.application.to_string());
        // A stranger may hold the key on purpose: it is reported, never ended.
        let evicted = ours && silent > patience;
        Some(Obstacle { pid, application, client: None, silent: Some(silent), ours, watch, evicted, forbidden: false })
    }

    pub(super) fn unblock(&mut self, pid: i32, job: usize, at: At) -> Execution {
        let Some(tx) = self.row_locks.get(&job).and_then(|tx| self.txs.get(tx)) else {
            return Execution::Done(Answer::Blocker(None));
        };
        let ttl = self.backends.get(&pid).map_or(Duration::ZERO, |backend| backend.ttl);
        let (id, silent) = (tx.id, at - tx.idle_since);
        let evicted = tx.state == TxState::Fenced && silent > ttl * 5 / 4;
        if evicted {
            self.abort(id);
        }
        Execution::Done(Answer::Blocker(Some(Obstacle {
            pid: 0,
            application: None,
            client: None,
            silent: Some(silent),
            ours: false,
            watch: false,
            evicted,
            forbidden: false,
        })))
    }
}
