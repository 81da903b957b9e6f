//! `window`, `evict`, `forget`: what a person does by hand when things have gone wrong.

use std::io::{BufRead as _, IsTerminal as _};

use clap::Args;
use hourhand::{Eviction, Forgetting, LockHolder, NextWindow, Operator};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::globals::Globals;
use crate::operator::with_operator;
use crate::output::when::{civil_and_near, here, length_in_words, near_and_civil, read_back, rfc3339};
use crate::output::{GOOD, ODD, Output, STRONG};
use crate::refusal::Refusal;
use hourhand_core::plain::inline;

const WINDOW_EXAMPLES: &str = "\
Examples:
  # where its next window begins
  hourhand window order-sync
  # fetches everything since then again
  hourhand window order-sync --from \"2026-12-01 00:00\"
  # passes everything before over
  hourhand window order-sync --from now

A run under way keeps its own window. To run past occurrences again one after another: hourhand backfill.";

/// Shows or sets where a job's next window of outside data begins.
#[derive(Args, Debug)]
#[command(after_help = WINDOW_EXAMPLES)]
pub(crate) struct Window {
    /// The job.
    #[arg(value_name = "NAME")]
    job: String,

    /// Have it begin there.
    #[arg(long, value_name = "T")]
    from: Option<String>,
}

#[derive(Serialize)]
struct ShownWindow<'a> {
    job: &'a str,
    #[serde(flatten)]
    window: NextWindow,
}

impl Window {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let now = Timestamp::now();
        let from = self.from.as_deref().map(|from| read_back(from, &here(), now)).transpose();
        let from = from.map_err(|error| Refusal::wrong(format!("--from: {error}")))?;
        let window = with_operator(globals, async |operator| match from {
            Some(from) => Ok(operator.set_window(&self.job, from).await?),
            None => Ok(operator.window(&self.job).await?),
        })?;
        Ok(output.either(&ShownWindow { job: &self.job, window }, |output| {
            output.line(format_args!(
                "the next window of {STRONG}{}{STRONG:#} begins at {}: {}",
                inline(&self.job),
                rfc3339(window.from),
                near_and_civil(window.from, now)
            ))?;
            if !window.lookback.is_zero() {
                let reach = length_in_words(window.lookback);
                output.line(format_args!(
                    "covered until {}, less a lookback of {reach}",
                    rfc3339(window.covered_until)
                ))?;
            }
            match window.running {
                Some(epoch) => output.line(format_args!("run {epoch} is under way with a window of its own")),
                None => Ok(()),
            }
        })?)
    }
}

const EVICT_EXAMPLES: &str = "\
Examples:
  hourhand evict order-sync         shows who holds its lock, and asks
  hourhand evict order-sync --yes   asks nobody, for scripts

For a holder that is stuck or that the lock has leaked into. A frozen node is evicted by its watchers without you; a run of a \
healthy one is better cancelled (hourhand cancel).";

/// Ends the session that holds a job's lock, whatever it is; asks first.
#[derive(Args, Debug)]
#[command(after_help = EVICT_EXAMPLES)]
pub(crate) struct Evict {
    /// The job.
    #[arg(value_name = "NAME")]
    job: String,

    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

#[derive(Serialize)]
struct ShownEviction<'a> {
    job: &'a str,
    answer: &'static str,
    holder: Option<&'a LockHolder>,
}

impl Evict {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let eviction = with_operator(globals, async |operator| {
            if !self.yes {
                self.ask(operator, output).await?;
            }
            Ok(operator.evict(&self.job).await?)
        })?;
        let job = self.job.as_str();
        match &eviction {
            Eviction::Ended(holder) => {
                let shown = ShownEviction { job, answer: "ended", holder: Some(holder) };
                Ok(output
                    .either(&shown, |output| output.line(format_args!("{GOOD}ended{GOOD:#}: {}", described(holder))))?)
            }
            Eviction::NotHeld => {
                let shown = ShownEviction { job, answer: "not_held", holder: None };
                Ok(output.either(&shown, |output| {
                    output.line(format_args!("nobody holds the lock of {STRONG}{}{STRONG:#}", inline(job)))
                })?)
            }
            Eviction::Leased { holder, until } => {
                let end = until.map_or_else(
                    || "a moment not known here".to_owned(),
                    |until| civil_and_near(until, Timestamp::now()),
                );
                Err(Refusal::failed(format!(
                    "{job} runs under a lease of {holder}, which no session holds: unless it is renewed it runs out at {end}"
                )))
            }
            // The library may learn of more.
            other => Err(Refusal::failed(format!("not ended: {other:?}"))),
        }
    }

    /// Shows who would be ended and asks; a script has to say `--yes`.
    async fn ask(&self, operator: &Operator, output: &Output) -> Result<(), Refusal> {
        let Some(holder) = operator.holder(&self.job).await? else { return Ok(()) };
        if !std::io::stdin().is_terminal() {
            return Err(Refusal::wrong(format!(
                "this would end {}: say --yes, as nobody can be asked here",
                described(&holder)
            )));
        }
        output.ask(format_args!("{ODD}end{ODD:#} {}? [y/N] ", described(&holder)));
        let mut answer = String::new();
        // An end of input is no yes.
        let _ = std::io::stdin().lock().read_line(&mut answer);
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Refusal::failed("not ended")),
        }
    }
}

/// A session in words.
fn described(holder: &LockHolder) -> String {
    let mut text = format!("session {}", holder.pid);
    if let Some(application) = holder.application.as_deref().filter(|application| !application.is_empty()) {
        text += &format!(" of {application}");
    }
    if let Some(role) = &holder.role {
        text += &format!(", role {role}");
    }
    if let Some(client) = &holder.client {
        text += &format!(", from {client}");
    }
    if let Some(length) = holder.silent_seconds.and_then(|seconds| SignedDuration::try_from_secs_f64(seconds).ok()) {
        text += &format!(", silent for {}", length_in_words(length));
    }
    text += &match holder.epoch {
        Some(epoch) => format!(", with run {epoch} under way"),
        None => ", which runs nothing of it".to_owned(),
    };
    inline(&text).into_owned()
}

const FORGET_EXAMPLES: &str = "\
Examples:
  hourhand forget old-report

Only a job that is orphaned (overdue, and for two periods of its schedule no process has registered it, run it or seen it wait) and \
that nobody holds; one without a schedule (hourhand exec) if it has not run for 14 days. What it has covered goes too: a process \
that still has it, or exec, registers it anew, and its window begins there. Exit status 1: it stays, and why.";

/// Removes an orphaned job with its history.
#[derive(Args, Debug)]
#[command(after_help = FORGET_EXAMPLES)]
pub(crate) struct Forget {
    /// The job.
    #[arg(value_name = "NAME")]
    job: String,
}

#[derive(Serialize)]
struct Forgotten<'a> {
    job: &'a str,
    forgotten: bool,
}

impl Forget {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let forgetting = with_operator(globals, async |operator| Ok(operator.forget(&self.job).await?))?;
        match forgetting {
            Forgetting::Forgotten => Ok(output.either(&Forgotten { job: &self.job, forgotten: true }, |output| {
                output.line(format_args!("{STRONG}{}{STRONG:#} is forgotten, with its history", inline(&self.job)))
            })?),
            Forgetting::Refused(reason) => Err(Refusal::failed(format!("{} stays: {reason}", self.job))),
            // The library may learn of more.
            other => Err(Refusal::failed(format!("{} stays: {other:?}", self.job))),
        }
    }
}
