//! Windows: the span of outside data that a run has to cover.

use hourhand_core::outcome::Trigger;
use hourhand_core::protocol::Start;
use jiff::Timestamp;

use super::{Note, Row, Server, Tx};
use crate::bug::Bug;

impl Server {
    /// The window of a start, in the row and as the answer tells it.
    pub(super) fn open_window(&mut self, job: usize, start: &Start, now: Timestamp) -> (Timestamp, Timestamp) {
        let definition = self.registered(job);
        let again = start.taken.and_then(|taken| taken.again);
        let Some(row) = self.store.rows.get_mut(&job) else { return (now, now) };
        let from = again.map_or(row.covered_until - definition.lookback, |again| again.occurrence);
        let bound = definition.window_max.filter(|_| again.is_none()).map(|most| from + most);
        let until = [start.window_end, bound].into_iter().flatten().fold(now, Timestamp::min).max(from);
        (row.window_from, row.window_until) = (from, until);
        if again.is_none() {
            let from = from + definition.lookback;
            self.notes.push(Note::WindowOpened { job, from, until, began: now });
        }
        (row.window_from, row.window_until)
    }

    /// A success, or a checkpoint at this instant, moves the start of the next window, if no gap lies between.
    pub(super) fn cover(&mut self, job: usize, checkpoint: Option<Timestamp>) {
        let careless = self.bug == Some(Bug::WindowsWithGaps);
        let Some(row) = self.store.rows.get_mut(&job) else { return };
        let until = checkpoint.unwrap_or(row.window_until).min(row.window_until);
        let before = row.covered_until;
        if row.window_from <= row.covered_until || careless {
            row.covered_until = row.covered_until.max(until);
        }
        let from = row.window_from;
        self.notes.push(Note::Covered { job, from, until, before });
    }

    /// Every other transaction of a body that is not the end of its run is a checkpoint half way through.
    pub(super) fn checkpoint(&mut self, tx: &Tx) {
        let Some(row) = self.store.rows.get(&tx.job) else { return };
        if tx.body.is_some() && !tx.completes && tx.id.is_multiple_of(2) && row.epoch == tx.epoch && !row.continuous() {
            let half = row.window_until.duration_since(row.window_from) / 2;
            self.cover(tx.job, Some(row.window_from + half));
        }
    }
}

impl Row {
    /// The newest run succeeded with a window that ended before it began.
    pub(super) fn window_behind(&self) -> bool {
        let began = |at: Timestamp| self.started_at.is_some_and(|started| at < started);
        self.trigger != Some(Trigger::Backfill)
            && self.last_outcome.as_deref() == Some("succeeded")
            && self.ended_epoch == self.epoch
            && began(self.window_until)
            && began(self.covered_until)
    }
}
