//! What people are told: one event a notice, at the level that fits.
//!
//! ERROR is for what an error tracker should page for, WARN for what was to be expected or mends itself, INFO for a run's start
//! and end, DEBUG for the rest. A lost race is not said at all.

use hourhand_core::protocol::Notice;
use tracing::{debug, error, info, warn};

use crate::pg::{Catalog, remedy};

pub(super) fn say(notice: Notice, catalog: &Catalog) {
    let job = |slot| catalog.entry(slot).name();
    match notice {
        Notice::Unavailable(trouble) => {
            let remedy = remedy(trouble.kind);
            warn!(kind = ?trouble.kind, "the scheduler's database can't be had, trying again: {}{remedy}", trouble.text);
        }
        Notice::Available(after) => info!(?after, "the scheduler's database answers"),
        Notice::ClockOff(offset) => warn!("this machine's clock differs from the database server's by {offset:#}"),
        Notice::SessionShared => error!(
            "the scheduler's session is shared: a transaction pooler stands between; give a direct URL for the session (session_url)"
        ),
        notice @ (Notice::OtherKey(_)
        | Notice::StoodDown(_)
        | Notice::StoodUp { .. }
        | Notice::TakenBack { .. }
        | Notice::Declined(_)) => say_of_who_runs_it(notice, catalog),
        notice @ (Notice::RunStarted { .. } | Notice::RunEnded { .. } | Notice::RunSuperseded { .. }) => {
            say_of_a_run(notice, catalog);
        }
        Notice::PassedOver { slot, skip } => info!(
            job = job(slot), count = skip.count, newest = %skip.newest, reason = skip.reason.as_str(),
            "occurrences passed over"
        ),
        Notice::Unrecorded { slot, epoch, trouble } => error!(
            job = job(slot),
            epoch,
            trouble = trouble.map(|trouble| trouble.text),
            "the end of the run could not be recorded; it will be written when the database takes it"
        ),
        Notice::LockLost { slot, epoch, why } => warn!(job = job(slot), epoch, "lock lost, the run is stopped: {why}"),
        notice @ Notice::HolderDied { .. } => say_of_a_death(notice, catalog),
        Notice::RunLost { job, epoch } => {
            warn!(job, epoch, "the process of a run that this one does not have ended without a word: the run is lost");
        }
        notice @ (Notice::ForeignHolder { .. }
        | Notice::Evicted { .. }
        | Notice::MayNotEvict { .. }
        | Notice::RowLocked { .. }) => say_of_an_obstacle(notice, catalog),
        Notice::OutOfLocks => warn!("the server's lock table is full (max_locks_per_transaction); trying again"),
        Notice::RunTakesLong { slot, epoch, after } => {
            warn!(job = job(slot), epoch, "the run takes longer than {after:#}");
        }
        Notice::BodyStuck { slot, epoch } => error!(
            job = job(slot),
            epoch,
            "the body was told to stop and aborted, and goes on: it blocks; the run is let go, no other begins on this node"
        ),
        Notice::RuntimeGone => {
            error!("the runtime on which bodies run has shut down: this process runs no job any more");
        }
    }
}

fn say_of_who_runs_it(notice: Notice, catalog: &Catalog) {
    let job = |slot| catalog.entry(slot).name();
    match notice {
        Notice::OtherKey(slot) => error!(
            job = job(slot),
            "the job is registered under another key: one schema serves one namespace; not run by this node"
        ),
        Notice::StoodDown(slot) => info!(
            job = job(slot),
            "another definition of the job was registered since: it decides, and this node runs the job no more"
        ),
        Notice::StoodUp { slot, overdue: true } => warn!(
            job = job(slot),
            "nobody runs the definition that was registered last: this node's is registered in its place, and it runs the job again"
        ),
        Notice::StoodUp { slot, overdue: false } => {
            info!(job = job(slot), "this node's definition is the registered one again: it runs the job");
        }
        Notice::TakenBack { slot, from } => warn!(
            job = job(slot),
            "the job went on under the name {from:?} and nobody runs it there: it is taken back and runs here under this one"
        ),
        Notice::Declined(slot) => info!(
            job = job(slot),
            "due, but this process's own condition does not hold: left to others, asked again while nobody runs it"
        ),
        other => debug!(?other),
    }
}

fn say_of_a_run(notice: Notice, catalog: &Catalog) {
    let job = |slot| catalog.entry(slot).name();
    match notice {
        Notice::RunStarted { slot, epoch, trigger, occurrence, takeover, skipped } => {
            let occurrence = occurrence.map(tracing::field::display);
            info!(job = job(slot), epoch, %trigger, occurrence, takeover, skipped, "run started");
        }
        Notice::RunEnded { slot, epoch, outcome, error, transient, skipped } => match (outcome.as_str(), transient) {
            ("succeeded", _) => info!(job = job(slot), epoch, outcome, skipped, "run ended"),
            ("cancelled" | "lost", _) | (_, true) => warn!(job = job(slot), epoch, outcome, error, "run ended"),
            // Error trackers group by the message: one group a job and outcome.
            _ => error!(job = job(slot), epoch, outcome, error, "job {} {outcome}", job(slot)),
        },
        Notice::RunSuperseded { slot, epoch } => {
            warn!(job = job(slot), epoch, "a later run has started before this one's end was recorded");
        }
        other => debug!(?other),
    }
}

fn say_of_a_death(notice: Notice, catalog: &Catalog) {
    let Notice::HolderDied { slot, epoch, deaths, gave_up } = notice else { return debug!(?notice) };
    let job = catalog.entry(slot).name();
    match (deaths, gave_up) {
        (_, true) => {
            error!(job, epoch, deaths, "holder died {deaths} times in a row: the occurrence is handled as failed");
        }
        (3.., false) => error!(
            job,
            epoch,
            deaths,
            "holder died {deaths} times in a row: the continuous job is started again after growing waits"
        ),
        (_, false) => warn!(job, epoch, deaths, "the run's process ended without a word: the run is lost"),
    }
}

fn say_of_an_obstacle(notice: Notice, catalog: &Catalog) {
    let (slot, who, what) = match notice {
        Notice::ForeignHolder { slot, holder } => (
            slot,
            Some(holder),
            "the job's lock is held by a session that runs nothing of it: a leak into somebody's pool, or another program",
        ),
        Notice::Evicted { slot, holder } => (slot, Some(holder), "a silent session was in the job's way: ended"),
        Notice::MayNotEvict { slot, holder } if holder.silent.is_none() => (
            slot,
            Some(holder),
            "the job is held by another role's session, and this role may not see whether it has gone silent: grant it pg_read_all_stats and pg_signal_backend",
        ),
        Notice::MayNotEvict { slot, holder } => (
            slot,
            Some(holder),
            "a silent session is in the job's way, and this role may not end it: grant it pg_signal_backend and pg_read_all_stats",
        ),
        Notice::RowLocked { slot, blocker } => {
            (slot, blocker, "the job's row is locked by somebody's open transaction; trying again")
        }
        other => return debug!(?other),
    };
    let job = catalog.entry(slot).name();
    let pid = who.as_ref().map(|who| who.pid);
    let silent = who.as_ref().and_then(|who| who.silent).map(|silent| silent.as_secs());
    let (application, client) = who.map(|who| (who.application, who.client)).unwrap_or_default();
    warn!(job, pid, application, client, silent_seconds = silent, "{what}");
}
