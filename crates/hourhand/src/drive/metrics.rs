//! What is counted, through the facade `metrics`: the host picks where it goes, and without a recorder it costs next to nothing.
//!
//! | name | labels | what |
//! | --- | --- | --- |
//! | `hourhand_runs_total` | job, outcome | runs of this node whose end is durable |
//! | `hourhand_run_duration_seconds` | job | from their start to their durable end |
//! | `hourhand_run_lateness_seconds` | job | from the occurrence to the start of its run, by the server's clock; not of backfills |
//! | `hourhand_takeovers_total` | job | runs that began in the place of one that had died |
//! | `hourhand_skipped_total` | job | occurrences passed over |
//! | `hourhand_locks_lost_total` | job | runs that were stopped because their lock was lost |
//! | `hourhand_evictions_total` | job | silent sessions that this node ended |
//! | `hourhand_locks_held` | | jobs whose lock this node holds |
//! | `hourhand_session_up` | | 1 while the session is open; at rest it is closed, unless the node is resident |
//!
//! The names are promised as the SQL functions are: dashboards and alerts are built on them.

use std::collections::HashMap;

use hourhand_core::protocol::{Notice, Slot, Started};
use hourhand_core::time::Mono;
use jiff::Timestamp;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

use crate::pg::Catalog;

/// Counts what one node does.
pub(super) struct Meter {
    /// When the runs under way began.
    begun: HashMap<(Slot, i64), Mono>,
}

impl Meter {
    pub(super) fn new() -> Meter {
        describe_counter!("hourhand_runs_total", "runs of this node whose end is durable");
        describe_histogram!("hourhand_run_duration_seconds", "from the start of a run to its durable end");
        describe_histogram!("hourhand_run_lateness_seconds", "from an occurrence to the start of its run");
        describe_counter!("hourhand_takeovers_total", "runs that began in the place of one that had died");
        describe_counter!("hourhand_skipped_total", "occurrences passed over");
        describe_counter!("hourhand_locks_lost_total", "runs that were stopped because their lock was lost");
        describe_counter!("hourhand_evictions_total", "silent sessions that this node ended");
        describe_gauge!("hourhand_locks_held", "jobs whose lock this node holds");
        describe_gauge!("hourhand_session_up", "1 while the session is open");
        Meter { begun: HashMap::new() }
    }

    /// A body starts.
    pub(super) fn starts(&mut self, run: (Slot, &str), occurrence: Option<Timestamp>, started: &Started, now: Mono) {
        let (slot, job) = (run.0, run.1.to_owned());
        self.begun.insert((slot, started.epoch), now);
        if let Some(occurrence) = occurrence {
            let late = started.started_at.duration_since(occurrence).as_secs_f64();
            histogram!("hourhand_run_lateness_seconds", "job" => job.clone()).record(late.max(0.0));
        }
        if started.takeover > 0 {
            counter!("hourhand_takeovers_total", "job" => job).increment(1);
        }
    }

    /// Something is said.
    pub(super) fn note(&mut self, notice: &Notice, catalog: &Catalog, now: Mono) {
        let job = |slot: &Slot| catalog.entry(*slot).name().to_owned();
        let count = |name: &'static str, slot: &Slot, by: u64| counter!(name, "job" => job(slot)).increment(by);
        match notice {
            Notice::RunStarted { slot, skipped, .. } if *skipped > 0 => count("hourhand_skipped_total", slot, *skipped),
            Notice::PassedOver { slot, skip } => count("hourhand_skipped_total", slot, skip.count),
            Notice::LockLost { slot, .. } => count("hourhand_locks_lost_total", slot, 1),
            Notice::Evicted { slot, .. } => count("hourhand_evictions_total", slot, 1),
            Notice::RunEnded { slot, epoch, outcome, skipped, .. } => {
                counter!("hourhand_runs_total", "job" => job(slot), "outcome" => outcome.clone()).increment(1);
                if *skipped > 0 {
                    count("hourhand_skipped_total", slot, *skipped);
                }
                if let Some(begun) = self.begun.remove(&(*slot, *epoch)) {
                    let took = now.since(begun).as_secs_f64();
                    histogram!("hourhand_run_duration_seconds", "job" => job(slot)).record(took);
                }
            }
            Notice::RunSuperseded { slot, epoch } => drop(self.begun.remove(&(*slot, *epoch))),
            _ => {}
        }
    }

    /// How the node stands.
    pub(super) fn stands(&self, locks_held: usize, session_up: bool) {
        gauge!("hourhand_locks_held").set(locks_held as f64);
        gauge!("hourhand_session_up").set(if session_up { 1.0 } else { 0.0 });
    }
}
