//! Every change of the clock of every time zone from 2020 to 2035.

use std::collections::HashSet;
use std::time::Instant;

use hourhand_core::schedule::{Schedule, zone_data_version, zone_names};
use jiff::tz::TimeZoneDatabase;
use jiff::{SignedDuration, Timestamp};

use crate::seed::{Seed, fuzz_time};

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// The minutes before and after a change that are asked from.
const MINUTES_AROUND: i32 = 90;

#[test]
fn around_every_change_of_every_zone_the_next_occurrence_is_later_and_both_directions_agree() {
    let mut seed = Seed::of_this_run("zones");
    let zones = TimeZoneDatabase::bundled();
    let (from, until): (Timestamp, Timestamp) =
        ("2020-01-01T00:00:00Z".parse().unwrap(), "2036-01-01T00:00:00Z".parse().unwrap());
    let mut names: Vec<String> = zone_names().collect();
    assert!(names.len() > 400, "only {} zones", names.len());
    // In another order each time, for the case that the time does not suffice for all.
    for at in (1..names.len()).rev() {
        names.swap(at, seed.below(at as u64 + 1) as usize);
    }

    let (begun, time) = (Instant::now(), fuzz_time(5));
    let (mut known, mut changes, mut skipped) = (HashSet::new(), 0, 0);
    for name in names {
        let zone = zones.get(&name).unwrap();
        let of_zone: Vec<Timestamp> =
            zone.following(from).map(|change| change.timestamp()).take_while(|at| *at < until).collect();
        // Zones with the same changes and offsets are one zone.
        let shape: Vec<_> = of_zone.iter().map(|at| (*at, zone.to_offset(*at), zone.to_offset(*at - MINUTE))).collect();
        if shape.is_empty() || !known.insert(shape) {
            continue;
        }
        for change in of_zone {
            if begun.elapsed() > time {
                skipped += 1;
                continue;
            }
            changes += 1;
            for text in ["0 2 * * *", "*/7 * * * *", "30 1 * * 0"] {
                let schedule = Schedule::parse(text, &name).unwrap();
                check_around(&schedule, change, &format!("{text} in {name} at {change}, {seed}"));
            }
        }
    }
    println!("{} kinds of zones, {changes} changes checked, {skipped} not in this time", known.len());
    assert!(changes > 100);
}

/// From every minute around a change: strictly later, at or before, and each found again from the other's side.
fn check_around(schedule: &Schedule, change: Timestamp, context: &str) {
    let mut last_next = None;
    for minute in -MINUTES_AROUND..=MINUTES_AROUND {
        let at = change + MINUTE * minute;
        let (next, previous) = (schedule.next_after(at).unwrap(), schedule.previous_at_or_before(at).unwrap());
        assert!(next > at, "{next} is not later than {at}: {context}");
        assert!(previous <= at, "{previous} is later than {at}: {context}");
        assert_eq!(schedule.next_after(previous), Some(next), "from {at}: {context}");
        assert_eq!(schedule.previous_at_or_before(next), Some(next), "from {at}: {context}");
        assert_eq!(schedule.count_between(previous, next), 1, "from {at}: {context}");
        // Time goes on: the next one does not go back, and the one passed is the previous one now.
        assert!(last_next.is_none_or(|last| next == last || previous == last), "from {at}: {context}");
        last_next = Some(next);
    }
}

#[test]
fn the_zones_are_compiled_in_and_have_a_version() {
    assert!(zone_data_version().starts_with("20"), "{}", zone_data_version());
    for (name, spelt) in
        [("us/eastern", "US/Eastern"), ("ASIA/SEOUL", "Asia/Seoul"), ("utc", "UTC"), ("Etc/GMT-9", "Etc/GMT-9")]
    {
        assert_eq!(Schedule::parse("@daily", name).unwrap().time_zone(), spelt);
    }
    assert!(Schedule::parse("@daily", "Etc/Unknown").is_err());
}
