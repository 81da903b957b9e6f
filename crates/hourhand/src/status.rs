//! How the jobs stand, and how the scheduler is.

use hourhand_core::facts::Facts;
use hourhand_core::node::{Health as Seen, Node, Problem};
use hourhand_core::occurrence::overdue;
use hourhand_core::protocol::Slot;
use hourhand_core::schedule::Schedule;
use jiff::Timestamp;

use crate::pg::{Catalog, remedy};

/// How a job stands, as the database showed it a moment ago.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct JobStatus {
    /// The job's name.
    pub job: String,
    /// Its schedule.
    pub schedule: String,
    /// The zone its schedule is read in.
    pub time_zone: String,
    /// Its next occurrence.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub next_at: Option<Timestamp>,
    /// When a run last succeeded.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub last_success_at: Option<Timestamp>,
    /// How the newest run ended that has a recorded end: `succeeded`, `failed`, `panicked`, `timed_out`, `cancelled`, `lost`.
    pub last_outcome: Option<String>,
    /// The run under way, read from the locks.
    pub running: Option<Running>,
    /// Paused: nothing starts.
    pub paused: Option<Paused>,
    /// An occurrence waits longer than it should.
    pub overdue: bool,
    /// Overdue, and for two periods of its schedule nobody has registered it, run it or seen it wait: nobody seems to care for it any more.
    pub orphaned: bool,
}

/// That a job is paused, and what was said about it. A scheduler's own [`status`](crate::Scheduler::status) knows only that it is.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Paused {
    /// Until then; none: until it is resumed.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub until: Option<Timestamp>,
    /// Why.
    pub reason: Option<String>,
    /// Who paused it.
    pub actor: Option<String>,
}

/// A run under way.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Running {
    /// The node.
    pub node: Option<String>,
    /// The process id of the session that holds the lock; none for a lease.
    pub pid: Option<i32>,
    /// When it started, by the server's clock.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub since: Option<Timestamp>,
    /// Its fencing token.
    pub epoch: i64,
}

/// How the scheduler of this process is, as of its last visit to the database: asking sends no statement.
///
/// For readiness and alerting; not for liveness: a restart of the process mends none of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Health {
    /// What is wrong, in words; empty when all is well.
    pub problems: Vec<String>,
    /// The scheduler is switched on.
    pub on: bool,
}

impl Health {
    /// All is well.
    pub fn ok(&self) -> bool {
        self.problems.is_empty()
    }
}

/// The answer to a question for all jobs' status.
pub(crate) fn jobs(node: &Node, now: Timestamp, facts: &[Option<Facts>]) -> Vec<JobStatus> {
    let known = node.slots().into_iter().zip(facts).filter_map(|(slot, facts)| Some((slot, facts.as_ref()?)));
    known.map(|(slot, facts)| job(node, now, slot, facts)).collect()
}

fn job(node: &Node, now: Timestamp, slot: Slot, facts: &Facts) -> JobStatus {
    let definition = node.registered(slot, facts);
    JobStatus {
        job: definition.name.to_string(),
        overdue: overdue(definition, facts, now, node.overdue_bound(facts)),
        ..shown(&definition.schedule, now, facts)
    }
}

/// What facts and schedule alone tell.
pub(crate) fn shown(schedule: &Schedule, now: Timestamp, facts: &Facts) -> JobStatus {
    let running = facts.holder.as_ref().filter(|_| facts.running).map(|holder| Running {
        node: facts.node.clone(),
        pid: (holder.pid != 0).then_some(holder.pid),
        since: facts.started_at,
        epoch: facts.epoch,
    });
    // A run that ended without a word and without a lock is lost, before anybody has recorded it.
    let lost = facts.lost_run().is_some();
    JobStatus {
        job: String::new(),
        schedule: schedule.to_string(),
        time_zone: schedule.time_zone().to_owned(),
        next_at: schedule.next_after(now),
        last_success_at: facts.last_success_at,
        last_outcome: if lost { Some("lost".to_owned()) } else { facts.last_outcome.clone() },
        running,
        paused: facts.paused.then(Paused::default),
        overdue: false,
        orphaned: false,
    }
}

pub(crate) fn health(seen: &Seen, catalog: &Catalog) -> Health {
    let name = |slot: &Slot| catalog.entry(*slot).name();
    let problems = seen.problems.iter().map(|problem| match problem {
        Problem::Unavailable(trouble) => {
            format!("the database can't be had: {}{}", trouble.text, remedy(trouble.kind))
        }
        Problem::Overdue(slot) => format!("job {}: overdue", name(slot)),
        Problem::Unrecorded(slot) => format!("job {}: the end of a run is not recorded yet", name(slot)),
        Problem::Stuck(slot) => format!("job {}: a body does not stop", name(slot)),
        Problem::HoldersDie(slot) => format!("job {}: its holders died, three in a row", name(slot)),
        Problem::OtherKey(slot) => format!("job {}: registered under another key", name(slot)),
        Problem::ForeignHolder(slot, pid) => {
            format!("job {}: its lock is held by session {pid}, which runs nothing of it", name(slot))
        }
        Problem::ClockWentBack(slot) => format!(
            "job {}: what is handled lies more than a period ahead of the server's time: the server's clock went back",
            name(slot)
        ),
        Problem::OutOfLocks => "the server's lock table is full (max_locks_per_transaction)".to_owned(),
        Problem::RowLocked(slot) => format!("job {}: its row is locked by an open transaction", name(slot)),
    });
    Health { problems: problems.collect(), on: true }
}
