//! A thousand jobs are due at one second.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use hourhand_bench_replica::{Line, wall_time};

use super::{REPLICAS, occurrence};
use crate::figure::Figure;
use crate::fleet::{Fleet, Load, Started, until};
use crate::ground::Ground;
use crate::spans::Spans;
use crate::subject::Subject;

const JOBS: usize = 1000;
const EVERY: u64 = 60;

pub(super) fn run(ground: &Ground, subject: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    let row = "1,000 jobs due at one second: the last has begun after";
    let place = ground.place()?;
    let load = Load { jobs: JOBS, every: EVERY, body: Duration::ZERO };
    let fleet = match Fleet::start(subject, &place, load, REPLICAS)? {
        Started::Ready(fleet) => fleet,
        Started::Cannot(why) => return Ok(vec![Figure::no(row, why)]),
    };
    // Time to settle; the instant after it is the one.
    let due = Duration::from_secs((wall_time().as_secs() + 15).next_multiple_of(EVERY));
    sleep((due - Duration::from_secs(1)).saturating_sub(wall_time()));
    let before = ground.statements(&place)?;
    // pg-boss looks at its schedules every 30 s.
    let within = Duration::from_secs(spans.pick(25, 45, 55));
    let of_it = || -> Vec<Line> { fleet.begun().into_iter().filter(|line| occurrence(line, EVERY) == due).collect() };
    until(within, || (jobs(&of_it()).len() == JOBS).then_some(()));
    // What ends the last of them belongs to it.
    sleep(Duration::from_secs(2));
    let statements = ground.statements(&place)? - before;
    let begun = of_it();
    let (counts, last) = (jobs(&begun), begun.iter().map(|line| line.wall).max().unwrap_or_default());
    if counts.len() < JOBS {
        return Ok(vec![Figure::no(row, format!("{} of {JOBS} within {} s", counts.len(), within.as_secs()))]);
    }
    let more = counts.values().filter(|count| **count > 1).count();
    Ok(vec![
        Figure::number(row, last.saturating_sub(due).as_secs_f64(), "s"),
        Figure::number("1,000 jobs due at one second: statements", statements, ""),
        Figure::number("1,000 jobs due at one second: jobs that ran more than once", more as f64, ""),
    ])
}

/// How often each job began.
fn jobs(begun: &[Line]) -> BTreeMap<&str, u32> {
    let mut counts = BTreeMap::new();
    for line in begun {
        *counts.entry(line.job.as_str()).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_counts_as_often_as_it_began() {
        let begun = ["a", "b", "a"].map(|job| Line::parse(&format!("1 7 began {job} 2 -")).unwrap());
        assert_eq!(jobs(&begun), BTreeMap::from([("a", 2), ("b", 1)]));
    }
}
