//! Runs seeds of the simulator: `hourhand-sim --seeds 10000`, and shows one: `hourhand-sim --seed 7 --trace`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use hourhand_sim::{Bug, Outcome, Plan, Report};

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
    /// Seconds during which faults happen; a quiet period follows.
    #[arg(long, default_value_t = 300)]
    faults: u64,
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

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (began, mut total, mut failed) = (Instant::now(), Report::default(), 0_u64);
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds) {
        let outcome = run(&arguments, seed);
        total += &outcome.report;
        for line in &outcome.trace {
            println!("{line}");
        }
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

fn run(arguments: &Arguments, seed: u64) -> Outcome {
    let plan = Plan {
        nodes: arguments.nodes,
        jobs: arguments.jobs,
        faults_for: Duration::from_secs(arguments.faults),
        bug: arguments.bug,
        ..Plan::of(seed)
    };
    if arguments.trace { hourhand_sim::trace(plan) } else { hourhand_sim::run(plan) }
}
