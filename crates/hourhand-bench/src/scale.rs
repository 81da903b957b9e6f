//! Fleets of real processes: what an occurrence costs the server, by the number of nodes.
//!
//! What is counted here (statements, connections) holds under any load of the machine; `cargo xtask sim --nodes N --jobs 1 --every 90
//! --spread 0` says what it should be. The fleets run at the same time, a third of a period apart, so none meets another's instants.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::figure::Figure;
use crate::fleet::{Fleet, Load};
use crate::ground::{Ground, Place};
use crate::scenario::ms;
use crate::spans::Spans;
use crate::subject::Subject;

/// Longer than a session is kept for the next occurrence.
const EVERY: u64 = 90;

/// How many nodes each of them has.
const FLEETS: [usize; 3] = [4, 20, 60];

/// Occurrences after which the nodes know who is quicker.
const LEARNING: u64 = 3;

/// All fleets, side by side.
///
/// # Errors
///
/// If one does not come to run, or the server refuses to count.
pub(crate) fn run(ground: &Ground, ours: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    let mut fleets = Vec::new();
    for (place, nodes) in FLEETS.into_iter().enumerate() {
        let (database, offset) = (ground.place()?, place as u64 * EVERY * 1000 / FLEETS.len() as u64);
        let mut fleet = Fleet::none(ours, &database, Load { jobs: 1, every: EVERY, body: Duration::from_secs(1) })?;
        // The first makes the schema.
        for some in [1, nodes - 1] {
            fleet.add(some, &["--offset-ms", &offset.to_string()])?;
            fleet.await_ready()?;
        }
        fleets.push((nodes, fleet, database));
    }
    sleep(Duration::from_secs(EVERY * LEARNING));
    let watched = fleets.iter().map(|(_, fleet, database)| Watched::begin(ground, fleet, database));
    let mut watched = watched.collect::<Result<Vec<_>>>()?;
    let until = Instant::now() + Duration::from_secs(EVERY * spans.pick(2, 4, 8));
    while Instant::now() < until {
        sleep(Duration::from_millis(50));
        for (watched, (_, _, database)) in watched.iter_mut().zip(&fleets) {
            watched.connections = watched.connections.max(ground.connections(database)?);
        }
    }
    let figures = watched
        .iter()
        .zip(&fleets)
        .map(|(watched, (nodes, fleet, database))| watched.end(ground, (*nodes, fleet), database));
    Ok(figures.collect::<Result<Vec<_>>>()?.concat())
}

/// Of one fleet: what had been counted when it began, and the most connections seen since.
struct Watched {
    statements: f64,
    sessions: f64,
    begun: usize,
    connections: f64,
}

impl Watched {
    fn begin(ground: &Ground, fleet: &Fleet, database: &Place) -> Result<Self> {
        let (statements, sessions) = (ground.own_statements(database)?, ground.sessions(database)?);
        Ok(Self { statements, sessions, begun: fleet.begun().len(), connections: 0.0 })
    }

    fn end(&self, ground: &Ground, (nodes, fleet): (usize, &Fleet), database: &Place) -> Result<Vec<Figure>> {
        let (statements, sessions) = (ground.own_statements(database)?, ground.sessions(database)?);
        let begun = fleet.begun().split_off(self.begun);
        let sessions = sessions - self.sessions;
        // The mark and the look at the settings belong to opening one.
        let statements = statements - self.statements - 2.0 * sessions;
        let each = |count: f64| count / begun.len() as f64;
        let row = |what: &str| format!("{nodes} nodes: {what}");
        let late = begun.iter().filter_map(|line| line.scheduled_for.map(|due| ms(line.wall.saturating_sub(due))));
        let late = Figure::spread(&row("lateness"), late.collect(), "ms");
        let counted = vec![
            Figure::number(row("occurrences"), begun.len() as f64, ""),
            Figure::number(row("statements an occurrence, opening sessions aside"), each(statements), ""),
            Figure::number(row("connections opened an occurrence"), each(sessions), ""),
            Figure::number(row("connections at once, at most"), self.connections, ""),
        ];
        Ok([counted, late].concat())
    }
}
