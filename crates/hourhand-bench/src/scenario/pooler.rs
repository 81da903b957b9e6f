//! A transaction pooler stands between the replicas and the server: does it work, is it refused, or does everything run twice in silence?

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use hourhand_bench_replica::wall_time;

use super::{REPLICAS, SHORT, finest_at, occurrence};
use crate::figure::Figure;
use crate::fleet::{Load, Started};
use crate::ground::Ground;
use crate::machine;
use crate::pgbouncer::Pgbouncer;
use crate::spans::Spans;
use crate::subject::Subject;

pub(super) fn run(ground: &Ground, subject: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    let row = row();
    let mut pooler = match Pgbouncer::start(ground) {
        Ok(pooler) => pooler,
        Err(error) => return Ok(vec![Figure::not_measured(row, format!("{error:#}"))]),
    };
    let place = || ground.place().map(|place| pooler.place(&place));
    let load = Load { jobs: 1, every: 1, body: SHORT };
    let started = finest_at(place, subject, load, &[1, 60]);
    let words = match started {
        // In its own words, since it ended with them.
        Err(error) => format!("refuses to start: {error:#}"),
        Ok(Started::Cannot(why)) => return Ok(vec![Figure::no(row, why)]),
        Ok(Started::Ready(mut fleet)) => {
            let every = fleet.load().every;
            let from = Duration::from_secs((wall_time().as_secs() + 2).next_multiple_of(every));
            let until = from + Duration::from_secs(if every == 1 { spans.pick(15, 30, 60) } else { 120 });
            sleep((until + Duration::from_secs(3)).saturating_sub(wall_time()));
            let mut times: BTreeMap<u64, u32> =
                (from.as_secs()..until.as_secs()).step_by(every as usize).map(|at| (at, 0)).collect();
            for line in fleet.begun() {
                let due = occurrence(&line, every).as_secs() / every * every;
                times.entry(due).and_modify(|count| *count += 1);
            }
            judge(&times, fleet.ended(), &fleet.last_words())
        }
    };
    pooler.stop();
    Ok(vec![Figure::words(row, words)])
}

/// Which statements a pooler bears depends on its version.
fn row() -> String {
    let version = machine::pgbouncer().and_then(|program| machine::version_of(&program.display().to_string()));
    format!("through a transaction pooler ({})", ["PgBouncer", &version.unwrap_or_default()].join(" ").trim_end())
}

fn judge(times: &BTreeMap<u64, u32>, ended: usize, last_words: &str) -> String {
    let ran = |wanted: fn(u32) -> bool| times.values().filter(|count| wanted(**count)).count();
    let (none, once, more) = (ran(|count| count == 0), ran(|count| count == 1), ran(|count| count > 1));
    let counts = format!("occurrences run 0 / 1 / more times: {none} / {once} / {more}");
    match (none, once, more) {
        (_, 0, 0) => format!("nothing runs: {last_words}"),
        _ if ended > 0 => format!("{ended} of {REPLICAS} processes ended; {counts}"),
        (_, _, 1..) => format!("repeats; {counts}"),
        _ => format!("works; {counts}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_more_than_once_repeats_and_what_ran_never_does_not_work() {
        let times = |counts: [u32; 3]| (0..).zip(counts).collect::<BTreeMap<u64, u32>>();
        assert!(judge(&times([1, 1, 1]), 0, "").starts_with("works"));
        assert!(judge(&times([1, 4, 1]), 0, "").starts_with("repeats"));
        assert_eq!(judge(&times([0, 0, 0]), 4, "prepared statement"), "nothing runs: prepared statement");
        assert!(judge(&times([1, 0, 0]), 4, "x").starts_with("4 of 4 processes ended"));
    }
}
