//! The database is restarted: how long after it answers again does the job run?

use std::time::Duration;

use anyhow::Result;
use hourhand_bench_replica::{boot_time, wall_time};

use super::{REPLICAS, SHORT, finest};
use crate::figure::Figure;
use crate::fleet::{Load, Started, until};
use crate::ground::Ground;
use crate::subject::Subject;

/// How long the database is away.
const DOWN: Duration = Duration::from_secs(5);

pub(super) fn run(ground: &mut Ground, subject: &Subject, quick: bool) -> Result<Vec<Figure>> {
    let row = "database restarted, 5 s away: back after";
    let load = Load { jobs: 1, every: 1, body: SHORT };
    let mut fleet = match finest(ground, subject, load, &[1, 60])? {
        Started::Ready(fleet) => fleet,
        Started::Cannot(why) => return Ok(vec![Figure::no(row, why)]),
    };
    let every = fleet.load().every;
    let enough = if every == 1 { 5 } else { 1 };
    if until(Duration::from_secs(2 * every + 30), || (fleet.begun().len() >= enough).then_some(())).is_none() {
        return Ok(vec![Figure::no(row, "nothing ran before")]);
    }
    ground.restart(DOWN)?;
    let (back, wall) = (boot_time(), wall_time());
    let within = Duration::from_secs(every + if quick { 60 } else { 180 });
    let first = until(within, || fleet.begun().into_iter().find(|line| line.at > back));
    let (ended, last_words) = (fleet.ended(), fleet.last_words());
    let mut figures = vec![match first {
        Some(line) => {
            // What begins at an instant after the restart waited for that instant, not for the database.
            let next = Duration::from_secs((wall.as_secs() + 1).next_multiple_of(every)) - wall;
            let since = line.at - back;
            let late = if since >= next { since - next } else { since };
            Figure::number(row, late.as_secs_f64(), "s")
        }
        None => Figure::no(row, format!("not within {} s", within.as_secs())),
    }];
    if ended > 0 {
        let words = format!("{ended} of {REPLICAS} processes ended: {last_words}");
        figures.push(Figure::words("database restarted: processes", words));
    }
    Ok(figures)
}
