//! What is refused: with the field, a mark below the place, and what was probably meant.

use std::time::{Duration, Instant};

use hourhand_core::schedule::Schedule;
use jiff::civil::Weekday;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use crate::golden;

/// The refusal of `text` or of `text @ zone`, or a cry that it was accepted.
fn refusal(question: &str) -> String {
    let (text, zone) = question.split_once(" in zone ").unwrap_or((question, "UTC"));
    match Schedule::parse(text, zone) {
        Ok(schedule) => format!("ACCEPTED: {}", schedule.describe()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_refused_says_where_and_what_was_meant() {
    golden::check("refused.txt", refusal);
}

#[test]
fn what_was_probably_meant_is_always_accepted() {
    let file = include_str!("../../testdata/schedule/refused.txt");
    let questions = file.lines().filter_map(|line| line.strip_prefix("> "));
    let mut suggestions = 0;
    for question in questions.filter(|question| !question.contains(" in zone ")) {
        let error = Schedule::parse(question, "UTC").unwrap_err();
        let Some(right) = error.suggestion() else { continue };
        // A text with two faults needs two turns, each of which must lead on.
        let mut turn = right.clone();
        for _ in 0..3 {
            match Schedule::parse(&turn, "UTC") {
                Ok(_) => break,
                Err(next) => turn = next.suggestion().unwrap_or_else(|| panic!("{question} -> {right} -> {next}")),
            }
        }
        assert!(Schedule::parse(&turn, "UTC").is_ok(), "{question} -> {right} -> {turn}");
        suggestions += 1;
    }
    assert!(suggestions > 25, "only {suggestions} refusals have a suggestion");
}

#[test]
fn a_builder_keeps_its_fault_until_it_is_asked_for() {
    let wrong = [
        Schedule::cron("60 2 * * *"),
        Schedule::daily_at("25:00"),
        Schedule::daily_at("2:5:6:7"),
        Schedule::workdays_at(""),
        Schedule::weekly_on(Weekday::Friday, "9"),
        Schedule::monthly_on(32, "09:00"),
        Schedule::monthly_on(0, "09:00"),
        Schedule::every(SignedDuration::ZERO),
        Schedule::every(SignedDuration::from_secs(-5)),
        Schedule::every(SignedDuration::from_nanos(1)),
        Schedule::every(SignedDuration::from_micros(1_500)),
        Schedule::every(SignedDuration::from_hours(876_601)),
        Schedule::every(SignedDuration::MAX),
        Schedule::every(1.month()),
        Schedule::hourly().in_zone("Europe/Atlantis"),
    ];
    for schedule in wrong {
        let error = schedule.check().unwrap_err();
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(schedule.next_after(now), None, "{error}");
        assert_eq!(schedule.previous_at_or_before(now), None, "{error}");
        assert_eq!(schedule.count_between(now, Timestamp::MAX), 0, "{error}");
        assert!(!error.summary().contains('\n'));
        assert!(error.field().is_some(), "{error}");
    }
}

#[test]
fn text_and_zone_are_complained_about_together() {
    let schedule = Schedule::cron("* * 0 * *").in_zone("Asia/Soul");
    let complaints: Vec<_> = schedule.complaints().collect();
    assert_eq!(complaints.len(), 2);
    assert_eq!((complaints[0].field(), complaints[0].span()), (Some("day-of-month"), 4..5));
    assert_eq!(complaints[1].field(), Some("time zone"));
    assert_eq!(complaints[1].suggestion().as_deref(), Some("Asia/Seoul"));
}

#[test]
fn the_mark_stands_below_its_place_whatever_stands_before_it() {
    let shown = Schedule::parse("정 \t 99 * * *", "UTC").unwrap_err();
    assert_eq!(shown.span(), 0..3);
    let shown = Schedule::parse("0\t 99 * * *", "UTC").unwrap_err().to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[1..3], ["  0  99 * * *", "     ^^"], "{shown}");
}

#[test]
fn a_schedule_that_never_fires_is_refused_within_fifty_milliseconds() {
    for never in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31W 4 *", "* * * 30 2 */2", "0 0 */30,30 2 1#2"] {
        // The best of three, because this machine may be busy; the bound is the promise, not an estimate.
        let tried = (0..3).map(|_| {
            let begun = Instant::now();
            let refused = Schedule::parse(never, "America/New_York").unwrap_err();
            (begun.elapsed(), refused)
        });
        let (took, refused) = tried.min_by_key(|(took, _)| *took).unwrap();
        assert_eq!(refused.field(), Some("day-of-month"), "{refused}");
        assert!(took < Duration::from_millis(50), "{never} took {took:?}");
    }
}

#[test]
fn no_text_makes_the_reader_panic() {
    let mut seed = crate::seed::Seed::of_this_run("no_text_makes_the_reader_panic");
    let signs: Vec<char> = "0123456789 **,,--//#LWJANMONFRI?@every90smh.:+=~HäöＴ\u{301}\n\t\0".chars().collect();
    for _ in 0..20_000 {
        let length = seed.below(24);
        let text: String = (0..length).map(|_| *seed.one_of(&signs)).collect();
        match Schedule::parse(&text, "UTC") {
            Ok(schedule) => {
                let again = Schedule::parse(&schedule.to_string(), "UTC").unwrap();
                assert_eq!(again, schedule, "{text:?}, {seed}");
                assert!(!schedule.describe().is_empty());
                assert!(schedule.notes().iter().all(|note| !note.is_empty()));
            }
            Err(error) => assert!(!error.to_string().is_empty() && !error.summary().contains('\n'), "{text:?}, {seed}"),
        }
    }
}
