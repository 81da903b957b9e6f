//! The three statements that write a job's row: `settle.sql`, `start.sql`, `end.sql`.
//!
//! All three take the row `for no key update`, and a body's fence has taken it before in a transaction that is open. What they do then
//! is the heart of the protocol, so it is the same here:
//!
//! - `start` passes over a locked row (`skip locked`), so that one job's open transaction does not hold up the others of the same
//!   visit; tried again alone, it waits in line, within `lock_timeout`.
//! - After waiting, PostgreSQL reads the row again but keeps the statement's snapshot for everything else. So all that decides stands
//!   in columns of the row ([`Server::may_start`]); what was seen elsewhere comes from the [`Snapshot`] taken when the statement began,
//!   which is how [`Bug::CheckByHistory`] repeats an occurrence, here as on a real server.
//! - `end` is conditional on the epoch and on there being no end yet; a run whose body has committed `complete` has its end already,
//!   and the node's own then only adds to it.
//! - `settle` writes the end of a run that nobody reported, and nothing else: what is to be started is decided by a look of its own.

use hourhand_core::outcome::{Outcome, Trigger};
use hourhand_core::protocol::{Answer, End, EndAnswer, EndForm, Start, StartAnswer, Started};
use jiff::{SignedDuration, Timestamp};

use super::{Execution, Lock, Note, Row, Server, Snapshot};
use crate::bug::Bug;
use crate::time::At;

impl Server {
    pub(super) fn settle(&mut self, pid: i32, job: usize, (epoch, died): (i64, bool), at: At) -> Execution {
        let now = self.now(at);
        let open = |row: &&mut Row| row.epoch == epoch && row.epoch > row.ended_epoch;
        if self.row_locked(job) && self.store.rows.get_mut(&job).filter(open).is_some() {
            return Execution::Wait(job);
        }
        if !self.may_run(pid, job, now) || self.store.rows.get_mut(&job).filter(open).is_none() {
            return Execution::Done(Answer::Settled(None));
        }
        Execution::Done(Answer::Settled(self.settle_row(job, died, now)))
    }

    /// What the function does, for whoever may: the deaths in a row, and whether the occurrence is given up.
    pub(super) fn settle_row(&mut self, job: usize, died: bool, now: Timestamp) -> Option<(u32, bool)> {
        let counts = self.bug != Some(Bug::DeathsForgotten);
        let row = self.store.rows.get_mut(&job)?;
        let epoch = row.epoch;
        row.ended_epoch = epoch;
        row.last_outcome = Some("lost".to_owned());
        let (mut deaths, mut gave_up) = (row.deaths, false);
        if row.continuous() {
            let steady =
                row.started_at.is_some_and(|started| now.duration_since(started) > SignedDuration::from_mins(10));
            deaths = match died && counts {
                true if steady => 1,
                true => row.deaths + 1,
                false => 0,
            };
            row.deaths = deaths;
            let wait = if deaths >= 2 { 300.min(30 * 2_i64.pow((deaths - 2).min(10))) } else { 0 };
            row.not_before = Some(now + SignedDuration::from_secs(wait));
        } else if row.scheduled() {
            deaths = if died && counts { row.deaths + 1 } else { 0 };
            gave_up = deaths >= 3;
            row.deaths = deaths;
            row.not_before = (deaths >= 2).then(|| now + SignedDuration::from_secs(30));
            if gave_up {
                row.last_outcome = Some("failed".to_owned());
                row.handled_until = row.scheduled_for.map_or(row.handled_until, |at| row.handled_until.max(at));
                (row.open_for, row.attempts) = (None, 0);
            } else {
                row.open_for = row.scheduled_for;
            }
        }
        let (row, scheduled) = (row.clone(), row.scheduled());
        if died && !scheduled {
            self.step_died(job, epoch);
        }
        let due_from = row.not_before.filter(|_| row.continuous());
        self.store.write_end(job, &row, epoch, if gave_up { "failed" } else { "lost" });
        self.notes.push(Note::Settled { job, died, gave_up, scheduled, due_from });
        Some((deaths, gave_up))
    }

    /// `pass_over.sql`: only by who holds the lock, on the row that was seen.
    pub(super) fn pass_over(&mut self, pid: i32, job: usize, (seen, newest): (i64, Timestamp), at: At) -> Execution {
        if self.row_locked(job) {
            return Execution::Wait(job);
        }
        let owns = self.may_run(pid, job, self.now(at));
        let as_seen = |row: &&mut Row| row.epoch == seen && row.epoch == row.ended_epoch && row.handled_until < newest;
        let Some(row) = self.store.rows.get_mut(&job).filter(as_seen).filter(|_| owns) else {
            return Execution::Done(Answer::PassedOver(false));
        };
        row.handled_until = newest;
        if row.open_for.is_none_or(|open| open <= newest) {
            (row.open_for, row.attempts) = (None, 0);
            row.not_before = row.not_before.filter(|_| row.deaths > 0);
        }
        Execution::Done(Answer::PassedOver(true))
    }

    pub(super) fn start(
        &mut self,
        pid: i32,
        jobs: &[usize],
        (starts, alone, seen): (&[Start], bool, &Snapshot),
        at: At,
    ) -> Execution {
        let waits = alone || self.bug == Some(Bug::CheckByHistory);
        if let Some(start) = starts.iter().find(|start| waits && self.row_locked(jobs[start.slot.0])) {
            return Execution::Wait(jobs[start.slot.0]);
        }
        let mut answers = Vec::new();
        for start in starts {
            let job = jobs[start.slot.0];
            answers.push(self.start_one(pid, job, (start, seen), at));
            if matches!(answers.last(), Some(StartAnswer::Started(_))) {
                self.notes.push(Note::NotifyStart { key: self.keys[job], from: pid });
            }
        }
        Execution::Done(Answer::Started(answers))
    }

    fn start_one(&mut self, pid: i32, job: usize, (start, seen): (&Start, &Snapshot), at: At) -> StartAnswer {
        let now = self.now(at);
        let token = self.backends.get(&pid).and_then(|backend| backend.token);
        let owned = token.is_some() || self.locks.holder(Lock::of(self.keys[job])) == Some(pid);
        let Some(row) = self.store.rows.get(&job) else { return StartAnswer::NotStarted };
        if !owned {
            return StartAnswer::NotOwned;
        }
        let by_hand = start.occurrence.is_none() && start.trigger != Trigger::Continuous;
        let defined = by_hand || self.own_definition(pid, job) == Some(row.version);
        let as_defined = defined || self.bug == Some(Bug::StartsAnyDefinition);
        if !self.may_run(pid, job, now)
            || !(token.is_some() || self.has_group(pid, job))
            || self.row_locked(job)
            || !as_defined
            || !self.may_start(job, row, start, (seen, now))
        {
            return StartAnswer::NotStarted;
        }
        if start.taken.is_some_and(|taken| !self.may_take(&taken, now)) {
            return StartAnswer::NotStarted;
        }
        let before_lost = row.last_outcome.as_deref() == Some("lost");
        let again = start.taken.and_then(|taken| taken.again);
        let (before, handled) = (row.epoch, start.occurrence.is_some_and(|occurrence| row.handled_until >= occurrence));
        let epoch = self.next_epoch(pid, job, now);
        let node = self.backends.get(&pid).map(|backend| backend.application.clone());
        let Some(row) = self.store.rows.get_mut(&job) else { return StartAnswer::NotStarted };
        row.begin_counters(start.occurrence, start.trigger);
        row.epoch = epoch;
        row.ended_epoch = before;
        (row.node, row.pid, row.started_at) = (node, Some(pid), Some(now));
        (row.scheduled_for, row.trigger) =
            (start.occurrence.or(again.map(|again| again.occurrence)), Some(start.trigger));
        let (attempt, takeover) = (row.attempt, row.takeover);
        let (window_from, window_until) = self.open_window(job, start, now);
        let run = Started { epoch, attempt, takeover, window_from, window_until, started_at: now };
        if let Some(lease) = self.store.leases.get_mut(&job).filter(|lease| Some(lease.token) == token) {
            lease.epoch = Some(epoch);
        }
        if let Some(taken) = &start.taken {
            self.take_request(taken, epoch, before_lost);
        }
        let repeated = start.occurrence.is_some_and(|occurrence| self.store.has_succeeded(job, occurrence));
        if start.skipped > 0 {
            self.notes.push(Note::Skipped { job, by: Some(epoch) });
        }
        let (occurrence, foreign) = (start.occurrence, self.is_foreign(job, start));
        let continuous = start.trigger == Trigger::Continuous;
        let asked = start.taken.is_some();
        self.notes.push(Note::Started {
            job,
            epoch,
            before,
            occurrence,
            repeated,
            handled,
            foreign,
            continuous,
            asked,
        });
        StartAnswer::Started(run)
    }

    /// The WHERE of the statement: the node's look is some round trips old, and everything may have changed since.
    fn may_start(&self, job: usize, row: &Row, start: &Start, (seen, now): (&Snapshot, Timestamp)) -> bool {
        match self.bug {
            Some(Bug::CheckBeforeLockOnly) => return !row.paused,
            // What should always be running has no occurrence that history would tell of.
            Some(Bug::CheckByHistory) if start.trigger != Trigger::Continuous => {
                let before = &self.store.history[..seen.history.min(self.store.history.len())];
                let succeeded = |occurrence: Timestamp| {
                    before.iter().any(|record| {
                        record.job == job && record.occurrence == Some(occurrence) && record.outcome == "succeeded"
                    })
                };
                return !row.paused && start.occurrence.is_none_or(|occurrence| !succeeded(occurrence));
            }
            _ => {}
        }
        // Two kinds of exclusion at once could both have come this far: whoever starts second finds an epoch that its own snapshot,
        // or the node's look, does not have.
        let unchanged = seen.epochs.get(&job) == Some(&row.epoch) && row.epoch == start.seen;
        // A retry's instant is that of its own occurrence; a newer one waits for it only after deaths, or a job that is due often
        // would go on killing its processes.
        let due = start.occurrence.is_none_or(|occurrence| {
            let waited = row.not_before.is_none_or(|until| until <= now)
                || (row.open_for != Some(occurrence) && (row.deaths == 0 || row.continuous()));
            row.handled_until < occurrence && row.resumed_at.is_none_or(|resumed| resumed < occurrence) && waited
        });
        let here = row.renamed_to.is_none() || self.bug == Some(Bug::OldNameStarts);
        unchanged && row.epoch == row.ended_epoch && due && !row.paused && here
    }

    fn next_epoch(&mut self, pid: i32, job: usize, now: Timestamp) -> i64 {
        let row = self.store.rows.get(&job).map_or(0, |row| row.epoch);
        let process = self.backends.get(&pid).map_or(0, |backend| backend.process);
        let epoch = match self.bug {
            Some(Bug::EpochInMemory) => self.remembered.get(&(process, job)).copied().unwrap_or(row) + 1,
            Some(Bug::EpochFromRowOnly) => row + 1,
            // The clock outlives what a failover loses: an epoch that was given and lost is not given again.
            _ => (row + 1).max(now.as_microsecond()),
        };
        self.remembered.insert((process, job), epoch);
        epoch
    }

    pub(super) fn end(&mut self, pid: i32, jobs: &[usize], (ends, alone): (&[End], bool), at: At) -> Execution {
        if self.bug == Some(Bug::UnlockBeforeEnd) {
            ends.iter().for_each(|end| self.unlock_early(pid, jobs[end.slot.0]));
        }
        let current = |row: &Row, end: &End| {
            row.epoch == end.epoch && (row.ended_epoch < end.epoch || row.last_outcome.as_deref() == Some("succeeded"))
        };
        let mut answers = Vec::new();
        for end in ends {
            let job = jobs[end.slot.0];
            let answer = match self.store.rows.get(&job) {
                None => EndAnswer::Superseded,
                Some(row) if current(row, end) && self.row_locked(job) && alone => return Execution::Wait(job),
                Some(row) if current(row, end) && !self.row_locked(job) => self.end_one(job, end, at),
                Some(row) if row.epoch == end.epoch && row.ended_epoch == end.epoch => {
                    EndAnswer::RecordedBefore { outcome: row.last_outcome.clone().unwrap_or_default() }
                }
                Some(row) if row.epoch == end.epoch => EndAnswer::RowLocked,
                Some(_) => EndAnswer::Superseded,
            };
            answers.push(answer);
        }
        Execution::Done(Answer::Ended(answers))
    }

    fn end_one(&mut self, job: usize, end: &End, at: At) -> EndAnswer {
        let now = self.now(at);
        let succeeded = end.verdict.outcome == Outcome::Succeeded;
        if succeeded {
            self.cover(job, None);
        } else if self.bug == Some(Bug::FailureCovers) {
            self.cover(job, None);
            self.notes.pop();
        }
        let Some(row) = self.store.rows.get_mut(&job) else { return EndAnswer::Superseded };
        let (verdict, before, scheduled) = (&end.verdict, row.clone(), row.scheduled());
        let completed = row.ended_epoch == end.epoch;
        let handled = verdict.handled || completed;
        row.ended_epoch = end.epoch;
        if !completed {
            row.last_outcome = Some(verdict.outcome.as_str().to_owned());
            row.last_success_at = if succeeded { Some(now) } else { row.last_success_at };
        }
        let due_from = row.continuous().then(|| now + verdict.backoff);
        if due_from.is_some() {
            row.count_soon(verdict.handled, verdict.counts && !completed);
            row.deaths = 0;
            row.not_before = if completed { row.not_before } else { due_from };
        } else if scheduled {
            if handled {
                row.handled_until =
                    [row.scheduled_for, end.skipped_for].into_iter().flatten().fold(row.handled_until, Timestamp::max);
            }
            row.open_for = row.scheduled_for.filter(|_| !handled);
            row.attempts = if handled { 0 } else { row.attempts + u32::from(verdict.counts) };
            row.deaths = 0;
            let waits = !handled && verdict.backoff > SignedDuration::ZERO;
            row.not_before = waits.then(|| now + verdict.backoff);
        }
        let after = row.clone();
        if due_from.is_some() && self.bug == Some(Bug::BackoffInMemory) {
            // The node that ran it is told all the same.
            row.not_before = Some(now);
        }
        let outcome = after.last_outcome.clone().unwrap_or_default();
        // Refused twice (history full, or not to be written), the row alone is tried: what decides is in it.
        if end.form != EndForm::RowAlone {
            self.store.write_end(job, &before, end.epoch, verdict.outcome.as_str());
        }
        if end.skipped > 0
            && handled
            && scheduled
            && end.skipped_for.is_some_and(|newest| before.handled_until < newest)
        {
            self.notes.push(Note::Skipped { job, by: Some(end.epoch) });
        }
        let (epoch, handled_until) = (end.epoch, after.handled_until);
        let due_from = due_from.and(after.not_before);
        self.notes.push(Note::Ended { job, epoch, outcome: verdict.outcome, completed, due_from });
        EndAnswer::Recorded { outcome, handled_until, open_for: after.open_for, not_before: after.not_before }
    }
}
