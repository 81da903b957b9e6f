//! Who is in the way: `maintain.sql` and `unblock.sql`.

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
