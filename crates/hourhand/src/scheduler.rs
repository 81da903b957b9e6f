//! The scheduler of a process: built once, started once, running until it is shut down.

use std::future::IntoFuture;
use std::sync::Arc;

use hourhand_core::protocol::{Order, Ordered, Slot, TriggerAnswer};
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};

use crate::directory::Directory;
use crate::drive::Command;
use crate::error::{Error, hint};
use crate::job::Job;
use crate::member::{Terms, define};
use crate::status::{Health, JobStatus};

/// Runs the jobs of this process, together with all other processes that have a scheduler on the same database.
///
/// A handle: clones are the same scheduler. Dropping it stops nothing; [`Scheduler::shutdown`] does, and the future given to
/// [`shutdown_on`](crate::SchedulerBuilder::shutdown_on).
#[derive(Clone)]
pub struct Scheduler(Option<Arc<Handle>>);

pub(crate) struct Handle {
    pub(crate) commands: mpsc::UnboundedSender<Command>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) terms: Terms,
    /// Turns true when the loop has ended.
    pub(crate) ended: watch::Receiver<bool>,
}

/// Where a request to run a job now ended up.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Triggered {
    /// A manual run has started, on this node.
    Started {
        /// Its fencing token.
        epoch: i64,
    },
    /// The job runs already, here or elsewhere.
    AlreadyRunning {
        /// The node, where known.
        node: Option<String>,
        /// Since when, by the server's clock.
        since: Option<Timestamp>,
        /// The fencing token of that run, where known.
        epoch: Option<i64>,
    },
    /// The job is paused.
    Paused,
    /// The job runs when it is asked to *and* due, and it is not: only in [`run_once`](crate::SchedulerBuilder::run_once).
    #[doc(hidden)]
    NotDue {
        /// When it will be.
        next: Option<Timestamp>,
    },
    /// This process has no scheduler running: it is switched off, or shutting down.
    Off,
}

/// What became of a request to run the occurrences of a span again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "answer", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Backfill {
    /// It is recorded, and begins at once where somebody is connected, else at the next visit.
    Accepted {
        /// So many occurrences are run again.
        runs: u64,
    },
    /// An earlier backfill of the job is not done yet: wait for it, or cancel it.
    UnderWay,
}

impl Scheduler {
    pub(crate) fn off() -> Scheduler {
        Scheduler(None)
    }

    pub(crate) fn on(handle: Handle) -> Scheduler {
        Scheduler(Some(Arc::new(handle)))
    }

    /// Whether there is a scheduler: false when it was switched off ([`enabled`](crate::SchedulerBuilder::enabled)).
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Runs a job now, unless it runs already anywhere. Answered at once, not when the run has ended. A manual run never moves
    /// or eats an occurrence, and neither start delay nor schedule hold it up.
    ///
    /// # Errors
    ///
    /// [`Error::is_unknown_job`] when this scheduler has no such job, [`Error::is_unreachable`] when the database could not be
    /// asked.
    pub async fn trigger(&self, job: &str) -> Result<Triggered, Error> {
        let Some(handle) = &self.0 else { return Ok(Triggered::Off) };
        let Some(slot) = handle.directory.slot(job) else { return Err(unknown(job, handle)) };
        match handle.ask(|reply| Command::Trigger { slot, reply }).await {
            Some(TriggerAnswer::Started(epoch)) => Ok(Triggered::Started { epoch }),
            Some(TriggerAnswer::AlreadyRunning { node, since, epoch }) => {
                Ok(Triggered::AlreadyRunning { node, since, epoch })
            }
            Some(TriggerAnswer::Paused) => Ok(Triggered::Paused),
            Some(TriggerAnswer::NotDue { next }) => Ok(Triggered::NotDue { next }),
            Some(TriggerAnswer::Unreachable(trouble)) => Err(Error::database("trigger", trouble)),
            Some(TriggerAnswer::ShuttingDown) | None => Ok(Triggered::Off),
        }
    }

    /// Pauses a job on the whole fleet: no run of it starts until it is resumed, or until `until`. Persisted, with who and why.
    /// A run under way goes on; its epoch is the answer.
    ///
    /// # Errors
    ///
    /// [`Error::is_unknown_job`] when this scheduler has no such job, [`Error::is_config`] when `until` is over by the server's clock,
    /// [`Error::is_unreachable`] when the database could not be asked.
    pub async fn pause(
        &self,
        job: &str,
        until: Option<Timestamp>,
        reason: Option<&str>,
        actor: Option<&str>,
    ) -> Result<Option<i64>, Error> {
        let order = Order::Pause { until, reason: reason.map(str::to_owned), actor: actor.map(str::to_owned) };
        match self.order("pause", job, order).await? {
            Ordered::Paused { running } => Ok(running),
            Ordered::PauseOver => Err(pause_is_over(job, until)),
            // Somebody has removed it: nothing is paused.
            Ordered::Nothing => Err(Error::unknown_job(format!("job {job:?} is not registered (any more): try again"))),
            Ordered::Resumed
            | Ordered::Cancelling(_)
            | Ordered::Withdrawn
            | Ordered::Backfilling(_)
            | Ordered::Refused(_) => Ok(None),
        }
    }

    /// Resumes a paused job: with its next occurrence, or with `catch_up` as if it had been missed. False: it was not paused.
    ///
    /// Without `catch_up` all that lies before counts as handled: what came due during the pause, and what an occurrence from before it
    /// had left of its retries.
    ///
    /// # Errors
    ///
    /// As [`Scheduler::pause`].
    pub async fn resume(&self, job: &str, catch_up: bool, actor: Option<&str>) -> Result<bool, Error> {
        let order = Order::Resume { catch_up, actor: actor.map(str::to_owned) };
        Ok(self.order("resume", job, order).await? == Ordered::Resumed)
    }

    /// Asks for the run under way, wherever it is, to be cancelled: it is told to stop, and its occurrence is handled. `epoch` means
    /// that run only. The answer is the run that has been asked to stop; `None`: nothing runs (a run that is lost has nobody who could be
    /// asked), or not that run. What has been asked for
    /// and has not begun is withdrawn, and with a run of a backfill the rest of it.
    ///
    /// # Errors
    ///
    /// As [`Scheduler::pause`].
    pub async fn cancel(&self, job: &str, epoch: Option<i64>, actor: Option<&str>) -> Result<Option<i64>, Error> {
        let order = Order::Cancel { epoch, actor: actor.map(str::to_owned) };
        match self.order("cancel", job, order).await? {
            Ordered::Cancelling(epoch) => Ok(Some(epoch)),
            Ordered::Paused { .. }
            | Ordered::PauseOver
            | Ordered::Resumed
            | Ordered::Withdrawn
            | Ordered::Backfilling(_)
            | Ordered::Refused(_)
            | Ordered::Nothing => Ok(None),
        }
    }

    /// Runs the occurrences of `[from, until)` again, oldest first, one after another, on whichever node has room. Each run is told
    /// its occurrence, and as its window the span from there to the next one, without lookback and undivided by
    /// [`window_max`](crate::Job::window_max). What comes due by the schedule meanwhile goes first, and nothing of it is moved: a
    /// success carries on what is covered only if its window begins within that.
    ///
    /// How far it is stands in the database, so that it goes on elsewhere when the node that is at it dies. The run that was under way
    /// then is recorded as lost and, like one that fails, not repeated; after three deaths in a row the rest is given up.
    /// [`Scheduler::cancel`] ends it; a pause holds it up. A span that reaches beyond now ends now; it may have 10,000 occurrences
    /// at most.
    ///
    /// # Errors
    ///
    /// [`Error::is_unknown_job`] when this scheduler has no such job, [`Error::is_config`] when the span has no occurrence or too many;
    /// [`Error::is_unreachable`] when the database could not be asked.
    pub async fn backfill(
        &self,
        job: &str,
        from: Timestamp,
        until: Timestamp,
        actor: Option<&str>,
    ) -> Result<Backfill, Error> {
        let order = Order::Backfill { from, until, runs: 0, actor: actor.map(str::to_owned) };
        match self.order("backfill", job, order).await? {
            Ordered::Backfilling(runs) => Ok(Backfill::Accepted { runs }),
            Ordered::Refused(error) => Err(Error::config(vec![format!("backfill of {job:?}: {error}")])),
            Ordered::Paused { .. }
            | Ordered::PauseOver
            | Ordered::Resumed
            | Ordered::Cancelling(_)
            | Ordered::Withdrawn
            | Ordered::Nothing => Ok(Backfill::UnderWay),
        }
    }

    async fn order(&self, attempted: &'static str, job: &str, order: Order) -> Result<Ordered, Error> {
        let Some(handle) = &self.0 else { return Err(Error::stopped()) };
        let Some(slot) = handle.directory.slot(job) else { return Err(unknown(job, handle)) };
        let answer = handle.ask(|reply| Command::Order { slot, order, reply }).await;
        answer.ok_or_else(Error::stopped)?.map_err(|trouble| Error::database(attempted, trouble))
    }

    /// Adds a job while the scheduler runs; it works from now on, as if it had been there at the start. Returns when it is registered;
    /// with the database away it is taken all the same, and registered at the next visit.
    ///
    /// If a job of this name, or of the one it had before, was removed just now and a run of it is still under way, this waits until that
    /// has ended. A scheduler
    /// that is switched off takes the job and does nothing.
    ///
    /// # Errors
    ///
    /// [`Error::is_config`] for anything that can never work, as at the start; a second job of one name is among that.
    /// [`Error::is_stopped`] after a shutdown.
    pub async fn add(&self, job: Job) -> Result<(), Error> {
        self.add_all([job]).await
    }

    /// As [`Scheduler::add`], for many jobs: one for each tenant, say. All of them or none; they are registered together.
    ///
    /// # Errors
    ///
    /// As [`Scheduler::add`].
    pub async fn add_all(&self, jobs: impl IntoIterator<Item = Job>) -> Result<(), Error> {
        let Some(handle) = &self.0 else { return Ok(()) };
        let mut complaints = Vec::new();
        let members = define(jobs.into_iter().collect(), &handle.terms, &mut complaints);
        if !complaints.is_empty() {
            return Err(Error::config(complaints));
        }
        let mut answer = None;
        let hand_on = |slots: Vec<Slot>| {
            let (reply, receiver) = oneshot::channel();
            let members = slots.iter().copied().zip(members.iter().cloned()).collect();
            // The loop may have ended: then nobody answers.
            let _ = handle.commands.send(Command::Add { members, reply });
            answer = Some((slots, receiver));
        };
        let mut ended = handle.ended.clone();
        tokio::select! {
            entered = handle.directory.enter_when_free(&members, hand_on) => entered.map_err(Error::config)?,
            _ = ended.wait_for(|ended| *ended) => return Err(Error::stopped()),
        }
        let Some((slots, answer)) = answer else { return Err(Error::stopped()) };
        let refused = answer.await.map_err(|_| Error::stopped())?;
        let others = members.iter().zip(slots).filter(|(_, slot)| refused.contains(slot));
        let others: Vec<String> = others.map(|(member, _)| other_key(member.name())).collect();
        if others.is_empty() { Ok(()) } else { Err(Error::config(others)) }
    }

    /// Takes a job out while the scheduler runs: this node starts no run of it any more and lets its locks go. Other nodes, and what
    /// the database knows of the job, stay as they are. A run under way here goes on to its end; its epoch is the answer.
    ///
    /// A job that is taken out everywhere (a tenant that left, say) still stands in the database, and status calls it orphaned after two
    /// periods of its schedule. Then [`Operator::forget`](crate::Operator::forget), or `hourhand forget`, removes it with its history.
    ///
    /// # Errors
    ///
    /// [`Error::is_unknown_job`] when this scheduler has no such job, [`Error::is_stopped`] after a shutdown.
    pub async fn remove(&self, job: &str) -> Result<Option<i64>, Error> {
        let Some(handle) = &self.0 else { return Ok(None) };
        let Some(slot) = handle.directory.slot(job) else { return Err(unknown(job, handle)) };
        handle.ask(|reply| Command::Remove { slot, reply }).await.ok_or_else(Error::stopped)
    }

    /// How this scheduler's jobs stand in the database: one statement for all of them, on the scheduler's own session, which is
    /// opened if it is at rest. Askers at one time share one statement. Empty when switched off.
    ///
    /// # Errors
    ///
    /// [`Error::is_unreachable`] when the database could not be asked; [`Error::is_stopped`] after a shutdown.
    pub async fn status(&self) -> Result<Vec<JobStatus>, Error> {
        let Some(handle) = &self.0 else { return Ok(Vec::new()) };
        let answer = handle.ask(|reply| Command::Status { reply }).await;
        answer.ok_or_else(Error::stopped)?.map_err(|trouble| Error::database("status", trouble))
    }

    /// What a run that is under way in this process has written so far ([`Run::output`](crate::Run::output)): what a dashboard shows before
    /// history has it. None where it does not run here. Sends no statement.
    pub async fn output(&self, job: &str, epoch: i64) -> Option<String> {
        let handle = self.0.as_ref()?;
        let slot = handle.directory.slot(job)?;
        handle.ask(|reply| Command::Output { slot, epoch, reply }).await.flatten()
    }

    /// How this scheduler is, as of its last visit to the database. Sends no statement.
    pub async fn health(&self) -> Health {
        let Some(handle) = &self.0 else { return Health { problems: Vec::new(), on: false } };
        let answer = handle.ask(|reply| Command::Health { reply }).await;
        answer.unwrap_or_else(|| Health { problems: vec!["the scheduler has shut down".to_owned()], on: false })
    }

    /// Ends the scheduler: no run starts any more, runs under way may finish within the grace, then they are told to stop and are
    /// due at once on another node. Returns when all of that is done and the session is closed. Asking again waits for the
    /// same end.
    pub async fn shutdown(&self) {
        self.begin_shutdown();
        let Some(handle) = &self.0 else { return };
        let mut ended = handle.ended.clone();
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// The same, without waiting for it.
    pub(crate) fn begin_shutdown(&self) {
        if let Some(handle) = &self.0 {
            // The loop may have ended already.
            let _ = handle.commands.send(Command::Shutdown);
        }
    }
}

impl Handle {
    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).ok()?;
        answer.into_future().await.ok()
    }
}

/// Why a pause is not written.
pub(crate) fn pause_is_over(job: &str, until: Option<Timestamp>) -> Error {
    let until = until.map(|until| format!("{until:.0}")).unwrap_or_default();
    Error::config(vec![format!("pause of {job:?}: until: {until} is over: a pause ends ahead")])
}

/// Why a job is not taken.
pub(crate) fn other_key(job: &str) -> String {
    format!("job {job:?} is registered in this schema under another key: each namespace wants a schema of its own")
}

fn unknown(job: &str, handle: &Handle) -> Error {
    let known = handle.directory.known();
    let hint = hint(job, known.iter().map(String::as_str), "it has none");
    Error::unknown_job(format!("no job {job:?} in this scheduler: {hint}"))
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler").field("on", &self.is_on()).finish_non_exhaustive()
    }
}
