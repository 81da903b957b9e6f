//! Next and previous occurrences, calculated by hand or from other implementations, as text.

use hourhand_core::schedule::Schedule;
use jiff::Timestamp;

/// Checks the lines `schedule | zone | from | occurrence occurrence …` of a file.
///
/// The occurrences must be the next ones after `from`, and the same ones must be found on the way back, and counted.
/// A last word `-` says that there is no further one.
fn check(file: &str) {
    let mut checked = 0;
    for (number, line) in file.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("line {}: {line}", number + 1);
        let [text, zone, from, expected] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{place}: 4 parts")
        };
        let schedule = Schedule::parse(text.trim(), zone.trim()).unwrap_or_else(|error| panic!("{place}\n{error}"));
        let from: Timestamp = from.trim().parse().unwrap_or_else(|error| panic!("{place}: {error}"));
        let expected: Vec<Timestamp> = expected
            .split_whitespace()
            .filter(|word| *word != "-")
            .map(|at| at.parse().unwrap_or_else(|error| panic!("{place}: {error}")))
            .collect();

        let forwards: Vec<Timestamp> = schedule.occurrences_after(from).take(expected.len()).collect();
        assert_eq!(forwards, expected, "forwards, {place}");
        let Some(last) = expected.last() else {
            assert_eq!(schedule.next_after(from), None, "{place}");
            continue;
        };
        let mut backwards: Vec<Timestamp> = schedule.occurrences_until(*last).take(expected.len()).collect();
        backwards.reverse();
        assert_eq!(backwards, expected, "backwards, {place}");
        assert_eq!(schedule.count_between(from, *last), expected.len() as u64, "counted, {place}");
        checked += 1;
    }
    assert!(checked > 5, "the file has cases");
}

#[test]
fn the_calculated_occurrences_of_the_field_reports_are_found() {
    check(include_str!("../../testdata/schedule/field_reports.txt"));
}

#[test]
fn a_change_of_the_clock_is_taken_as_crond_takes_it() {
    check(include_str!("../../testdata/schedule/clock_changes.txt"));
}

#[test]
fn the_dialect_means_what_crontab_says() {
    check(include_str!("../../testdata/schedule/dialect.txt"));
}

#[test]
fn intervals_are_aligned_to_the_epoch_or_to_their_anchor() {
    check(include_str!("../../testdata/schedule/intervals.txt"));
}
