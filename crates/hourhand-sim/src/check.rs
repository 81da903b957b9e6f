//! What must hold, whatever goes wrong: every run that was ever started, every success, and what was ever covered.
//!
//! This is the truth, kept beside the rows and never read from them: a row that lies is what is looked for. It hears what happened on
//! the server from the server's own notes ([`Checks::hear`]) and knows nothing of the world around it; what can be seen
//! only there, bodies under way and processes that wait, the world holds against it itself (`world/notes`, `world/looks`). The first
//! promise that was not kept ends the run: what follows it proves nothing.

mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hourhand_core::claim::Spans;
use jiff::Timestamp;

use crate::body::Body;
use crate::server::Server;
use crate::time::At;

/// A promise that was not kept.
#[derive(Clone, Debug)]
pub struct Violation {
    /// When, since the world began.
    pub at: Duration,
    /// Which, and how.
    pub what: String,
}

/// The truth so far.
#[derive(Debug)]
pub(crate) struct Checks {
    pub(crate) violation: Option<Violation>,
    pub(crate) spans: Spans,
    /// When the newest run of each job was started, as far as it is not lost with a failover.
    newest_at: Vec<At>,
    /// Every run that was started: its occurrence, if it has one.
    runs: BTreeMap<(usize, i64), Option<Timestamp>>,
    /// The newest run of each job, as far as it is not lost with a failover.
    newest: Vec<i64>,
    successes: BTreeMap<(usize, Timestamp), At>,
    pub(crate) bodies_began: BTreeSet<(usize, i64)>,
    /// Runs whose end may have been recorded and lost with a failover.
    pub(crate) uncertain: BTreeSet<(usize, i64)>,
    /// Processes that died under a job's runs, one after another.
    deaths: Vec<u32>,
    /// When each continuous job may run again, by the server's clock.
    pub(crate) due_from: Vec<Option<Timestamp>>,
    /// When somebody was last told how his wish for a run went: a start may be on its way that he has been told nothing of.
    pub(crate) by_hand: Vec<Option<At>>,
    /// Some body must end soon.
    pub(crate) hurry: bool,
    /// The newest step of each request that was taken, and when.
    taken: BTreeMap<i64, (Option<Timestamp>, At)>,
    /// How far each job's outside data is covered.
    covered: Vec<Option<Timestamp>>,
    /// When each job's lock was last let go.
    freed_at: Vec<At>,
    /// Since when each job's newest run is lost, and that is on no record.
    pub(crate) lost_since: Vec<Option<At>>,
    /// When a body of each job was last seen at work.
    pub(crate) worked_at: Vec<At>,
}

impl Checks {
    pub(crate) fn new(ttl: Duration, jobs: usize) -> Checks {
        Checks {
            violation: None,
            spans: Spans::of(ttl),
            runs: BTreeMap::new(),
            newest: vec![0; jobs],
            newest_at: vec![At::default(); jobs],
            successes: BTreeMap::new(),
            bodies_began: BTreeSet::new(),
            uncertain: BTreeSet::new(),
            deaths: vec![0; jobs],
            due_from: vec![None; jobs],
            by_hand: vec![None; jobs],
            hurry: false,
            taken: BTreeMap::new(),
            covered: vec![None; jobs],
            freed_at: vec![At::default(); jobs],
            lost_since: vec![None; jobs],
            worked_at: vec![At::default(); jobs],
        }
    }

    /// What must be true.
    pub(crate) fn require(&mut self, holds: bool, at: At, what: impl FnOnce() -> String) {
        if !holds && self.violation.is_none() {
            self.violation = Some(Violation { at: at.since_began(), what: what() });
        }
    }

    /// Whether the job's lock was let go at any moment since.
    pub(crate) fn lock_was_freed(&self, job: usize, since: At) -> bool {
        self.freed_at[job] >= since
    }

    pub(crate) fn answered_by_hand(&mut self, job: usize, at: At) {
        self.by_hand[job] = Some(at);
    }

    /// A failover has lost what was committed after `at`.
    pub(crate) fn rolled_back(&mut self, at: At, server: &Server) {
        self.successes.retain(|_, when| *when <= at);
        self.uncertain.extend(self.runs.keys());
        // What was taken since may be taken again: by the position that the standby knows.
        self.taken.retain(|_, (_, when)| *when <= at);
        for (job, newest) in self.newest.iter_mut().enumerate() {
            let row = server.row_that_goes_on(job);
            let before = std::mem::replace(newest, row.map_or(0, |row| row.epoch));
            self.newest_at[job] = if before == *newest { self.newest_at[job] } else { At::default() };
            self.covered[job] = row.map(|row| row.covered_until);
            self.deaths[job] = row.filter(|row| !row.continuous()).map_or(0, |row| row.deaths);
            self.due_from[job] = row.filter(|row| row.continuous()).and_then(|row| row.not_before);
        }
    }
}

/// A body, for people.
pub(crate) fn named(body: &Body) -> String {
    format!("run {} of job {} (process {}, pid {})", body.epoch, body.job, body.process, body.pid)
}
