//! Runs, as the server tells of them: that they begin, end, write and cover, and in which order they may.

use hourhand_core::outcome::Outcome;
use jiff::Timestamp;

use super::Checks;
use crate::server::{Form, Lock, Note, Server, Tx};
use crate::time::At;

impl Checks {
    /// What happened on the server: kept as truth, and held against what was true before.
    ///
    /// Runs under a job's old name and under its new one are runs of one job, which is kept under the first.
    pub(crate) fn hear(&mut self, note: &Note, server: &Server, at: At) {
        let origin = |job: &usize| server.origins[*job];
        match note {
            Note::Started { job, .. } => self.started(origin(job), note, at),
            Note::Ended { job, epoch, outcome, completed, due_from } => {
                let job = origin(job);
                self.due_from[job] = due_from.or(self.due_from[job]);
                if due_from.is_some() {
                    self.deaths[job] = 0;
                }
                self.ended(job, *epoch, *outcome == Outcome::Succeeded && !completed, at);
            }
            Note::Settled { job, died, gave_up, scheduled, due_from } => {
                let job = origin(job);
                self.due_from[job] = due_from.or(self.due_from[job]);
                if *scheduled {
                    self.deaths[job] = if *died { self.deaths[job] + 1 } else { 0 };
                }
                let deaths = self.deaths[job];
                self.require(deaths < 3 || *gave_up || !scheduled, at, || {
                    format!("P8: {deaths} processes died in a row under job {job}, and its occurrence is not given up")
                });
            }
            Note::Skipped { job, by } => {
                self.require(by.is_some(), at, || format!("P3: an occurrence of job {job} is skipped by no run"));
            }
            Note::Unlocked { lock, .. } => self.freed(*lock, server, at),
            Note::SessionGone { locks, .. } => locks.iter().for_each(|lock| self.freed(*lock, server, at)),
            Note::Committed { tx, row_epoch } => self.committed(tx, *row_epoch, server, at),
            Note::WindowOpened { job, from, until, began } => {
                self.window_opened(origin(job), (*from, *until), *began, at)
            }
            Note::Covered { job, from, until, before } => self.has_covered(origin(job), (*from, *until), *before),
            Note::Taken { id, again } => self.request_taken(*id, *again, at),
            Note::NotifyFree { .. } | Note::NotifyStart { .. } | Note::NotifyLook { .. } => {}
        }
    }

    fn started(&mut self, job: usize, note: &Note, at: At) {
        let Note::Started { epoch, before, occurrence, repeated, handled, foreign, continuous, .. } = *note else {
            return;
        };
        if continuous {
            // Occurrences that the job had before are forgotten, with their deaths.
            self.deaths[job] = 0;
        }
        if continuous || occurrence.is_some() {
            self.due_from[job] = None;
        }
        let fresh = epoch > before && !self.runs.contains_key(&(job, epoch));
        self.require(fresh, at, || format!("P2: epoch {epoch} of job {job} is not a new one ({before})"));
        let repeated = repeated || occurrence.is_some_and(|occurrence| self.successes.contains_key(&(job, occurrence)));
        self.require(!repeated && !handled, at, || {
            format!("P1: run {epoch} of job {job} repeats {occurrence:?}, which is handled")
        });
        self.require(!foreign, at, || {
            format!("deploy: run {epoch} of job {job} is for {occurrence:?}, which the registered definition has not")
        });
        self.runs.insert((job, epoch), occurrence);
        self.newest[job] = epoch;
        self.newest_at[job] = at;
    }

    fn ended(&mut self, job: usize, epoch: i64, success: bool, at: At) {
        let Some(occurrence) = self.runs.get(&(job, epoch)).copied().flatten() else { return };
        self.deaths[job] = 0;
        if success {
            let before = self.successes.insert((job, occurrence), at);
            self.require(before.is_none(), at, || format!("P3: {occurrence} of job {job} succeeded twice"));
        }
    }

    /// A start has taken a request: a run now once, each occurrence of a backfill once and in order.
    fn request_taken(&mut self, id: i64, again: Option<Timestamp>, at: At) {
        let before = self.taken.insert(id, (again, at));
        let once = before.is_none_or(|(before, _)| before < again);
        self.require(once, at, || format!("request {id} is taken for {again:?} after {before:?}"));
    }

    /// A fenced write has become visible.
    fn committed(&mut self, tx: &Tx, row_epoch: i64, server: &Server, at: At) {
        let (job, groups) = (server.origins[tx.job], &server.groups);
        let newest = self.newest[job];
        self.require(row_epoch == tx.epoch && newest == tx.epoch, at, || {
            format!("P2: run {} of job {} wrote, and the current one is {newest} (row: {row_epoch})", tx.epoch, tx.job)
        });
        let own = self.newest_at[job];
        let kin = |other: &usize| groups[job].is_some() && groups[*other] == groups[job] && *other != job;
        let later = (0..groups.len()).filter(kin).find(|other| self.newest_at[*other] > own);
        self.require(later.is_none() || own == At::default(), at, || {
            format!("P2: run {} of job {} wrote after job {later:?} of its group had begun", tx.epoch, tx.job)
        });
    }

    /// A lock is let go: a job's, or that of a group.
    fn freed(&mut self, lock: Lock, server: &Server, at: At) {
        if lock.form != Form::Bigint {
            return;
        }
        for (job, freed_at) in self.freed_at.iter_mut().enumerate() {
            if server.keys[job] == lock.key || server.groups[job] == Some(lock.key) {
                *freed_at = at;
            }
        }
    }

    /// A run (of no backfill) begins: its window, but for what it looks back, goes on where the last success ended (P11). What was
    /// covered is kept here, apart from the row.
    fn window_opened(&mut self, job: usize, (from, until): (Timestamp, Timestamp), began: Timestamp, at: At) {
        let covered = *self.covered[job].get_or_insert(from);
        let good = from == covered && until <= began.max(from);
        self.require(good, at, || {
            format!("P11: a run of job {job} begins at {began} with the window from {from} to {until}, and {covered} is covered")
        });
    }

    /// A success or a checkpoint: what lies behind a gap does not count.
    fn has_covered(&mut self, job: usize, (from, until): (Timestamp, Timestamp), before: Timestamp) {
        let covered = self.covered[job].get_or_insert(before);
        if from <= *covered {
            *covered = (*covered).max(until);
        }
    }
}
