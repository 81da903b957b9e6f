//! `hourhand status`: how all jobs stand, or one in full.

use clap::Args;
use hourhand::JobStatus;
use hourhand_core::schedule::Schedule;
use jiff::Timestamp;

use crate::globals::Globals;
use crate::operator::with_operator;
use crate::output::when::{civil_and_near, length_in_words, near_and_civil, relative};
use crate::output::{BAD, Cell, FAINT, GOOD, ODD, Output, STRONG, Table};
use crate::refusal::Refusal;
use hourhand_core::plain::inline;

const EXAMPLES: &str = "\
Examples:
  hourhand status
  hourhand status order-sync
  hourhand status --json | jq -r '.[] | select(.overdue) | .job'

A job runs when its lock is held in pg_locks by the session that its row names: a run whose process is gone is shown as \
lost at once, before anybody has recorded it.";

/// How the jobs stand: what runs where, what is paused or overdue, what comes next.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Status {
    /// One job, in full.
    #[arg(value_name = "NAME")]
    job: Option<String>,
}

impl Status {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let jobs = with_operator(globals, async |operator| Ok(operator.status(self.job.as_deref()).await?))?;
        let now = Timestamp::now();
        Ok(output.either(&jobs, |output| match (&self.job, jobs.as_slice()) {
            (Some(_), [job]) => in_full(output, job, now),
            (_, []) => {
                output.remark("no job has been registered yet: that happens when a process with a scheduler starts");
                Ok(())
            }
            (_, _) => output.table(&table(&jobs, now)),
        })?)
    }
}

fn table(jobs: &[JobStatus], now: Timestamp) -> Table {
    let mut table = Table::new(&["job", "state", "schedule", "next", "last success", "last outcome"]);
    for job in jobs {
        table.row([
            Cell::styled(&job.job, STRONG),
            state(job, now),
            Cell::new(schedule(job)),
            // A body that should always run has no next occurrence.
            Cell::maybe(job.next_at.map(|at| near_and_civil(at, now))),
            Cell::maybe(job.last_success_at.map(|at| relative(at, now))),
            job.last_outcome.as_deref().map_or_else(|| Cell::maybe(None::<&str>), outcome),
        ]);
    }
    table
}

/// A word, and what there is to know about it.
fn state(job: &JobStatus, now: Timestamp) -> Cell {
    if let Some(running) = &job.running {
        let length = running.since.map(|since| length_in_words(since.duration_until(now)));
        let since = length.map(|length| format!(" for {length}")).unwrap_or_default();
        let place = running.node.as_deref().map(|node| format!(" on {node}")).unwrap_or_default();
        return Cell::styled(format!("running{place}{since}"), GOOD);
    }
    if let Some(paused) = &job.paused {
        let until = paused.until.map(|until| format!(" until {}", civil_and_near(until, now))).unwrap_or_default();
        let reason = paused.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let actor = paused.actor.as_deref().map(|actor| format!(" ({actor})")).unwrap_or_default();
        return Cell::styled(format!("paused{until}{reason}{actor}"), ODD);
    }
    match (job.orphaned, job.overdue) {
        (true, _) => Cell::styled("orphaned: nobody runs it any more", BAD),
        (false, true) => Cell::styled("overdue", BAD),
        (false, false) => Cell::styled("waiting", FAINT),
    }
}

/// The schedule as it is written, with its zone where that says something.
fn schedule(job: &JobStatus) -> String {
    if job.schedule.is_empty() {
        // Nothing but `exec`, or `hourhand.begin`, has run it.
        return "when asked".to_owned();
    }
    match job.time_zone.as_str() {
        "UTC" | "" => job.schedule.clone(),
        zone => format!("{} ({zone})", job.schedule),
    }
}

/// An outcome in its colour.
pub(super) fn outcome(outcome: &str) -> Cell {
    Cell::styled(outcome, color_of_outcome(outcome))
}

/// The same for a place in a line.
pub(super) fn word_of_outcome(outcome: &str) -> String {
    let style = color_of_outcome(outcome);
    format!("{style}{}{style:#}", inline(outcome))
}

fn color_of_outcome(outcome: &str) -> anstyle::Style {
    match outcome {
        "succeeded" => GOOD,
        "failed" | "panicked" | "timed_out" | "lost" => BAD,
        "cancelled" => ODD,
        _ => FAINT,
    }
}

fn in_full(output: &Output, job: &JobStatus, now: Timestamp) -> std::io::Result<()> {
    output.line(format_args!("{STRONG}{}{STRONG:#}", inline(&job.job)))?;
    // An interval says already what it means.
    let said = Schedule::parse(&job.schedule, &job.time_zone).ok().filter(|_| !job.schedule.starts_with("every"));
    let meaning = said.map(|schedule| format!(": {}", schedule.describe())).unwrap_or_default();
    let mut facts = Table::new(&["", ""]);
    let mut fact = |name: &str, cell: Cell| facts.row([Cell::styled(name, FAINT), cell]);
    fact("state", state(job, now));
    if let Some(running) = &job.running {
        let pid = running.pid.map_or_else(|| "a lease".to_owned(), |pid| format!("session {pid}"));
        fact("run", Cell::new(format!("epoch {}, held by {pid}", running.epoch)));
    }
    fact("schedule", Cell::new(format!("{}{meaning}", schedule(job))));
    fact("next", Cell::maybe(job.next_at.map(|at| near_and_civil(at, now))));
    fact("last success", Cell::maybe(job.last_success_at.map(|at| near_and_civil(at, now))));
    fact("last outcome", job.last_outcome.as_deref().map_or_else(|| Cell::maybe(None::<&str>), outcome));
    output.table(&facts)
}
