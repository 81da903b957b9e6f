//! `pause`, `resume`, `cancel`: orders that any node obeys, given from anywhere.

use std::process::ExitCode;

use clap::Args;
use hourhand::Cancelled;
use jiff::Timestamp;
use serde::Serialize;

use crate::globals::Globals;
use crate::operator::with_operator;
use crate::output::when::{civil_and_near, here, read, rfc3339};
use crate::output::{Output, STRONG};
use crate::refusal::Refusal;
use hourhand_core::plain::{argument, inline};

const PAUSE_EXAMPLES: &str = "\
Examples:
  hourhand pause order-sync --until 2h --reason \"the order service is moved\"
  hourhand pause order-sync --until \"2026-12-24 18:00\"
  hourhand pause order-sync   until somebody resumes it

A run that is under way goes on (hourhand cancel stops it).";

/// Pauses a job on all hosts: nothing of it starts until it is resumed, or until an instant.
#[derive(Args, Debug)]
#[command(after_help = PAUSE_EXAMPLES)]
pub(crate) struct Pause {
    /// The job.
    #[arg(value_name = "NAME")]
    job: String,

    /// Until then: 2h, 2026-12-24, an RFC 3339 instant.
    #[arg(long, value_name = "T")]
    until: Option<String>,

    /// Why, for whoever looks at it.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Paused<'a> {
    job: &'a str,
    until: Option<String>,
    /// The run that goes on.
    running_epoch: Option<i64>,
}

impl Pause {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let now = Timestamp::now();
        let until = self.until.as_deref().map(|until| read(until, &here(), now)).transpose();
        let until = until.map_err(|error| Refusal::wrong(format!("--until: {error}")))?;
        if let Some(past) = until.filter(|until| *until <= now) {
            return Err(Refusal::wrong(format!("--until: {} is over: a pause ends ahead", rfc3339(past))));
        }
        let reason = self.reason.as_deref();
        let epoch = with_operator(globals, async |operator| Ok(operator.pause(&self.job, until, reason).await?))?;
        let shown = Paused { job: &self.job, until: until.map(rfc3339), running_epoch: epoch };
        Ok(output.either(&shown, |output| {
            let end = until.map_or_else(|| "somebody resumes it".to_owned(), |until| civil_and_near(until, now));
            output.line(format_args!("{STRONG}{}{STRONG:#} is paused until {end}", inline(&self.job)))?;
            match epoch {
                Some(epoch) => output.line(format_args!(
                    "its run {epoch} goes on; to stop it: hourhand cancel {}",
                    inline(&argument(&self.job))
                )),
                None => Ok(()),
            }
        })?)
    }
}

const RESUME_EXAMPLES: &str = "\
Examples:
  # goes on with its next occurrence
  hourhand resume order-sync
  # what it missed counts as missed, and is caught up
  hourhand resume order-sync --catch-up";

/// Resumes a paused job.
#[derive(Args, Debug)]
#[command(after_help = RESUME_EXAMPLES)]
pub(crate) struct Resume {
    /// The job.
    #[arg(value_name = "NAME")]
    job: String,

    /// Catch up what came due during the pause, as its policy says, and go on with retries that were left; otherwise both count as
    /// handled.
    #[arg(long)]
    catch_up: bool,
}

#[derive(Serialize)]
struct Resumed<'a> {
    job: &'a str,
    /// False: it was not paused.
    resumed: bool,
}

impl Resume {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let resumed = with_operator(globals, async |operator| Ok(operator.resume(&self.job, self.catch_up).await?))?;
        let told = if resumed { "is resumed" } else { "was not paused" };
        Ok(output.either(&Resumed { job: &self.job, resumed }, |output| {
            output.line(format_args!("{STRONG}{}{STRONG:#} {told}", inline(&self.job)))?;
            match resumed && !self.catch_up {
                true => output.line("what came due until now, or was to be tried again, counts as handled"),
                false => Ok(()),
            }
        })?)
    }
}

const CANCEL_EXAMPLES: &str = "\
Examples:
  hourhand cancel order-sync
  # that run, and no later one
  hourhand cancel order-sync --epoch 1796053749007507

The run is told to stop wherever it is; its occurrence counts as handled. What was asked for and has not begun is taken back. Exit \
status 1: nothing runs, or another run, and nothing was asked for.";

/// Stops the run under way.
#[derive(Args, Debug)]
#[command(after_help = CANCEL_EXAMPLES)]
pub(crate) struct Cancel {
    /// The job.
    #[arg(value_name = "NAME")]
    job: String,

    /// Only this run; by default the one that is seen running.
    #[arg(long, value_name = "E")]
    epoch: Option<i64>,
}

#[derive(Serialize)]
struct Shown<'a> {
    job: &'a str,
    answer: &'static str,
    /// The run that is told to stop.
    epoch: Option<i64>,
    /// The run that nobody is at any more.
    lost_epoch: Option<i64>,
    /// Requests taken back.
    withdrawn: u64,
}

impl Cancel {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<ExitCode, Refusal> {
        let cancelled = with_operator(globals, async |operator| Ok(operator.cancel(&self.job, self.epoch).await?))?;
        let answer = match (cancelled.told, cancelled.withdrawn) {
            (Some(_), _) => "cancelling",
            (None, 0) => "not_running",
            (None, _) => "withdrawn",
        };
        let (epoch, lost_epoch, withdrawn) = (cancelled.told, cancelled.lost, cancelled.withdrawn);
        output.either(&Shown { job: &self.job, answer, epoch, lost_epoch, withdrawn }, |output| {
            self.lines(&cancelled).iter().try_for_each(|line| output.line(line))
        })?;
        Ok(if answer == "not_running" { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn lines(&self, cancelled: &Cancelled) -> Vec<String> {
        let (job, quoted) = (inline(&self.job), argument(&self.job));
        let of_run = match (cancelled.told, cancelled.lost, self.epoch) {
            (Some(epoch), ..) => Some(format!("{STRONG}{job}{STRONG:#}: run {epoch} is told to stop")),
            (None, Some(lost), _) => Some(format!(
                "not running: run {lost} of {job} is lost, its process is gone; its occurrence runs again, if it has one: \
                 to prevent that, hourhand pause {}",
                inline(&quoted)
            )),
            (None, None, Some(epoch)) => Some(format!("not running: run {epoch} of {job}")),
            (None, None, None) if cancelled.withdrawn == 0 => Some(format!("not running: {job}")),
            (None, None, None) => None,
        };
        let taken_back = (cancelled.withdrawn > 0)
            .then(|| format!("{STRONG}{job}{STRONG:#}: what was asked for and has not begun is taken back"));
        of_run.into_iter().chain(taken_back).collect()
    }
}
