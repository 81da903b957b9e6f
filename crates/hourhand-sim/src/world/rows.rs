//! Rows that are waited for, and the transactions that hold them.

use super::{Happening, World};
use crate::body::Step;
use crate::server::{Fenced, IDLE_IN_TRANSACTION, Waiter};

impl World {
    /// Whoever is in line for a row that has become free gets it.
    pub(super) fn serve_rows(&mut self) {
        while let Some((_, waiter)) = self.server.next_in_line() {
            match waiter {
                Waiter::Backend(pid) => {
                    if let Some(request) = self.server.held_up.remove(&pid) {
                        self.execute(pid, request);
                    }
                }
                Waiter::Tx(tx) => self.fence_arrived(tx),
            }
        }
    }

    pub(super) fn fence_arrived(&mut self, tx: u64) {
        let Some(body) = self.server.txs.get(&tx).map(|tx| tx.body) else { return };
        match self.server.fence(tx, self.now) {
            Fenced::Passed => {
                self.after(IDLE_IN_TRANSACTION, Happening::TxIdle { tx });
                if let Some(body) = body {
                    self.fence_passed(body);
                }
            }
            Fenced::Superseded => {
                if let Some(body) = body {
                    self.report.fenced_out += 1;
                    self.body_soon(body, Step::End(super::bodies::superseded()));
                }
            }
            Fenced::Waits => {}
        }
    }

    pub(super) fn commit_arrived(&mut self, tx: u64) {
        let Some(body) = self.server.txs.get(&tx).map(|tx| tx.body) else {
            return self.commit_answered(tx, false);
        };
        let done = self.server.commit(tx, self.now);
        self.report.commits += u64::from(done && body.is_some());
        self.commit_answered(tx, done);
    }

    pub(super) fn tx_idle(&mut self, tx: u64) {
        let since = self.server.txs.get(&tx).map(|tx| tx.idle_since);
        if since.is_some_and(|since| self.now - since >= IDLE_IN_TRANSACTION) {
            self.server.abort(tx);
        }
    }
}
