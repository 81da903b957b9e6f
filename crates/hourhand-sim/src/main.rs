//! Runs seeds of the simulator: `hourhand-sim --seeds 10000`, shows one: `hourhand-sim --seed 7 --trace`, or tells what a large fleet
//! costs: `hourhand-sim --nodes 1000 --jobs 1000`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use hourhand_sim::{Bug, Fleet, Outcome, Plan, Report};

/// From as many pairs of a node and a job on, it is a fleet unless the arguments say otherwise.
const LARGE: usize = 10_000;

/// Many nodes in virtual time, against a model of PostgreSQL, with faults drawn from a seed.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds, one after another.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Processes.
    #[arg(long, default_value_t = 5)]
    nodes: usize,
    /// Jobs.
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// Seconds during which faults happen; a quiet period follows [default: 300; 0 for a fleet].
    #[arg(long)]
    faults: Option<u64>,
    /// Seconds of the quiet period [default: 200; for a fleet, half as long again as --every].
    #[arg(long)]
    quiet: Option<u64>,
    /// A fleet: nodes and jobs are alike and have the library's defaults, each job is due every so many seconds, and a report at
    /// scale is printed [default: 3600 from 10,000 pairs of a node and a job on].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
    /// The seconds over which the jobs of a fleet are spread; 0: all are due at once [default: --every].
    #[arg(long)]
    spread: Option<u64>,
    /// The server has room for so many sessions [default: for all].
    #[arg(long)]
    max_connections: Option<usize>,
    /// A bug to plant.
    #[arg(long)]
    bug: Option<Bug>,
    /// Print everything that happens.
    #[arg(long)]
    trace: bool,
    /// Go on after a seed that failed.
    #[arg(long)]
    keep_going: bool,
}

impl Arguments {
    fn fleet(&self) -> Option<Fleet> {
        let large = self.nodes.saturating_mul(self.jobs) >= LARGE || self.spread.is_some();
        let every = self.every.or(large.then_some(3_600))?;
        let spread = self.spread.unwrap_or(every);
        Some(Fleet { every: Duration::from_secs(every), spread: Duration::from_secs(spread) })
    }

    fn plan(&self, seed: u64) -> Plan {
        let (usual, fleet) = (Plan::of(seed), self.fleet());
        let faults = fleet.map_or(usual.faults_for, |_| Duration::ZERO);
        let quiet = fleet.map_or(usual.quiet_for, |fleet| fleet.every * 3 / 2);
        Plan {
            nodes: self.nodes,
            jobs: self.jobs,
            faults_for: self.faults.map_or(faults, Duration::from_secs),
            quiet_for: self.quiet.map_or(quiet, Duration::from_secs),
            bug: self.bug,
            fleet,
            max_connections: self.max_connections,
            ..usual
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (began, mut total, mut failed) = (Instant::now(), Report::default(), 0_u64);
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds) {
        let plan = arguments.plan(seed);
        let outcome = if arguments.trace { hourhand_sim::trace(plan) } else { hourhand_sim::run(plan) };
        total += &outcome.report;
        for line in &outcome.trace {
            println!("{line}");
        }
        print_scale(&arguments, seed, &outcome);
        if let Some(violation) = &outcome.violation {
            failed += 1;
            println!("seed {seed}, after {:.6} s: {}", violation.at.as_secs_f64(), violation.what);
            if !arguments.keep_going {
                break;
            }
        }
    }
    println!("{total:#?}\n{failed} seeds failed, in {:.1?}", began.elapsed());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What a fleet cost.
fn print_scale(arguments: &Arguments, seed: u64, outcome: &Outcome) {
    let Some(fleet) = arguments.fleet() else { return };
    let plan = arguments.plan(seed);
    println!(
        "seed {seed}: {} nodes, {} jobs, each due every {} s, spread over {} s; {} s of virtual time, the first {} s with faults",
        plan.nodes,
        plan.jobs,
        fleet.every.as_secs(),
        fleet.spread.as_secs(),
        plan.ends().as_secs(),
        plan.faults_for.as_secs(),
    );
    println!("{}", outcome.scale);
}
