//! `hourhand next`: what a schedule means, in words and instants.

use clap::Args;
use hourhand_core::schedule::Schedule;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::output::when::{civil, read, relative, rfc3339};
use crate::output::{FAINT, ODD, Output, STRONG};
use crate::refusal::Refusal;

const EXAMPLES: &str = "\
Examples:
  hourhand next \"30 2 * * *\" --time-zone Europe/Berlin
  hourhand next \"0 9 * * MON#1\" -n 12   first Mondays of the coming year
  hourhand next @hourly --from 2027-01-01 --json
  hourhand next \"every 90s\"

Schedules: crontab's five fields (or six, beginning with seconds), with L, LW, 15W, 5#3, 5L; @hourly, @daily and so on; \
every 90s, every 1h 30m from 2026-01-01T00:00:00Z; continuous.";

/// What a schedule means, in words, and when it is due next. Needs no database.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Next {
    /// The schedule; quoted, or a shell takes each `*` for names of files.
    #[arg(value_name = "EXPR", required = true)]
    schedule: Vec<String>,

    /// The time zone it is read in.
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    time_zone: String,

    /// Occurrences after this instant; without an offset, in the schedule's time zone.
    #[arg(long, value_name = "T", default_value = "now")]
    from: String,

    /// How many.
    #[arg(short = 'n', value_name = "N", default_value_t = 5)]
    count: usize,
}

#[derive(Serialize)]
struct Shown {
    schedule: String,
    time_zone: String,
    description: String,
    next: Vec<String>,
    notes: Vec<String>,
}

impl Next {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Refusal> {
        let schedule = self.schedule()?;
        let zone = TimeZone::get(schedule.time_zone()).map_err(|error| Refusal::wrong(error.to_string()))?;
        let now = Timestamp::now();
        let from = read(&self.from, &zone, now).map_err(|error| Refusal::wrong(format!("--from: {error}")))?;
        let next: Vec<Timestamp> = schedule.occurrences_after(from).take(self.count).collect();
        let shown = Shown {
            schedule: schedule.to_string(),
            time_zone: schedule.time_zone().to_owned(),
            description: schedule.describe(),
            next: next.iter().map(|at| rfc3339(*at)).collect(),
            notes: schedule.notes(),
        };
        Ok(output.either(&shown, |output| people(output, &shown, &next, (&zone, now)))?)
    }
}

impl Next {
    fn schedule(&self) -> Result<Schedule, Refusal> {
        let whole = self.schedule.join(" ");
        Schedule::parse(&whole, &self.time_zone).map_err(|error| {
            let unquoted = self.schedule.len() > 1;
            let hint = if unquoted { "\nquote the schedule as one word: a shell may have changed it" } else { "" };
            Refusal::wrong(format!("{error}{hint}"))
        })
    }
}

fn people(
    output: &Output,
    shown: &Shown,
    next: &[Timestamp],
    (zone, now): (&TimeZone, Timestamp),
) -> std::io::Result<()> {
    // An interval is the same everywhere.
    let place = if shown.schedule.starts_with("every") || shown.schedule == "continuous" {
        String::new()
    } else {
        format!(" in {}", shown.time_zone)
    };
    output.line(format_args!("{STRONG}{}{STRONG:#}{place}", shown.description))?;
    for at in next {
        output.line(format_args!("  {}  {FAINT}{}{FAINT:#}", civil(*at, zone), relative(*at, now)))?;
    }
    for note in &shown.notes {
        output.line(format_args!("{ODD}note:{ODD:#} {note}"))?;
    }
    Ok(())
}
