//! One run of one job, for a program that is started when there is something to do.

use std::fmt::Display;
use std::time::Duration;

use hourhand_core::node::Exclusion;
use hourhand_core::outcome::Outcome;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;

use crate::builder::SchedulerBuilder;
use crate::clock::machine;
use crate::drive::{FirstTrouble, Heard};
use crate::error::Error;
use crate::scheduler::{Scheduler, Triggered};

/// Whoever lets a lock go says so, and the session listens. A holder that dies says nothing, and nothing may wait for a lock inside the
/// server: so it is tried again this often.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// Who takes leases may be behind a transaction pooler, and hears nothing.
const TRY_AGAIN_DEAF: Duration = Duration::from_secs(1);

/// What came of [`SchedulerBuilder::run_once`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Once {
    /// It ran here.
    Ran {
        /// Its fencing token.
        epoch: i64,
        /// The outcome that stands; none: the end is not on record, because the database would not take it or a later run has
        /// started.
        outcome: Option<Outcome>,
        /// The message of a run that did not succeed.
        error: Option<String>,
    },
    /// It runs elsewhere, and went on doing so for as long as there was to wait.
    AlreadyRunning {
        /// The node, where known.
        node: Option<String>,
        /// Since when, by the server's clock.
        since: Option<Timestamp>,
        /// The fencing token of that run, where known.
        epoch: Option<i64>,
    },
    /// The current occurrence of its schedule is handled.
    NotDue {
        /// When the next one comes.
        next: Option<Timestamp>,
    },
    /// The job is paused.
    Paused,
}

impl SchedulerBuilder {
    /// Runs the one job of this builder once, under its lock, and says how that went: for what is started by cron, CI or hand, where
    /// [`start`](Self::start) is for what is there all the time. The same protocol, with the same protection by lock, fence and window.
    ///
    /// A job made by [`Job::on_demand`](crate::Job::on_demand) runs now. One with a schedule runs if the current occurrence of that
    /// schedule is not handled yet, and stays due when it fails, for whoever asks next. Either way nothing but the job's row is
    /// registered: the schedule of a process that is there all the time stays as it is. A lock that is taken is waited for up to
    /// `wait`: its holder says when it lets go, and for one that dies without a word it is tried every 5 s (a lease every second).
    ///
    /// Has no effect: [`enabled`](Self::enabled), [`resident`](Self::resident), [`start_delay`](Self::start_delay).
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start); and, since nobody is there to try again, whatever is the matter with the database:
    /// [`Error::is_unreachable`], [`Error::is_not_migrated`] and so on.
    pub async fn run_once<L: TryInto<SignedDuration, Error: Display>>(self, wait: L) -> Result<Once, Error> {
        let wait = wait.try_into().map_err(|error| Error::config(vec![format!("wait: {error}")]))?;
        let until = machine() + Duration::try_from(wait).unwrap_or(Duration::ZERO);
        let pace = if self.exclusion == Exclusion::Lease { TRY_AGAIN_DEAF } else { TRY_AGAIN };
        let (told, heard) = mpsc::unbounded_channel();
        let (builder, job) = self.once(told)?;
        let (scheduler, first_visit) = builder.launch()?;
        let ran = match first_visit.await {
            Ok(Err(trouble)) => Err(refused(trouble)),
            Ok(Ok(())) | Err(_) => run((&scheduler, &job), (until, pace), heard).await,
        };
        scheduler.shutdown().await;
        ran
    }
}

async fn run(
    (scheduler, job): (&Scheduler, &str),
    (until, pace): (Duration, Duration),
    mut heard: mpsc::UnboundedReceiver<Heard>,
) -> Result<Once, Error> {
    let mut waited = false;
    let epoch = loop {
        // What was said before the lock is tried, the try itself shows.
        while heard.try_recv().is_ok() {}
        let left = until.saturating_sub(machine());
        match scheduler.trigger(job).await {
            // Who waits for an hour waits through a restart of the database.
            Err(error) if error.is_unreachable() && waited && !left.is_zero() => {
                tokio::time::sleep(left.min(TRY_AGAIN_DEAF)).await;
            }
            Err(error) => return Err(error),
            Ok(Triggered::Started { epoch }) => break epoch,
            Ok(Triggered::AlreadyRunning { node, since, epoch }) => {
                if left.is_zero() {
                    return Ok(Once::AlreadyRunning { node, since, epoch });
                }
                waited = true;
                // Freed, or not: then it is tried again.
                let _ = tokio::time::timeout(left.min(pace), heard.recv()).await;
            }
            Ok(Triggered::NotDue { next }) => return Ok(Once::NotDue { next }),
            Ok(Triggered::Paused) => return Ok(Once::Paused),
            Ok(Triggered::Off) => return Err(Error::stopped()),
        }
    };
    while let Some(heard) = heard.recv().await {
        if let Heard::End(end) = heard
            && end.epoch == epoch
        {
            let (outcome, error) = end.outcome.unzip();
            let outcome = outcome.and_then(|word| Outcome::parse(&word));
            return Ok(Once::Ran { epoch, outcome, error: error.flatten() });
        }
    }
    // The loop has ended without a word of the run.
    Ok(Once::Ran { epoch, outcome: None, error: None })
}

fn refused(trouble: FirstTrouble) -> Error {
    match crate::builder::unservable(&trouble) {
        Some(error) => error,
        None => match trouble {
            FirstTrouble::Database(trouble) => Error::database("run", trouble),
            FirstTrouble::SessionShared | FirstTrouble::OtherKey(_) => Error::stopped(),
        },
    }
}
