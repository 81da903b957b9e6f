//! Measures hourhand, and its peers beside it, on a private PostgreSQL: `cargo xtask bench` builds and runs it.

mod course;
mod figure;
mod fleet;
mod footprint;
mod goals;
mod ground;
mod pgbench;
mod pgbouncer;
mod process;
mod scale;
mod scenario;
mod schedules;
mod spans;
mod subject;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use course::Course;
use figure::Shown;
use ground::Ground;
use scenario::Scenario;
use serde::Serialize;
use spans::Spans;

/// Loads and faults on real processes and a real server.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Whom to measure, by package; may be repeated [default: hourhand and every peer that was built].
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

/// All that is known about a measurement.
#[derive(Debug, Serialize)]
struct Report {
    machine: String,
    postgresql: String,
    spans: Spans,
    /// The load of the machine before, and when this was written.
    load: [f64; 2],
    shown: Vec<Shown>,
}

fn main() -> Result<()> {
    let mut arguments = Arguments::parse();
    if arguments.quick {
        arguments.spans = Spans::Quick;
    }
    let arguments = arguments;
    let program = std::env::current_exe()?;
    let own = program.parent().context("this program lies in no directory")?;
    if arguments.schedules {
        let shown = Shown { figures: schedules::run()?, ..hourhand() };
        return print(&arguments, &Report { shown: vec![shown], ..Report::begin(&arguments, "not asked") });
    }
    let subjects = subject::chosen(&arguments.only, own, arguments.peers.as_deref())?;
    let scenarios = if arguments.scenario.is_empty() { Scenario::value_variants() } else { &arguments.scenario };
    let ground = Ground::start()?;
    let mut report = Report::begin(&arguments, ground.version());
    if arguments.goals || arguments.scale {
        let ours = subjects.first().context("hourhand is not among those chosen")?;
        let alone = if arguments.scale { scale::run } else { goals::run };
        let figures = alone(&ground, ours, arguments.spans)?;
        report.shown = vec![Shown { figures, ..hourhand() }];
        return print(&arguments, &report);
    }
    let mut shown: Vec<Shown> = subjects.iter().map(footprint::of).collect();
    let until = arguments.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let course = Course { ground: &ground, subjects: &subjects, scenarios, spans: arguments.spans, until };
    eprintln!("── all of it takes about {} minutes", course.estimate().as_secs().div_ceil(60));
    course.run(&mut shown, |table| {
        report.shown = table.to_vec();
        save(&arguments, &report)
    })?;
    print(&arguments, &report)
}

impl Report {
    fn begin(arguments: &Arguments, postgresql: &str) -> Self {
        let load = subject::load();
        let (machine, postgresql) = (subject::machine(), postgresql.to_owned());
        Self { machine, postgresql, spans: arguments.spans, load: [load, load], shown: Vec::new() }
    }
}

fn hourhand() -> Shown {
    Shown { subject: "hourhand".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), figures: Vec::new() }
}

fn print(arguments: &Arguments, report: &Report) -> Result<()> {
    save(arguments, report)?;
    println!("{}", figure::table(&report.shown));
    let (before, after) = (report.load[0], subject::load());
    println!("Measured on {}, PostgreSQL {}; load {before} before, {after} after.", report.machine, report.postgresql);
    Ok(())
}

/// After every scenario, so that one that hangs costs only itself.
fn save(arguments: &Arguments, report: &Report) -> Result<()> {
    let Some(path) = &arguments.json else { return Ok(()) };
    let mut report = serde_json::to_value(report)?;
    report["load"][1] = subject::load().into();
    std::fs::write(path, serde_json::to_string_pretty(&report)?)
        .with_context(|| format!("could not write {}", path.display()))
}
