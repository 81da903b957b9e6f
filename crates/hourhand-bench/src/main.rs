//! Measures hourhand, and its peers beside it, on a private PostgreSQL: `cargo xtask bench` builds and runs it.

mod figure;
mod fleet;
mod goals;
mod ground;
mod process;
mod scenario;
mod schedules;
mod subject;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use figure::{Figure, Shown};
use ground::Ground;
use scenario::Scenario;
use serde::Serialize;
use subject::Subject;

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
    /// How long the next instant of a schedule takes to find.
    #[arg(long)]
    schedules: bool,
    /// Shorter spans, with fewer firings: to see that it works.
    #[arg(long)]
    quick: bool,
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
    quick: bool,
    /// The load of the machine before, and when this was written.
    load: [f64; 2],
    shown: Vec<Shown>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let program = std::env::current_exe()?;
    let own = program.parent().context("this program lies in no directory")?;
    if arguments.schedules {
        let shown = Shown { figures: schedules::run()?, ..hourhand() };
        return print(&arguments, &Report { shown: vec![shown], ..Report::begin(&arguments, "not asked") });
    }
    let subjects = subject::chosen(&arguments.only, own, arguments.peers.as_deref())?;
    let scenarios = if arguments.scenario.is_empty() { Scenario::value_variants() } else { &arguments.scenario };
    let mut ground = Ground::start()?;
    let mut report = Report::begin(&arguments, ground.version());
    if arguments.goals {
        let ours = subjects.first().context("hourhand is not among those chosen")?;
        let figures = goals::run(&mut ground, ours, arguments.quick)?;
        report.shown = vec![Shown { figures, ..hourhand() }];
        return print(&arguments, &report);
    }
    report.shown = subjects.iter().map(empty).collect();
    for scenario in scenarios {
        for (subject, shown) in subjects.iter().zip(&mut report.shown) {
            eprintln!("── {scenario:?}: {}", subject.name);
            let figures = scenario.run(&mut ground, subject, arguments.quick);
            shown.figures.extend(figures.unwrap_or_else(|error| vec![failed(*scenario, &error)]));
        }
        save(&arguments, &report)?;
    }
    print(&arguments, &report)
}

impl Report {
    fn begin(arguments: &Arguments, postgresql: &str) -> Self {
        let load = subject::load();
        let (machine, postgresql) = (subject::machine(), postgresql.to_owned());
        Self { machine, postgresql, quick: arguments.quick, load: [load, load], shown: Vec::new() }
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

fn empty(subject: &Subject) -> Shown {
    Shown { subject: subject.name.to_owned(), version: subject.version.to_owned(), figures: Vec::new() }
}

/// A measurement that went wrong is no reason to lose the others; the table says so.
fn failed(scenario: Scenario, error: &anyhow::Error) -> Figure {
    eprintln!("── {scenario:?} failed: {error:#}");
    Figure::no(format!("{scenario:?}"), format!("the measurement failed: {error:#}"))
}

/// After every scenario, so that one that hangs costs only itself.
fn save(arguments: &Arguments, report: &Report) -> Result<()> {
    let Some(path) = &arguments.json else { return Ok(()) };
    let mut report = serde_json::to_value(report)?;
    report["load"][1] = subject::load().into();
    std::fs::write(path, serde_json::to_string_pretty(&report)?)
        .with_context(|| format!("could not write {}", path.display()))
}
