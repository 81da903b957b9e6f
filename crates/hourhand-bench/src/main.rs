//! Measures hourhand, and its peers beside it, on a private PostgreSQL: `cargo xtask bench` builds and runs it.

mod build_times;
mod course;
mod figure;
mod fleet;
mod footprint;
mod goals;
mod ground;
mod installed;
mod machine;
mod pgbench;
mod pgbouncer;
mod plan;
mod process;
mod report;
mod scale;
mod scenario;
mod schedules;
mod spans;
mod subject;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use course::Course;
use ground::Ground;
use plan::Plan;
use report::Report;
use scenario::Scenario;
use spans::Spans;
use subject::{HOURHAND, Peer};

/// Loads and faults on real processes and a real server.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Whom to measure, by package; may be repeated [default: hourhand and every peer].
    #[arg(long)]
    only: Vec<String>,
    /// What to measure; may be repeated [default: everything].
    #[arg(long)]
    scenario: Vec<Scenario>,
    /// hourhand alone, against its own goals.
    #[arg(long)]
    goals: bool,
    /// hourhand alone: fleets of 4, 20 and 60 processes, and what an occurrence costs the server.
    #[arg(long)]
    scale: bool,
    /// How long the next instant of a schedule takes to find.
    #[arg(long)]
    schedules: bool,
    /// How long a clean build of each replica takes, on all cores; several minutes each.
    #[arg(long)]
    build_times: bool,
    /// How thoroughly: `short` is everything and everybody within half an hour.
    #[arg(long, value_enum, default_value = "full")]
    spans: Spans,
    /// The same as `--spans quick`: to see that it works.
    #[arg(long)]
    quick: bool,
    /// Nothing begins that would probably not be over after so many minutes; the table says what is missing.
    #[arg(long)]
    minutes: Option<u64>,
    /// The directory of the peers' programs.
    #[arg(long)]
    peers: Option<PathBuf>,
    /// Where the raw numbers go, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> Result<()> {
    let mut arguments = Arguments::parse();
    if arguments.quick {
        arguments.spans = Spans::Quick;
    }
    let arguments = arguments;
    let program = std::env::current_exe()?;
    let own = program.parent().context("this program lies in no directory")?;
    let wanted = subject::named(&arguments.only)?;
    let report = Report::begin(arguments.spans, None);
    if arguments.schedules {
        return print(&arguments, report.with(vec![HOURHAND.shown(schedules::run()?)]));
    }
    if arguments.build_times {
        return print(&arguments, report.with(build_times::run(&wanted, own)?));
    }
    measure(&arguments, &wanted, own)
}

/// What needs a server.
fn measure(arguments: &Arguments, wanted: &[Peer], own: &Path) -> Result<()> {
    let (subjects, absent) = subject::present(wanted, own, arguments.peers.as_deref())?;
    if subjects.is_empty() {
        return print(arguments, Report::begin(arguments.spans, None).with(absent));
    }
    let scenarios = if arguments.scenario.is_empty() { Scenario::value_variants() } else { &arguments.scenario };
    let ground = Ground::start()?;
    let mut report = Report::begin(arguments.spans, Some(ground.version()));
    if arguments.goals || arguments.scale {
        let ours = subjects.first().filter(|first| first.peer == HOURHAND);
        let ours = ours.context("hourhand is not among those chosen")?;
        let alone = if arguments.scale { scale::run } else { goals::run };
        let shown = vec![HOURHAND.shown(alone(&ground, ours, arguments.spans)?)];
        return print(arguments, report.with(shown));
    }
    let mut shown: Vec<_> = subjects.iter().map(footprint::of).collect();
    let until = arguments.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let plan = Plan { peers: subjects.iter().map(|subject| subject.peer).collect(), scenarios, spans: arguments.spans };
    eprintln!("── all of it takes about {} minutes", plan.estimate().as_secs().div_ceil(60));
    let course = Course { ground: &ground, subjects: &subjects, plan, until };
    course.run(&mut shown, |table| {
        report.shown = [table, &absent].concat();
        report.save(arguments.json.as_deref())
    })?;
    print(arguments, report)
}

fn print(arguments: &Arguments, mut report: Report) -> Result<()> {
    report.save(arguments.json.as_deref())?;
    println!("{}", report.text());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_coherent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn a_scenario_that_there_is_not_is_refused_with_those_that_there_are() {
        let said = Arguments::try_parse_from(["bench", "--scenario", "earthquake"]).unwrap_err().to_string();
        assert!(said.contains("earthquake") && said.contains("at-rest") && said.contains("pooler"), "{said}");
    }
}
