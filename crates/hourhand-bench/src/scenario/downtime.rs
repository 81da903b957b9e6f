//! All replicas are down across some occurrences: which of them run afterwards?

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use hourhand_bench_replica::{Line, wall_time};

use super::{REPLICAS, SHORT, finest};
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
    // They come back soon after an instant: what begins before the next one is caught up.
    let missed = if every == 10 { 3 } else { spans.pick(1, 1, 3) };
    sleep(
        (first_after(down, every) + Duration::from_secs((missed - 1) * every + every / 10)).saturating_sub(wall_time()),
    );
    let up = wall_time();
    fleet.add(REPLICAS, &[])?;
    fleet.await_ready()?;
    sleep(Duration::from_secs(every + 15));
    Ok(vec![Figure::words(row, judge(&fleet.begun(), (down, up, every)))])
}

fn first_after(time: Duration, every: u64) -> Duration {
    Duration::from_secs((time.as_secs() + 1).next_multiple_of(every))
}

/// How many of the instants between `down` and `up` began after `up`, and which. Of a body that is not told its occurrence, the beginnings
/// before the next instant count.
fn judge(begun: &[Line], (down, up, every): (Duration, Duration, u64)) -> String {
    let missed: Vec<u64> = (first_after(down, every).as_secs()..=up.as_secs()).step_by(every as usize).collect();
    let after = || begun.iter().filter(|line| line.wall > up);
    let told: Vec<u64> = after().filter_map(|line| line.scheduled_for).map(|at| at.as_secs() / every * every).collect();
    let caught: BTreeSet<u64> = told.iter().filter(|at| missed.contains(at)).copied().collect();
    let next = first_after(up, every);
    let untold = after().filter(|line| line.scheduled_for.is_none() && line.wall < next).count();
    let which = match (&caught, missed.last()) {
        (caught, Some(newest)) if caught.len() == 1 && caught.contains(newest) && missed.len() > 1 => " (the newest)",
        _ => "",
    };
    let again = untold.saturating_sub(missed.len());
    let times = if again > 0 { format!(", and {again} times more") } else { String::new() };
    format!("{} of {}{which}{times}", (caught.len() + untold).min(missed.len()), missed.len())
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

    #[test]
    fn of_bodies_that_are_not_told_those_before_the_next_instant_count_and_no_more_than_were_missed() {
        let line = |wall: u64| Line::parse(&format!("1 7 began j {wall}000000000 -")).unwrap();
        let span = (Duration::from_secs(12), Duration::from_secs(45), 10);
        assert_eq!(judge(&[line(10), line(50), line(61)], span), "0 of 3");
        assert_eq!(judge(&[line(10), line(46), line(46), line(50)], span), "2 of 3");
        assert_eq!(judge(&[46, 46, 46, 47, 47, 50].map(line), span), "3 of 3, and 2 times more");
    }

    #[test]
    fn an_instant_is_after_the_time_even_if_the_time_is_one() {
        let after = |at: u64| first_after(Duration::from_secs(at), 10).as_secs();
        assert_eq!([after(9), after(10), after(11)], [10, 20, 20]);
    }
}
