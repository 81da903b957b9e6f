//! The database is restarted, once under everybody: how long after it answers again does the job run?

use std::time::Duration;

use anyhow::Result;
use hourhand_bench_replica::{boot_time, wall_time};

use super::{REPLICAS, SHORT, finest};
use crate::figure::Figure;
use crate::fleet::{Fleet, Load, Started, until};
use crate::ground::Ground;
use crate::spans::Spans;
use crate::subject::Subject;

/// How long the database is away.
pub(crate) const DOWN: Duration = Duration::from_secs(5);

const ROW: &str = "database restarted, 5 s away: back after";

/// A fleet that has run its job some times; or what stands in its place in the table.
pub(crate) fn at_work(ground: &Ground, subject: &Subject) -> Result<Result<Fleet, Figure>> {
    let load = Load { jobs: 1, every: 1, body: SHORT };
    let fleet = match finest(ground, subject, load, &[1, 60])? {
        Started::Ready(fleet) => fleet,
        Started::Cannot(why) => return Ok(Err(Figure::no(ROW, why))),
    };
    let every = fleet.load().every;
    let enough = if every == 1 { 5 } else { 1 };
    let ran = until(Duration::from_secs(2 * every + 30), || (fleet.begun().len() >= enough).then_some(()));
    Ok(ran.map(|()| fleet).ok_or_else(|| Figure::no(ROW, "nothing ran before")))
}

/// The server answers again from now on.
pub(crate) fn watch(mut fleet: Fleet, spans: Spans) -> Vec<Figure> {
    let (back, wall, every) = (boot_time(), wall_time(), fleet.load().every);
    let within = Duration::from_secs(every + spans.pick(60, 60, 180));
    let first = until(within, || fleet.begun().into_iter().find(|line| line.at > back));
    let (ended, last_words) = (fleet.ended(), fleet.last_words());
    let mut figures = vec![match first {
        Some(line) => Figure::number(ROW, late(line.at - back, wall, every).as_secs_f64(), "s"),
        None => Figure::no(ROW, format!("not within {} s", within.as_secs())),
    }];
    if ended > 0 {
        let words = format!("{ended} of {REPLICAS} processes ended: {last_words}");
        figures.push(Figure::words("database restarted: processes", words));
    }
    figures
}

/// How long it waited for the database, which was back at that time of the day: what begins at an instant after that waited for the
/// instant.
fn late(since: Duration, wall: Duration, every: u64) -> Duration {
    let next = Duration::from_secs((wall.as_secs() + 1).next_multiple_of(every)) - wall;
    since.checked_sub(next).unwrap_or(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_at_the_next_instant_did_not_wait_for_the_database() {
        let (s, back) = (Duration::from_secs, Duration::from_secs(6040));
        assert_eq!(late(s(20), back, 60), s(0));
        assert_eq!(late(s(23), back, 60), s(3));
        assert_eq!(late(s(7), back, 60), s(7));
    }
}
