//! All replicas are down across some occurrences: which of them run afterwards?

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use hourhand_bench_replica::{Line, wall_time};

use super::{REPLICAS, SHORT, finest, is_between_instants};
use crate::figure::Figure;
use crate::fleet::{Load, Started, until};
use crate::ground::Ground;
use crate::spans::Spans;
use crate::subject::Subject;

pub(super) fn run(ground: &Ground, subject: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    let row = "down across occurrences: caught up";
    let load = Load { jobs: 1, every: 10, body: SHORT };
    // A minute each is too long for a quick look.
    let mut fleet = match finest(ground, subject, load, spans.pick(&[10], &[10, 60], &[10, 60]))? {
        Started::Ready(fleet) => fleet,
        Started::Cannot(why) => return Ok(vec![Figure::no(row, why)]),
    };
    let every = fleet.load().every;
    if until(Duration::from_secs(3 * every + 30), || (!fleet.begun().is_empty()).then_some(())).is_none() {
        return Ok(vec![Figure::no(row, "nothing ran before")]);
    }
    // Its end is to be on record.
    sleep(Duration::from_secs(2));
    let down = wall_time();
    fleet.kill();
    // Three instants; of a job a minute two, unless there is time.
    sleep(Duration::from_secs(every) * if every == 10 { 7 } else { spans.pick(3, 3, 7) } / 2);
    let up = wall_time();
    fleet.add(REPLICAS, &[])?;
    fleet.await_ready()?;
    sleep(Duration::from_secs(every + 15));
    Ok(vec![Figure::words(row, judge(&fleet.begun(), (down, up, every)))])
}

/// How many of the instants between `down` and `up` began after `up`, and which.
fn judge(begun: &[Line], (down, up, every): (Duration, Duration, u64)) -> String {
    let first = (down.as_secs() + 1).next_multiple_of(every);
    let missed: Vec<u64> = (first..=up.as_secs()).step_by(every as usize).collect();
    let after = || begun.iter().filter(|line| line.wall > up);
    let told: Vec<u64> = after().filter_map(|line| line.scheduled_for).map(|at| at.as_secs()).collect();
    let caught: BTreeSet<u64> = told.iter().filter(|at| missed.contains(at)).copied().collect();
    let untold = after().filter(|line| line.scheduled_for.is_none() && is_between_instants(line, every)).count();
    let which = match (&caught, missed.last()) {
        (caught, Some(newest)) if caught.len() == 1 && caught.contains(newest) => " (the newest)",
        _ => "",
    };
    format!("{} of {}{which}", caught.len() + untold, missed.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_instants_that_passed_while_all_were_down_count_as_caught_up() {
        let line = |wall: u64, due: u64| Line::parse(&format!("1 7 began j {wall}000000000 {due}000000000")).unwrap();
        let span = (Duration::from_secs(12), Duration::from_secs(47), 10);
        let begun = [line(10, 10), line(49, 40), line(50, 50)];
        assert_eq!(judge(&begun, span), "1 of 3 (the newest)");
        assert_eq!(judge(&[line(10, 10), line(50, 50)], span), "0 of 3");
        assert_eq!(judge(&[line(49, 20), line(49, 30), line(49, 40)], span), "3 of 3");
    }
}
