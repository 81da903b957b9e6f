//! From the due instant to the start of the body, and how often each occurrence ran, with four replicas.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use hourhand_bench_replica::{Line, wall_time};

use super::{REPLICAS, SHORT, ms, occurrence};
use crate::figure::Figure;
use crate::fleet::{Fleet, Load, Started};
use crate::ground::Ground;
use crate::spans::Spans;
use crate::subject::Subject;

pub(super) fn second(ground: &Ground, subject: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    watch(ground, subject, (1, spans.pick(20, 60, 90)), "a job a second")
}

pub(super) fn minute(ground: &Ground, subject: &Subject, spans: Spans) -> Result<Vec<Figure>> {
    watch(ground, subject, (60, spans.pick(2, 5, 6)), "a job a minute")
}

fn watch(ground: &Ground, subject: &Subject, (every, firings): (u64, u64), row: &str) -> Result<Vec<Figure>> {
    let load = Load { jobs: 1, every, body: SHORT };
    let fleet = match Fleet::start(subject, &ground.place()?, load, REPLICAS)? {
        Started::Ready(fleet) => fleet,
        Started::Cannot(why) => return Ok(vec![Figure::no(format!("{row}: lateness, median"), why)]),
    };
    // The first instants find replicas that are still starting.
    let from = Duration::from_secs((wall_time().as_secs() + 4).next_multiple_of(every));
    let until = from + Duration::from_secs(every * firings);
    let timer = std::thread::spawn(move || bare_timer(from, until, every));
    // The last of them gets some seconds to come late.
    sleep((until + Duration::from_secs(5)).saturating_sub(wall_time()));
    let mut figures = judge(&fleet.begun(), (from, until, every), row);
    let bare = timer.join().unwrap_or_default();
    figures.extend(Figure::spread(&format!("{row}: a bare sleep meanwhile"), bare, "ms"));
    Ok(figures)
}

/// How late a thread is that does nothing but sleep until each instant: what the machine takes for itself under its load.
fn bare_timer(from: Duration, until: Duration, every: u64) -> Vec<f64> {
    let instants = (from.as_secs()..until.as_secs()).step_by(every as usize).map(Duration::from_secs);
    let late = |due: Duration| {
        sleep(due.saturating_sub(wall_time()));
        ms(wall_time().saturating_sub(due))
    };
    instants.map(late).collect()
}

/// The instants from `from` (included) to `until` (not included) are judged.
fn judge(begun: &[Line], (from, until, every): (Duration, Duration, u64), row: &str) -> Vec<Figure> {
    let mut times: BTreeMap<u64, u32> =
        (from.as_secs()..until.as_secs()).step_by(every as usize).map(|at| (at, 0)).collect();
    let mut late = Vec::new();
    for line in begun {
        let due = occurrence(line, every);
        // Schedules that are not aligned have instants of their own between ours.
        let Some(count) = times.get_mut(&(due.as_secs() / every * every)) else { continue };
        *count += 1;
        if *count == 1 {
            late.push(ms(line.wall.saturating_sub(due)));
        }
    }
    let ran = |wanted: fn(u32) -> bool| times.values().filter(|count| wanted(**count)).count();
    let words = format!("{} / {} / {}", ran(|count| count == 0), ran(|count| count == 1), ran(|count| count > 1));
    let mut figures = Figure::spread(&format!("{row}: lateness"), late, "ms");
    figures.push(Figure::words(format!("{row}: occurrences run 0 / 1 / more times"), words));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Reading;

    #[test]
    fn occurrences_are_counted_by_how_often_they_ran_and_the_first_start_is_the_late_one() {
        let line = |wall: u64, due: u64| {
            let text = format!("1 7 began job-0 {wall}000000 {due}000000000");
            Line::parse(&text).unwrap()
        };
        // Due at 10 and 11; 12 lies outside; 10 runs twice, 11 never.
        let begun = [line(10_030, 10), line(10_500, 10), line(12_001, 12)];
        let figures = judge(&begun, (Duration::from_secs(10), Duration::from_secs(12), 1), "x");
        assert_eq!(figures[0].reading, Reading::Number(30.0, "ms"));
        assert_eq!(figures[3].reading, Reading::Words("1 / 0 / 1".to_owned()));
    }
}
