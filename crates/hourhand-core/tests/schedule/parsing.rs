//! Texts and builders: what is stored is read again as the same schedule.

use std::time::Duration;

use hourhand_core::schedule::Schedule;
use jiff::civil::Weekday;
use jiff::{SignedDuration, ToSpan as _};

#[test]
fn builders_read_like_speech_and_write_their_text() {
    let anchor = "2026-01-01T00:20:00Z".parse().unwrap();
    let written = [
        (Schedule::hourly(), "@hourly"),
        (Schedule::daily_at("02:30"), "30 2 * * *"),
        (Schedule::daily_at("2:05:09"), "9 5 2 * * *"),
        (Schedule::workdays_at("09:00"), "0 9 * * MON-FRI"),
        (Schedule::weekly_on(Weekday::Sunday, "18:15"), "15 18 * * 0"),
        (Schedule::monthly_on(15, "00:00"), "0 0 15 * *"),
        (Schedule::every(SignedDuration::from_secs(90)), "every 90s"),
        (Schedule::every(15.minutes()), "every 15m"),
        (Schedule::every(Duration::from_millis(1_500)), "every 1500ms"),
        (Schedule::every_from(1.hour(), anchor), "every 1h from 2026-01-01T00:20:00Z"),
        (Schedule::cron("  0  9\t* * mon-Fri "), "0 9 * * MON-FRI"),
        (Schedule::continuous(), "continuous"),
    ];
    for (schedule, text) in written {
        schedule.check().unwrap();
        assert_eq!(schedule.to_string(), text);
        let read = Schedule::parse(text, "UTC").unwrap();
        assert_eq!(read, schedule);
        assert_eq!(read.to_string(), text);
    }
}

#[test]
fn a_schedule_is_its_text_and_its_zone() {
    let utc = Schedule::parse("30 2 * * *", "UTC").unwrap();
    assert_eq!(utc, Schedule::cron("30 2 * * *"));
    assert_ne!(utc, Schedule::cron("30 2 * * *").in_zone("Asia/Seoul"));
    assert_ne!(utc, Schedule::cron("30 2 * * 1-5"));
    assert_ne!(utc, Schedule::continuous());
    // A day is 24 hours, and is written so: what is stored is read again as an equal schedule.
    let days = Schedule::parse("every 2 days", "UTC").unwrap();
    assert_eq!(Schedule::parse(&days.to_string(), "UTC").unwrap(), days);
    assert_eq!(days, Schedule::every(48.hours()));
    assert_eq!(Schedule::cron("0 9 * * mon"), Schedule::cron("0 9  * *  MON"));
    assert_eq!(Schedule::hourly().in_zone("asia/seoul"), Schedule::hourly().in_zone("Asia/Seoul"));
    assert_eq!(format!("{:?}", Schedule::hourly().in_zone("Asia/Seoul")), "Schedule(@hourly in Asia/Seoul)");
}

#[test]
fn continuous_has_no_occurrences() {
    let schedule = Schedule::parse(" Continuous ", "Asia/Seoul").unwrap();
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    assert!(schedule.is_continuous() && !Schedule::hourly().is_continuous());
    assert_eq!((schedule.next_after(now), schedule.previous_at_or_before(now)), (None, None));
    assert_eq!(schedule.occurrences_after(now).count(), 0);
}

#[test]
fn an_interval_given_as_a_cron_expression_is_told_apart() {
    for text in ["every 90s", "@every 90s", "every"] {
        let error = Schedule::cron(text).check().unwrap_err();
        assert!(error.to_string().contains("`Schedule::every`"), "{error}");
    }
}

#[test]
fn a_very_long_text_is_refused_shortly() {
    let text = "1,".repeat(100_000);
    let error = Schedule::parse(&text, "UTC").unwrap_err();
    assert!(error.to_string().len() < 200, "{error}");
    let error = Schedule::cron(&text).check().unwrap_err();
    assert!(error.to_string().len() < 200, "{error}");
}
