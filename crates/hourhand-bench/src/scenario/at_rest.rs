//! Nothing is due for a long time: what does a replica cost all the same?

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;

use super::{REPLICAS, SHORT};
use crate::figure::Figure;
use crate::fleet::{Fleet, Load, Started};
use crate::ground::Ground;
use crate::process;
use crate::spans::Spans;
use crate::subject::Subject;

/// Long enough for everybody to be through with starting, and for hourhand to give up its first connection (60 s).
const SETTLE: Duration = Duration::from_secs(75);

pub(super) fn run(ground: &Ground, subject: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    let place = ground.place()?;
    let load = Load { jobs: 10, every: 86_400, body: SHORT };
    let fleet = match Fleet::start(subject, &place, load, REPLICAS)? {
        Started::Ready(fleet) => fleet,
        Started::Cannot(why) => return Ok(vec![Figure::no("at rest, a replica: connections", why)]),
    };
    sleep(SETTLE);
    let seconds = spans.pick(20_u32, 60, 60);
    let (statements, busy) = (ground.statements(&place)?, cpu(&fleet));
    let mut connections = 0.0;
    for _ in 0..seconds {
        sleep(Duration::from_secs(1));
        connections += ground.connections(&place)?;
    }
    let (statements, busy) = (ground.statements(&place)? - statements, cpu(&fleet) - busy);
    let (replicas, span) = (REPLICAS as f64, f64::from(seconds));
    let memory: f64 = fleet.pids().into_iter().map(process::resident_mib).sum();
    Ok(vec![
        Figure::number("at rest, a replica: connections", connections / span / replicas, ""),
        Figure::number("at rest, a replica: statements an hour", statements * 3600.0 / span / replicas, ""),
        Figure::number("at rest, a replica: CPU", busy.as_secs_f64() * 1e6 / span / replicas, "µs/s"),
        Figure::number("at rest, a replica: memory (RSS)", memory / replicas, "MiB"),
    ])
}

fn cpu(fleet: &Fleet) -> Duration {
    fleet.pids().into_iter().map(process::cpu).sum()
}
