//! Seeds: with the shipped core every promise is kept; with a planted bug one of them is not, and the simulator says so.

use std::thread;
use std::time::Duration;

use hourhand_sim::{Bug, Fleet, Outcome, Plan, run};

/// They take less than a minute on two cores.
const SEEDS: u64 = 10_000;
/// A planted bug is found within as many.
const SEEDS_FOR_A_BUG: u64 = 3_000;

fn threads() -> u64 {
    thread::available_parallelism().map_or(1, |threads| threads.get() as u64)
}

#[test]
fn every_promise_is_kept_under_every_seed() {
    let threads = threads();
    thread::scope(|scope| {
        for first in 0..threads {
            scope.spawn(move || {
                let mut seed = first;
                while seed < SEEDS {
                    if let Some(violation) = run(Plan::of(seed)).violation {
                        panic!(
                            "seed {seed}, after {:?}: {}\nsee it all: hourhand-sim --seed {seed} --trace",
                            violation.at, violation.what
                        );
                    }
                    seed += threads;
                }
            });
        }
    });
}

/// What they found is mended; each is the run that found it for as long as draws keep their order.
#[test]
fn seeds_that_found_something_once_find_nothing() {
    // A trigger under a new name that waited for the end of a continuous run under the old one; a taking over that a failover lost
    // before its name was registered; a continuous job stood down for one of every day, which was registered anew meanwhile; looks
    // at the speed of the line for a row that was gone, while the old name's run was waited for.
    for seed in [5_218, 25_027, 32_655, 80_998] {
        assert!(run(Plan::of(seed)).violation.is_none(), "seed {seed}");
    }
}

#[test]
fn every_planted_bug_is_found() {
    for bug in Bug::ALL {
        let found = (0..SEEDS_FOR_A_BUG).find_map(|seed| run(Plan { bug: Some(bug), ..Plan::of(seed) }).violation);
        let violation = found.unwrap_or_else(|| panic!("{bug:?} is not found within {SEEDS_FOR_A_BUG} seeds"));
        assert!(bug.breaks().iter().any(|promise| violation.what.starts_with(promise)), "{bug:?}: {violation:?}");
    }
}

#[test]
fn a_seed_gives_the_same_run_every_time() {
    for seed in 0..20 {
        let (once, again) = (run(Plan::of(seed)), run(Plan::of(seed)));
        assert_eq!(once.report, again.report, "seed {seed}");
    }
}

/// Twenty nodes, ten jobs due every minute, three minutes and a half without faults.
fn small_fleet(max_connections: Option<usize>) -> Outcome {
    let fleet = Fleet { every: Duration::from_secs(60), spread: Duration::from_secs(20) };
    let (faults_for, quiet_for) = (Duration::ZERO, Duration::from_secs(210));
    run(Plan { nodes: 20, jobs: 10, faults_for, quiet_for, fleet: Some(fleet), max_connections, ..Plan::of(1) })
}

#[test]
fn a_fleet_runs_each_occurrence_once_and_at_once() {
    let outcome = small_fleet(None);
    assert!(outcome.violation.is_none(), "{:?}", outcome.violation);
    assert_eq!((outcome.scale.occurrences(), outcome.report.runs), (30, 30));
    assert!(outcome.scale.lateness(1.0).unwrap() < Duration::from_secs(1), "{}", outcome.scale);
    assert_eq!(outcome.scale.start.statements.total + outcome.scale.after.statements.total, outcome.report.statements);
}

/// Two hundred nodes wake for each occurrence, and one can have it: those who came too late wake apart the next time.
#[test]
fn a_herd_spreads_its_visits_and_is_late_no_more_than_before() {
    let fleet = Fleet { every: Duration::from_secs(120), spread: Duration::ZERO };
    let (faults_for, quiet_for) = (Duration::ZERO, Duration::from_secs(1_500));
    let plan = Plan { nodes: 200, jobs: 3, faults_for, quiet_for, fleet: Some(fleet), ..Plan::of(1) };
    let outcome = run(plan);
    assert!(outcome.violation.is_none(), "{:?}", outcome.violation);
    let (before, settled) = (&outcome.scale.after, &outcome.scale.settled);
    assert!(before.sessions > 60 && settled.sessions < 20, "{}", outcome.scale);
    assert!(outcome.scale.lateness(0.99).unwrap() < Duration::from_millis(250), "{}", outcome.scale);
}

#[test]
fn a_fleet_that_outnumbers_the_servers_connections_misses_nothing() {
    let outcome = small_fleet(Some(3));
    assert!(outcome.violation.is_none(), "{:?}", outcome.violation);
    assert_eq!(outcome.scale.occurrences(), 30);
    assert!(outcome.scale.after.sessions <= 3 && outcome.scale.after.crowded > 0, "{}", outcome.scale);
}
