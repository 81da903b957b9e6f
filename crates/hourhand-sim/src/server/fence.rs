//! Transactions of bodies, which hold a job's row from `fence` or `complete` until they end.
//!
//! That is the whole fence: the row is locked and the epoch compared, in the body's own transaction. While it is open no start of the job
//! gets the row, so the run that writes is the current one until its write is visible, whatever became of its lock. A body that
//! keeps such a transaction open and falls silent blocks its successors, which is why whoever waits for the row may end it.

use std::time::Duration;

use hourhand_core::outcome::Outcome;
use jiff::SignedDuration;

use super::{Note, Server, Waiter};
use crate::bug::Bug;
use crate::time::At;

/// A transaction of a body (or of anybody who locks a job's row).
#[derive(Clone, Debug)]
pub(crate) struct Tx {
    pub(crate) id: u64,
    /// The body that it belongs to; none for a stranger's.
    pub(crate) body: Option<u64>,
    pub(crate) job: usize,
    pub(crate) epoch: i64,
    /// Calls `complete` instead of `fence`.
    pub(crate) completes: bool,
    pub(crate) state: TxState,
    pub(crate) idle_since: At,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TxState {
    /// Before the fence.
    Writing,
    /// The fence waits for the row.
    Waiting,
    /// The fence has passed.
    Fenced,
}

/// What came of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fenced {
    Passed,
    Superseded,
    Waits,
}

impl Server {
    /// Begins a transaction.
    pub(crate) fn begin(&mut self, body: Option<u64>, job: usize, epoch: i64, completes: bool) -> u64 {
        self.next_tx += 1;
        let state = TxState::Writing;
        let tx = Tx { id: self.next_tx, body, job, epoch, completes, state, idle_since: At::default() };
        self.txs.insert(self.next_tx, tx);
        self.next_tx
    }

    /// `fence` or `complete`: takes the row, and looks whether the run is the current one.
    pub(crate) fn fence(&mut self, id: u64, at: At) -> Fenced {
        let Some(tx) = self.txs.get(&id).cloned() else { return Fenced::Superseded };
        if self.row_locks.get(&tx.job).is_some_and(|holder| *holder != id) {
            self.set_state(id, TxState::Waiting, at);
            self.waiting.entry(tx.job).or_default().push_back(Waiter::Tx(id));
            return Fenced::Waits;
        }
        let current = self.store.rows.get(&tx.job).is_some_and(|row| match self.bug {
            _ if tx.body.is_none() => true,
            Some(Bug::FenceTooWide) => row.epoch >= tx.epoch,
            _ => row.epoch == tx.epoch && row.ended_epoch < tx.epoch,
        });
        if !current {
            self.txs.remove(&id);
            return Fenced::Superseded;
        }
        self.row_locks.insert(tx.job, id);
        self.set_state(id, TxState::Fenced, at);
        Fenced::Passed
    }

    fn set_state(&mut self, id: u64, state: TxState, at: At) {
        if let Some(tx) = self.txs.get_mut(&id) {
            tx.state = state;
            tx.idle_since = at;
        }
    }

    /// COMMIT; false: there is no such transaction any more, or the success is one too many.
    pub(crate) fn commit(&mut self, id: u64, at: At) -> bool {
        let Some(tx) = self.txs.get(&id).filter(|tx| tx.state == TxState::Fenced).cloned() else { return false };
        let done = !tx.completes || self.complete(&tx, at);
        self.checkpoint(&tx);
        if done && tx.body.is_some() {
            let row_epoch = self.store.rows.get(&tx.job).map_or(0, |row| row.epoch);
            self.notes.push(Note::Committed { tx, row_epoch });
        }
        self.abort(id);
        done
    }

    /// What `complete` has written becomes visible.
    fn complete(&mut self, tx: &Tx, at: At) -> bool {
        let now = self.now(at);
        let Some(row) = self.store.rows.get_mut(&tx.job) else { return false };
        let occurrence = row.scheduled_for.filter(|_| row.scheduled());
        if occurrence.is_some_and(|occurrence| self.store.has_succeeded(tx.job, occurrence)) {
            return false;
        }
        self.cover(tx.job, None);
        let Some(row) = self.store.rows.get_mut(&tx.job) else { return false };
        row.ended_epoch = tx.epoch;
        row.last_outcome = Some("succeeded".to_owned());
        row.last_success_at = Some(now);
        if let Some(occurrence) = occurrence {
            row.handled_until = row.handled_until.max(occurrence);
            (row.open_for, row.attempts, row.deaths, row.not_before) = (None, 0, 0, None);
        }
        if row.continuous() {
            row.count_soon(false, true);
            let wait = 2_i64.pow(row.attempt.saturating_sub(1).min(10)).min(300);
            row.not_before = Some(now + SignedDuration::from_secs(wait));
        }
        let due_from = row.not_before.filter(|_| row.continuous());
        let row = row.clone();
        self.store.write_end(tx.job, &row, tx.epoch, "succeeded");
        let (job, epoch, outcome) = (tx.job, tx.epoch, Outcome::Succeeded);
        self.notes.push(Note::Ended { job, epoch, outcome, completed: false, due_from });
        true
    }

    /// ROLLBACK, or the end of its session.
    pub(crate) fn abort(&mut self, id: u64) {
        let Some(tx) = self.txs.remove(&id) else { return };
        self.wait_no_more(Waiter::Tx(id));
        if self.row_locks.get(&tx.job) == Some(&id) {
            self.row_locks.remove(&tx.job);
        }
    }

    /// Who is next in line for a row that is free.
    pub(crate) fn next_in_line(&mut self) -> Option<(usize, Waiter)> {
        let (job, waiter) = self
            .waiting
            .iter()
            .filter(|(job, _)| !self.row_locks.contains_key(job))
            .find_map(|(job, line)| line.front().map(|waiter| (*job, *waiter)))?;
        let line = self.waiting.get_mut(&job)?;
        line.pop_front();
        if line.is_empty() {
            self.waiting.remove(&job);
        }
        Some((job, waiter))
    }
}

/// `idle_in_transaction_session_timeout` of the users' sessions.
pub(crate) const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(60);
