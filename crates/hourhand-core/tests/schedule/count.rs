//! Counting without listing, and one period of a schedule.

use std::time::{Duration, Instant};

use hourhand_core::schedule::Schedule;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use proptest::prelude::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn thirty_silent_days_of_a_job_of_every_minute_are_counted_at_once() {
    let schedule = Schedule::cron("* * * * *").in_zone("Asia/Seoul");
    let (from, until) = (at("2026-01-01T00:00:00Z"), at("2026-01-31T00:00:00Z"));
    let begun = Instant::now();
    assert_eq!(schedule.count_between(from, until), 30 * 24 * 60);
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_century_of_seconds_is_counted_exactly_across_all_changes_of_the_clock() {
    let real = Schedule::cron("* * * * * *").in_zone("Europe/Vienna");
    let (from, until) = (at("2000-01-01T00:00:00Z"), at("2100-01-01T00:00:00Z"));
    assert_eq!(real.count_between(from, until), until.duration_since(from).as_secs() as u64);
    // Fixed times: the repeated hour counts once, the missing one as a single run, with the time at its end.
    let fixed = Schedule::cron("0-59 0-59 0-23 * * *").in_zone("Europe/Vienna");
    let (spring, summer, winter) = (at("2026-03-28T23:00:00Z"), at("2026-07-01T00:00:00Z"), at("2026-12-01T00:00:00Z"));
    assert_eq!(fixed.count_between(spring, summer), summer.duration_since(spring).as_secs() as u64);
    assert_eq!(fixed.count_between(summer, winter), winter.duration_since(summer).as_secs() as u64 - 3_600);
    assert_eq!(real.count_between(summer, winter), winter.duration_since(summer).as_secs() as u64);
}

#[test]
fn without_a_span_nothing_is_counted() {
    let noon = at("2026-01-01T12:00:00Z");
    for schedule in [Schedule::hourly(), Schedule::every(1.hour()), Schedule::continuous()] {
        assert_eq!(schedule.count_between(noon, noon), 0);
        assert_eq!(schedule.count_between(noon, noon - 5.hours()), 0);
    }
    assert_eq!(Schedule::hourly().count_between(noon - 1.second(), noon), 1);
    assert_eq!(Schedule::hourly().count_between(noon, noon + 59.minutes()), 0);
}

#[test]
fn a_period_is_the_distance_of_the_occurrences_around_an_instant() {
    let noon = at("2026-01-01T12:00:00Z");
    let hours = |schedule: Schedule, instant| schedule.period_at(instant).map(|period| period.as_hours());
    assert_eq!(hours(Schedule::hourly(), noon), Some(1));
    assert_eq!(hours(Schedule::daily_at("02:30"), noon), Some(24));
    assert_eq!(hours(Schedule::every(36.hours()), noon), Some(36));
    assert_eq!(hours(Schedule::continuous(), noon), None);
    assert_eq!(hours(Schedule::workdays_at("09:00"), at("2026-01-03T00:00:00Z")), Some(72));
    let new_york = Schedule::daily_at("04:00").in_zone("America/New_York");
    assert_eq!(hours(new_york, at("2026-03-08T05:00:00Z")), Some(23));
}

#[test]
fn at_the_ends_of_time_there_is_no_answer_and_no_panic() {
    let schedules =
        ["* * * * *", "30 2 * * *", "0 0 29 2 */7", "* * * * * *", "every 100y", "every 1ms", "every 876600h"];
    for schedule in schedules.iter().filter_map(|text| Schedule::parse(text, "America/New_York").ok()) {
        for instant in [Timestamp::MIN, Timestamp::MAX, at("0000-12-31T23:59:59Z"), at("5000-12-31T23:59:59Z")] {
            assert!(schedule.next_after(instant).is_none_or(|next| next > instant), "{schedule} at {instant}");
            assert!(
                schedule.previous_at_or_before(instant).is_none_or(|last| last <= instant),
                "{schedule} at {instant}"
            );
        }
        let _ = schedule.count_between(at("2026-01-01T00:00:00Z"), Timestamp::MAX);
    }
}

proptest! {
    #[test]
    fn an_interval_s_occurrences_lie_on_its_grid_and_are_counted_by_division(
        millis in 1_i64..4_000_000_000,
        anchor in proptest::option::of(-4_000_000_000_i64..4_000_000_000),
        micros in -4_000_000_000_000_000_i64..4_000_000_000_000_000,
        nanos in 0_i64..1_000,
    ) {
        let length = SignedDuration::from_millis(millis);
        let anchor = anchor.map(|second| Timestamp::from_second(second).unwrap());
        let schedule = anchor.map_or(Schedule::every(length), |anchor| Schedule::every_from(length, anchor));
        let instant = Timestamp::from_microsecond(micros).unwrap() + SignedDuration::from_nanos(nanos);
        let (last, next) = (schedule.previous_at_or_before(instant).unwrap(), schedule.next_after(instant).unwrap());
        prop_assert!(last <= instant && instant < next);
        prop_assert_eq!(last.duration_until(next), length);
        let from_anchor = last.as_millisecond() - anchor.map_or(0, Timestamp::as_millisecond);
        prop_assert_eq!(from_anchor.rem_euclid(millis), 0);
        prop_assert_eq!(schedule.count_between(last, next), 1);
        let later = next + length * 1_000;
        prop_assert_eq!(schedule.count_between(instant, later), 1_001);
        prop_assert_eq!(Schedule::parse(&schedule.to_string(), "UTC").unwrap(), schedule);
    }
}
