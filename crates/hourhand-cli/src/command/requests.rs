//! `trigger`, `backfill`: runs asked for from anywhere.
//!
//! Nothing runs in this process. A row is written, whoever is connected is told, and after a moment the row is looked at again: that is how the
//! answer can be *started*, with the run's epoch, though the process that started it knows nothing of us. Where everybody rests the answer is
//! *requested*, and that is no failure: the next visit takes it.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use hourhand::{Asked, Backfill as Answer, Operator, RunEnd};
use jiff::Timestamp;
use serde::Serialize;

use super::status::word_of_outcome;
use crate::globals::Globals;
use crate::length;
use crate::operator::with_operator;
use crate::output::when::{civil, civil_and_near, here, read_back, rfc3339};
use crate::output::{BAD, GOOD, ODD, Output, STRONG};
use crate::refusal::Refusal;
use hourhand_core::plain::{argument, block, inline};

const TRIGGER_EXAMPLES: &str = "\
Examples:
  hourhand trigger order-sync
  # until its end; exit status 1 unless it succeeded
  hourhand trigger order-sync --wait
  # whoever takes it later than that shall not
  hourhand trigger order-sync --expires 10m

A connected process takes it at once (hourhand up is one, unless resident = false), one at rest at its next visit. A manual run \
never moves or eats an occurrence. Exit status 1: the job is paused, or nobody has it any more.";

/// Runs a job now, wherever it can run; answers at once.
#[derive(Args, Debug)]
#[command(after_help = TRIGGER_EXAMPLES)]
pub(crate) struct Trigger {
    /// The job.
    #[arg(value_name = "NAME")]
    job: String,

    /// Wait for the run's end, also if its process dies; a run that is under way already is waited for too.
    #[arg(long, short)]
    wait: bool,

    /// The request is void after so long [default: 1h, or a minute after the next visit, if that is later].
    #[arg(long, value_name = "LENGTH", value_parser = length::some)]
    expires: Option<Duration>,
}

#[derive(Serialize)]
struct Triggered<'a> {
    job: &'a str,
    #[serde(flatten)]
    asked: &'a Asked,
    /// With `--wait`, of a run that there was.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<&'a RunEnd>,
}

impl Trigger {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<ExitCode, Refusal> {
        let (asked, end) = with_operator(globals, async |operator| {
            let asked = operator.trigger(&self.job, self.expires).await?;
            if self.wait {
                output.remark(told(&self.job, &asked));
            }
            let end = if self.wait { self.end(operator, &asked).await? } else { None };
            Ok((asked, end))
        })?;
        output.either(&Triggered { job: &self.job, asked: &asked, end: end.as_ref() }, |output| match &end {
            Some(end) => output.line(ended(end)),
            None if self.wait => Ok(()),
            None => output.line(told(&self.job, &asked)),
        })?;
        let well = match (&asked, &end) {
            (_, Some(end)) => end.outcome == "succeeded",
            (Asked::Started { .. } | Asked::AlreadyRunning { .. } | Asked::Requested { .. }, None) => !self.wait,
            (_, None) => false,
        };
        Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The end of the run that was asked for, or of the one that is under way instead.
    async fn end(&self, operator: &Operator, asked: &Asked) -> Result<Option<RunEnd>, Refusal> {
        let epoch = match asked {
            Asked::Started { epoch, .. } => Some(*epoch),
            Asked::AlreadyRunning { epoch, .. } => *epoch,
            Asked::Requested { request, .. } => operator.taken(*request).await?,
            _ => None,
        };
        match epoch {
            Some(epoch) => Ok(Some(operator.wait(&self.job, epoch).await?)),
            None => Ok(None),
        }
    }
}

fn told(job: &str, asked: &Asked) -> String {
    let (word, now) = (inline(&argument(job)).into_owned(), Timestamp::now());
    let job = format!("{STRONG}{}{STRONG:#}", inline(job));
    let place = |node: &Option<String>| node.as_deref().map(|node| format!(" on {}", inline(node))).unwrap_or_default();
    match asked {
        Asked::Started { epoch, node } => format!("{job}: {GOOD}started{GOOD:#}{}, run {epoch}", place(node)),
        Asked::AlreadyRunning { node, since, .. } => {
            let since = since.map(|since| format!(" since {}", civil_and_near(since, now))).unwrap_or_default();
            format!("{job}: already running{}{since}", place(node))
        }
        Asked::Paused => format!("{job}: {ODD}paused{ODD:#}: hourhand resume {word} first"),
        Asked::Requested { by, expires_at, .. } => {
            let by = by.map(|by| format!(" at {} at the latest", civil_and_near(by, now))).unwrap_or_default();
            let end = civil_and_near(*expires_at, now);
            format!("{job}: requested: nobody is connected, the next visit takes it{by}; void from {end} on")
        }
        Asked::Nobody => {
            format!(
                "{job}: {BAD}nobody{BAD:#} has registered, started or run it within its last two periods: no process has it"
            )
        }
        Asked::Withdrawn => format!("{job}: somebody has cancelled it meanwhile"),
        // The library may learn of more.
        other => format!("{job}: {other:?}"),
    }
}

fn ended(end: &RunEnd) -> String {
    let error = end.error.as_deref().map(|error| format!(": {}", block(error))).unwrap_or_default();
    format!("{STRONG}{}{STRONG:#}: run {} {}{error}", inline(&end.job), end.epoch, word_of_outcome(&end.outcome))
}

const BACKFILL_EXAMPLES: &str = "\
Examples:
  hourhand backfill order-sync --from 2026-11-01 --until 2026-11-08
  hourhand backfill order-sync --from \"24h ago\" --until now

Each run's window is the span from its occurrence to the next. hourhand cancel ends what is left of it. Exit status 1: an \
earlier backfill of the job is not done yet.";

/// Runs the occurrences of a span again, oldest first, one after another.
#[derive(Args, Debug)]
#[command(after_help = BACKFILL_EXAMPLES)]
pub(crate) struct Backfill {
    /// The job.
    #[arg(value_name = "NAME")]
    job: String,

    /// From this instant on: 2026-12-01, 2h (ago).
    #[arg(long, value_name = "T")]
    from: String,

    /// Before this one.
    #[arg(long, value_name = "T")]
    until: String,
}

#[derive(Serialize)]
struct Backfilled<'a> {
    job: &'a str,
    #[serde(flatten)]
    answer: Answer,
    from: String,
    until: String,
}

impl Backfill {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<ExitCode, Refusal> {
        let now = Timestamp::now();
        let instant = |option: &str, text: &str| {
            read_back(text, &here(), now).map_err(|error| Refusal::wrong(format!("{option}: {error}")))
        };
        let (from, until) = (instant("--from", &self.from)?, instant("--until", &self.until)?);
        let answer = with_operator(globals, async |operator| Ok(operator.backfill(&self.job, from, until).await?))?;
        let shown = Backfilled { job: &self.job, answer, from: rfc3339(from), until: rfc3339(until) };
        output.either(&shown, |output| {
            let job = format!("{STRONG}{}{STRONG:#}", inline(&self.job));
            match answer {
                Answer::Accepted { runs } => output.line(format_args!(
                    "{job}: {runs} occurrence{} from {} to {} will run again",
                    if runs == 1 { "" } else { "s" },
                    civil(from, &here()),
                    civil(until, &here())
                )),
                _ => output.line(format_args!(
                    "{job}: an earlier backfill is not done yet: wait for it, or hourhand cancel {}",
                    inline(&argument(&self.job))
                )),
            }
        })?;
        Ok(if matches!(answer, Answer::Accepted { .. }) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
