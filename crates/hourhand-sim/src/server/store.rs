//! The durable part: the rows, history, and what the other tables say.
//!
//! A failover carries over a copy of this, some moments old, and nothing else: sessions, locks and open transactions are gone. What stands
//! here is therefore all that the protocol may build on, and it is deliberately little: facts of the newest start, the newest recorded
//! end, what is handled, what is covered, and the counters of the one occurrence that is open. Whether a run goes on is not among it.

use std::collections::BTreeMap;
use std::sync::Arc;

use hourhand_core::outcome::Trigger;
use jiff::Timestamp;

use super::leases::Lease;
use super::requests::Asked;

/// A job's row, column by column as in the database.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) epoch: i64,
    pub(crate) node: Option<Arc<str>>,
    pub(crate) pid: Option<i32>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) scheduled_for: Option<Timestamp>,
    pub(crate) trigger: Option<Trigger>,
    pub(crate) attempt: u32,
    pub(crate) takeover: u32,
    pub(crate) window_from: Timestamp,
    pub(crate) window_until: Timestamp,
    pub(crate) ended_epoch: i64,
    pub(crate) last_outcome: Option<String>,
    pub(crate) last_success_at: Option<Timestamp>,
    pub(crate) handled_until: Timestamp,
    pub(crate) covered_until: Timestamp,
    pub(crate) open_for: Option<Timestamp>,
    pub(crate) attempts: u32,
    pub(crate) deaths: u32,
    pub(crate) not_before: Option<Timestamp>,
    /// From the definition's row: which one, and since when it counts.
    pub(crate) version: usize,
    pub(crate) counts_from: Timestamp,
    pub(crate) known_at: Option<Timestamp>,
    /// From the pause's row.
    pub(crate) paused: bool,
    pub(crate) resumed_at: Option<Timestamp>,
    /// It goes on under this name.
    pub(crate) renamed_to: Option<usize>,
    /// From the cancel's row.
    pub(crate) cancel: Option<i64>,
}

impl Row {
    /// As registration leaves it.
    pub(crate) fn registered(now: Timestamp, version: usize) -> Row {
        Row {
            epoch: 0,
            node: None,
            pid: None,
            started_at: None,
            scheduled_for: None,
            trigger: None,
            attempt: 0,
            takeover: 0,
            window_from: now,
            window_until: now,
            ended_epoch: 0,
            last_outcome: None,
            last_success_at: None,
            handled_until: now,
            covered_until: now,
            open_for: None,
            attempts: 0,
            deaths: 0,
            not_before: None,
            version,
            counts_from: now,
            known_at: None,
            paused: false,
            resumed_at: None,
            renamed_to: None,
            cancel: None,
        }
    }

    /// The newest start is for an occurrence: by schedule, catch-up or retry.
    pub(crate) fn scheduled(&self) -> bool {
        let by_schedule = matches!(self.trigger, Some(Trigger::Schedule | Trigger::CatchUp | Trigger::Retry));
        by_schedule && self.scheduled_for.is_some()
    }

    /// Its newest start is of a continuous job.
    pub(crate) fn continuous(&self) -> bool {
        self.trigger == Some(Trigger::Continuous)
    }

    /// A start's part in the counters: they belong to the open occurrence, so they go on if this start is for it, and begin anew
    /// otherwise. A manual run has none and leaves them alone, or asking for a run by hand would give a failing job fresh attempts.
    pub(crate) fn begin_counters(&mut self, occurrence: Option<Timestamp>, trigger: Trigger) {
        let continuous = trigger == Trigger::Continuous;
        let same = occurrence.is_some() && self.open_for == occurrence;
        if (continuous && self.scheduled()) || (occurrence.is_some() && self.continuous()) {
            self.deaths = 0;
        }
        if continuous {
            self.attempts = if self.open_for.is_some() { 0 } else { self.attempts };
        }
        self.attempt = if same || continuous { self.attempts + 1 } else { 1 };
        self.takeover = if same || continuous { self.deaths } else { 0 };
        if occurrence.is_some() {
            self.attempts = if same { self.attempts } else { 0 };
        }
        if continuous || occurrence.is_some() {
            (self.open_for, self.not_before) = (occurrence, None);
        }
    }

    /// Ends in a row that came too soon, of a continuous job.
    pub(crate) fn count_soon(&mut self, anew: bool, counts: bool) {
        self.attempts = if anew { 0 } else { self.attempts + u32::from(counts) };
    }
}

/// One row of history.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) job: usize,
    /// None for a skip.
    pub(crate) epoch: Option<i64>,
    pub(crate) occurrence: Option<Timestamp>,
    pub(crate) scheduled: bool,
    pub(crate) outcome: String,
}

/// All that a failover carries over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    pub(crate) rows: BTreeMap<usize, Row>,
    pub(crate) leases: BTreeMap<usize, Lease>,
    pub(crate) history: Vec<Record>,
    pub(crate) requests: Vec<Asked>,
}

impl Store {
    /// The unique index over (job, epoch): the first recorded end stands. A node that was cut off may bring its own word for a run
    /// that somebody else has taken for lost by then.
    pub(crate) fn has_end(&self, job: usize, epoch: i64) -> bool {
        self.history.iter().rev().any(|record| record.job == job && record.epoch == Some(epoch))
    }

    /// The unique index over (job, occurrence) of scheduled successes.
    pub(crate) fn has_succeeded(&self, job: usize, occurrence: Timestamp) -> bool {
        self.history.iter().rev().any(|record| {
            record.job == job
                && record.scheduled
                && record.occurrence == Some(occurrence)
                && record.outcome == "succeeded"
        })
    }

    /// Writes a run's end, unless one is there.
    pub(crate) fn write_end(&mut self, job: usize, row: &Row, epoch: i64, outcome: &str) {
        if !self.has_end(job, epoch) {
            let scheduled = row.scheduled();
            let occurrence = row.scheduled_for;
            let outcome = outcome.to_owned();
            self.history.push(Record { job, epoch: Some(epoch), occurrence, scheduled, outcome });
        }
    }
}
