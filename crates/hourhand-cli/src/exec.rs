//! `hourhand exec`: one command as a job, on one host at a time, for whatever starts commands: cron, CI, Kubernetes, systemd.
//!
//! The library does it, with one job that is run once ([`hourhand::Once`]); its body is the command, under a guardian ([`crate::child`]).
//! Around it this process is as little as possible: signals are passed on, standard input and the terminal are the command's own, and
//! the exit status is the command's.

mod body;
mod signals;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hourhand::{Job, Once, Outcome, Schedule, Scheduler, SchedulerBuilder};
use jiff::SignedDuration;

use self::body::Wrapped;
use crate::globals::Globals;
use crate::length;
use crate::output::Output;
use crate::output::when::civil_and_near;
use crate::refusal::Refusal;
use crate::runtime::block_on;
use hourhand_core::plain::inline;

/// The time-out passed: as `timeout(1)` says it.
const TIMED_OUT: i32 = 124;
/// The lock was lost: EX_TEMPFAIL of sysexits.h, try again later.
const LOST: i32 = 75;

const EXAMPLES: &str = "\
Examples:
  hourhand exec nightly-report -- ./report.sh --all
  hourhand exec order-sync --if-due @hourly --timeout 20m -- ./sync_orders
  hourhand exec deploy --wait 10m --conflict-exit-code 17 -- ./deploy.sh
  hourhand exec console --no-history -- bash

Exit status: the command's own; 124 timed out; 128 and the signal's number if a signal killed it; 75 the lock was lost and the command \
stopped; 0 (or --conflict-exit-code) another host has it or it is paused; 0 not due; 127 no such command, 126 not executable; 69 the \
database can't be reached; 2 the command line or the configuration is wrong. What was not run is said on standard error.";

/// Runs one command as a job: on one host at a time.
///
/// For cron, CI, Kubernetes CronJobs and systemd timers on several hosts: all of them start it, one of them runs it. The command ends
/// when this program does, even by kill -9, with everything that it has started; and it is stopped when its lock is lost.
/// Signals are passed on to it, standard input and the terminal are its own.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "hourhand exec [OPTIONS] <NAME> -- <CMD>...")]
pub(crate) struct Exec {
    /// The job: commands of one name exclude each other.
    name: String,

    /// Run only if the current occurrence of this schedule is not done yet. A run that failed leaves it due. Registers no schedule.
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "no_history", value_parser = one_word)]
    if_due: Option<String>,

    /// The time zone of --if-due.
    #[arg(long, value_name = "ZONE", default_value = "UTC", requires = "if_due")]
    time_zone: String,

    /// Stop the command when it has run for so long (exit status 124). Default: never.
    #[arg(long, value_name = "DURATION", value_parser = length::argument)]
    timeout: Option<SignedDuration>,

    /// Between SIGTERM and SIGKILL, when the command is stopped.
    #[arg(long, value_name = "DURATION", value_parser = length::argument, default_value = "10s")]
    stop_grace: SignedDuration,

    /// How far the window (HOURHAND_WINDOW_FROM) reaches back behind what is covered already.
    #[arg(long, value_name = "DURATION", value_parser = length::argument, conflicts_with = "no_history")]
    lookback: Option<SignedDuration>,

    /// Try so long for the lock if another host has it. Default: not at all.
    #[arg(long, value_name = "DURATION", value_parser = length::argument, default_value = "0s", hide_default_value = true)]
    wait: SignedDuration,

    /// The exit status when another host has it, or it is paused.
    #[arg(long, value_name = "N", default_value_t = 0)]
    conflict_exit_code: u8,

    /// The lock alone: nothing is on record, no schema is needed, no fence knows the run.
    #[arg(long)]
    no_history: bool,

    /// Make or upgrade the schema first. Without it, a database that is not migrated is exit status 2.
    #[arg(long, conflicts_with = "no_history")]
    migrate: bool,

    /// About how long a host that went silent keeps the lock; the same on all hosts.
    #[arg(long, value_name = "DURATION", value_parser = length::argument, default_value = "15s")]
    ttl: SignedDuration,

    /// The command and its arguments. No shell is involved.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const ONE_WORD: &str = "--if-due: a schedule is one word: quote it, such as \"30 2 * * *\" or \"every 90s\"";

/// The first word alone is what a shell makes of a schedule without quotes.
fn is_torn(text: &str) -> bool {
    !text.contains(' ') && Schedule::parse(text, "UTC").is_err()
}

fn one_word(text: &str) -> Result<String, &'static str> {
    if is_torn(text) { Err("it is no schedule") } else { Ok(text.to_owned()) }
}

/// What may be the matter with a command line that is refused because of words after the schedule.
pub(crate) fn hint(words: &[Option<String>]) -> Option<&'static str> {
    let words = words.iter().map(|word| word.as_deref().unwrap_or_default());
    let mut ours = words.take_while(|word| *word != "--").skip_while(|word| *word != "--if-due").skip(1);
    ours.next().filter(|schedule| is_torn(schedule)).map(|_| ONE_WORD)
}

fn refused(error: hourhand::Error) -> Refusal {
    if error.is_not_migrated() {
        return Refusal::wrong(format!(
            "hourhand's schema is not there, or older than this version (the server said: {error})\n\
             make it with `hourhand migrate` or `exec --migrate`; `exec --no-history` needs none"
        ));
    }
    if error.is_forbidden() {
        let text = format!(
            "{error}\n`hourhand migrate --grant-to ROLE`, as the schema's owner, grants what a role needs that runs jobs"
        );
        return Refusal::failed(text);
    }
    error.into()
}

impl Exec {
    /// Runs the command, or says why not.
    ///
    /// # Errors
    ///
    /// The database could not be had, or what was asked for can't be.
    pub(crate) fn run(self, globals: &Globals, output: &Output) -> Result<ExitCode, Refusal> {
        let builder = self.builder(globals)?;
        if let Some(lacks) = crate::guardian::LACKS {
            output.remark(format!("hourhand: {lacks}"));
        }
        let code = block_on(self.execute(builder, output))?;
        // A process has eight bits to say it with.
        Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(u8::MAX)))
    }

    fn builder(&self, globals: &Globals) -> Result<SchedulerBuilder, Refusal> {
        let url = Some(globals.database_url()?).filter(|url| !url.is_empty());
        // Then the PG* variables say all.
        let mut builder = Scheduler::builder(url.unwrap_or_else(|| "postgresql://".to_owned()));
        if let Some(url) = globals.session_url()? {
            builder = builder.session_url(url);
        }
        if let Some(namespace) = globals.namespace()? {
            builder = builder.namespace(namespace.to_string());
        }
        let builder = builder.schema(globals.schema()).exclusion(globals.exclusion()).ttl(self.ttl);
        Ok(builder.history(!self.no_history).migrate(self.migrate))
    }

    async fn execute(&self, builder: SchedulerBuilder, output: &Output) -> Result<i32, Refusal> {
        let (wrapped, mut signals) =
            Wrapped::new(self.command.clone(), self.name.clone(), self.stop_grace.unsigned_abs())
                .map_err(|error| Refusal::failed(format!("could not start: {error}")))?;
        let wrapped = Arc::new(wrapped.without_output(self.no_history));
        let running = builder.job(self.job(wrapped.clone())?).run_once(self.wait);
        let once = tokio::select! {
            once = running => once.map_err(refused)?,
            // The library goes on in its own thread until the process has ended, which is now: the lock goes with it.
            signal = signals.pass_on(&wrapped) => return Ok(128 + signal),
        };
        crate::child::flush().await;
        Ok(self.judge(&once, &wrapped, output))
    }

    fn job(&self, wrapped: Arc<Wrapped>) -> Result<Job, Refusal> {
        let grace = wrapped.job_stop_grace();
        let body = move |run| {
            let wrapped = wrapped.clone();
            async move { wrapped.run(run).await }
        };
        let mut job = match &self.if_due {
            Some(schedule) => {
                let schedule = Schedule::parse(schedule, &self.time_zone);
                let schedule = schedule.map_err(|error| Refusal::wrong(format!("--if-due: {error}")))?;
                if schedule.is_continuous() {
                    let why =
                        "`continuous` has no occurrences that could be due; to keep one command running, hourhand up";
                    return Err(Refusal::wrong(format!("--if-due: {why}")));
                }
                Job::new(&self.name, schedule, body)
            }
            None => Job::on_demand(&self.name, body),
        };
        if let Some(timeout) = self.timeout {
            job = job.timeout(timeout);
        }
        if let Some(lookback) = self.lookback {
            job = job.lookback(lookback);
        }
        Ok(job.stop_grace(grace))
    }

    /// The exit status, and a word to people where it is not the command's own.
    fn judge(&self, once: &Once, wrapped: &Wrapped, output: &Output) -> i32 {
        let (name, now) = (inline(&self.name), jiff::Timestamp::now());
        let say = |text: String| output.remark(format!("hourhand: {text}"));
        match once {
            Once::Ran { outcome, .. } => {
                let (code, remark) = self.judge_run(*outcome, wrapped);
                remark.into_iter().for_each(say);
                code
            }
            Once::AlreadyRunning { node, since, .. } => {
                let by = node.as_ref().map(|node| format!(" on {}", inline(node))).unwrap_or_default();
                let since = since.map(|since| format!(" since {}", civil_and_near(since, now))).unwrap_or_default();
                say(format!("{name} runs already{by}{since}: not run"));
                i32::from(self.conflict_exit_code)
            }
            Once::Paused => {
                say(format!("{name} is paused: not run"));
                i32::from(self.conflict_exit_code)
            }
            Once::NotDue { next } => {
                let next = next.map(|next| format!(", next {}", civil_and_near(next, now))).unwrap_or_default();
                say(format!("{name} is not due{next}: not run"));
                0
            }
            other => {
                say(format!("{name} was not run: {other:?}"));
                1
            }
        }
    }

    fn judge_run(&self, outcome: Option<Outcome>, wrapped: &Wrapped) -> (i32, Option<String>) {
        let name = inline(&self.name);
        if wrapped.lost_its_lock() || outcome == Some(Outcome::Lost) {
            return (LOST, Some(format!("the lock of {name} was lost: the command was stopped")));
        }
        if outcome == Some(Outcome::TimedOut) {
            let after = self.timeout.map(|timeout| format!(" after {timeout:#}")).unwrap_or_default();
            return (TIMED_OUT, Some(format!("{name} timed out{after}: the command was stopped")));
        }
        let code = wrapped.code();
        match outcome {
            _ if wrapped.why_not_started().is_some() => (code, wrapped.why_not_started()),
            None => {
                (code, Some(format!("the end of this run of {name} is not on record: the database would not take it")))
            }
            Some(Outcome::Cancelled) => (code, Some(format!("{name} was cancelled: the command was stopped"))),
            Some(_) => (code, None),
        }
    }
}
