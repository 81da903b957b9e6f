//! A differential fuzz against an oracle of our own that knows no cron library and takes no short cut.
//!
//! The oracle looks at every minute of four days, or at every second of four hours, around a change of the clock. Its
//! rules are two sentences:
//!
//! * real time: due at every moment at which the wall shows a match;
//! * fixed times: due at the first moment at which the wall has reached a match.

use std::time::Instant;

use hourhand_core::schedule::{Schedule, zone_names};
use jiff::civil::DateTime;
use jiff::tz::TimeZoneDatabase;
use jiff::{SignedDuration, Timestamp};

use crate::drawn::Drawn;
use crate::seed::{Seed, fuzz_time};

/// Changes of the clock that are looked at in every run, and some moments without one.
const KNOWN: [(&str, &str); 20] = [
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("Europe/Vienna", "2026-03-29T01:00:00Z"),
    ("Europe/Vienna", "2026-10-25T01:00:00Z"),
    ("Europe/Dublin", "2026-10-25T01:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
    ("Africa/Cairo", "2026-04-23T22:00:00Z"),
    ("Africa/Cairo", "2026-10-29T21:00:00Z"),
    ("America/Havana", "2024-11-03T05:00:00Z"),
    ("America/Santiago", "2026-04-05T03:00:00Z"),
    ("America/Santiago", "2026-09-06T04:00:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("Pacific/Kwajalein", "1993-08-21T12:00:00Z"),
    ("Antarctica/Troll", "2026-03-29T01:00:00Z"),
    ("Antarctica/Troll", "2026-10-25T01:00:00Z"),
    ("Africa/Casablanca", "2026-03-22T02:00:00Z"),
    ("Asia/Pyongyang", "2018-05-04T15:00:00Z"),
    ("UTC", "2028-02-29T00:00:00Z"),
    ("Asia/Kathmandu", "2026-12-31T18:15:00Z"),
];

/// So many changes besides are drawn from all zones.
const DRAWN_CHANGES: usize = 20;

/// The moments around a change of the clock, and what the wall shows in each.
struct Window {
    zone: String,
    unit: SignedDuration,
    moments: Vec<(Timestamp, DateTime)>,
}

impl Window {
    fn around(zone: &str, change: Timestamp, unit: SignedDuration) -> Window {
        let rules = TimeZoneDatabase::bundled().get(zone).unwrap();
        let moments = if unit == MINUTE { 4 * 24 * 60 } else { 4 * 60 * 60 };
        let moments = (-moments / 2..moments / 2).map(|moment| change + unit * moment);
        Window { zone: zone.to_owned(), unit, moments: moments.map(|at| (at, rules.to_datetime(at))).collect() }
    }

    /// A change of any zone between 1990 and 2040.
    fn drawn(seed: &mut Seed, names: &[String]) -> Window {
        loop {
            let zone = seed.one_of(names);
            let rules = TimeZoneDatabase::bundled().get(zone).unwrap();
            let from = Timestamp::from_second(631_152_000 + seed.below(50 * 31_556_952) as i64).unwrap();
            if let Some(change) = rules.following(from).next() {
                let unit = if seed.once_in(4) { SECOND } else { MINUTE };
                return Window::around(zone, change.timestamp(), unit);
            }
        }
    }

    /// The oracle: all occurrences of an expression among the moments.
    fn occurrences(&self, drawn: &Drawn) -> Vec<Timestamp> {
        let mut found = Vec::new();
        let mut reached: Option<DateTime> = None;
        for (at, shown) in self.moments.iter().copied() {
            let due = if drawn.is_real_time() {
                drawn.matches(shown)
            } else {
                // Every local time that the wall has reached now and had not reached before.
                let first = reached.map_or(shown, |reached| reached + self.unit);
                let mut newly_reached = std::iter::successors(Some(first), |local| Some(*local + self.unit));
                newly_reached
                    .by_ref()
                    .take_while(|local| *local <= shown)
                    .fold(false, |due, local| due | drawn.matches(local))
            };
            reached = Some(reached.map_or(shown, |reached| reached.max(shown)));
            found.extend(due.then_some(at));
        }
        found
    }
}

const SECOND: SignedDuration = SignedDuration::from_secs(1);
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

#[test]
fn occurrences_agree_with_a_look_at_every_moment_in_both_directions() {
    let mut seed = Seed::of_this_run("oracle");
    let names: Vec<String> = zone_names().collect();
    let mut windows: Vec<Window> = (0..DRAWN_CHANGES).map(|_| Window::drawn(&mut seed, &names)).collect();
    for (zone, change) in KNOWN {
        windows.push(Window::around(zone, change.parse().unwrap(), MINUTE));
    }
    windows.extend(KNOWN.iter().take(4).map(|(zone, change)| Window::around(zone, change.parse().unwrap(), SECOND)));

    let (begun, time) = (Instant::now(), fuzz_time(4));
    let (mut expressions, mut never, mut answers) = (0, 0, 0);
    while begun.elapsed() < time {
        let window = seed.one_of(&windows);
        let drawn = Drawn::new(&mut seed, window.unit == SECOND);
        match Schedule::parse(&drawn.text(), &window.zone) {
            Ok(schedule) => {
                answers += check(&mut seed, &schedule, &drawn, window);
                expressions += 1;
            }
            Err(error) if error.to_string().contains("never run") => never += 1,
            Err(error) => panic!("{} was refused, {seed}\n{error}", drawn.text()),
        }
    }
    println!("{expressions} expressions ({never} more never run), {answers} answers compared");
    assert!(expressions > 100, "the fuzz got through {expressions} expressions only");
}

/// Compares a schedule with the oracle: forwards, backwards, counted, and from anywhere in between.
fn check(seed: &mut Seed, schedule: &Schedule, drawn: &Drawn, window: &Window) -> usize {
    // What is compared begins later than what is looked at, so that what the wall had reached before is known.
    let (moments, unit) = (&window.moments, window.unit);
    let (start, end) =
        (moments[moments.len() / 4].0, moments[moments.len() - 1].0 + unit - SignedDuration::from_nanos(1));
    let context = format!("{} in {} from {start}, {seed}", drawn.text(), window.zone);
    let expected: Vec<Timestamp> = window.occurrences(drawn).into_iter().filter(|at| *at > start).collect();

    let forwards: Vec<Timestamp> = schedule.occurrences_after(start).take_while(|at| *at <= end).collect();
    assert_eq!(forwards, expected, "forwards: {context}");
    let mut backwards: Vec<Timestamp> = schedule.occurrences_until(end).take_while(|at| *at > start).collect();
    backwards.reverse();
    assert_eq!(backwards, expected, "backwards: {context}");
    assert_eq!(schedule.count_between(start, end), expected.len() as u64, "counted: {context}");

    let length = end.duration_since(start).as_nanos() as u64;
    for _ in 0..10 {
        let at = start + SignedDuration::from_nanos(seed.below(length) as i64);
        let passed = expected.partition_point(|occurrence| *occurrence <= at);
        let (next, last) = (schedule.next_after(at).unwrap(), schedule.previous_at_or_before(at).unwrap());
        assert!(next > at && last <= at, "{at}: {context}");
        assert_eq!(Some(&next).filter(|next| **next <= end), expected.get(passed), "next after {at}: {context}");
        assert_eq!(Some(&last).filter(|last| **last > start), expected[..passed].last(), "last until {at}: {context}");
        assert_eq!(schedule.count_between(start, at), passed as u64, "count until {at}: {context}");
    }
    2 * expected.len() + 31
}
