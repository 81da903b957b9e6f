//! Instants and lengths: as people say them, and as programs read them.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

/// RFC 3339 in UTC, with what PostgreSQL keeps: microseconds.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    format!("{at:.6}")
}

/// How far away, in two units at most: `3 min ago`, `in 2 h 5 min`, `just now`.
pub(crate) fn relative(at: Timestamp, now: Timestamp) -> String {
    let length = now.duration_until(at);
    match length.as_secs() {
        0 => "just now".to_owned(),
        1.. => format!("in {}", length_in_words(length)),
        _ => format!("{} ago", length_in_words(length)),
    }
}

/// A length without its sign, in two units at most: `1 d 2 h`, `45 s`, `0.3 s`.
pub(crate) fn length_in_words(length: SignedDuration) -> String {
    const UNITS: [(u64, &str); 5] = [(365 * 86_400, "y"), (86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let seconds = length.as_secs().unsigned_abs();
    if seconds < 1 {
        return format!("{:.1} s", length.as_secs_f64().abs());
    }
    let first = UNITS.iter().position(|(size, _)| seconds >= *size).unwrap_or(UNITS.len() - 1);
    let (size, unit) = UNITS[first];
    let head = format!("{} {unit}", seconds / size);
    let rest =
        UNITS.get(first + 1).map(|(lesser, unit)| (seconds % size / lesser, unit)).filter(|(count, _)| *count > 0);
    rest.map_or(head.clone(), |(count, unit)| format!("{head} {count} {unit}"))
}

/// Date and time of day in a zone, with the zone's short name: `Tue 2026-12-01 02:30 CET`; seconds where they say something.
pub(crate) fn civil(at: Timestamp, zone: &TimeZone) -> String {
    let there = at.to_zoned_datetime(zone.clone());
    let format = if there.second() == 0 { "%a %Y-%m-%d %H:%M %Z" } else { "%a %Y-%m-%d %H:%M:%S %Z" };
    there.strftime(format).to_string()
}

/// The zone of whoever reads: TZ, or the machine's.
pub(crate) fn here() -> TimeZone {
    TimeZone::system()
}

/// How far away and when, in the reader's zone, as short as it is clear: `3 min ago (14:57 KST)`, `in 2 d (Thu 2026-12-03 02:30 KST)`.
pub(crate) fn near_and_civil(at: Timestamp, now: Timestamp) -> String {
    let here = here();
    let (there, today) = (at.to_zoned_datetime(here.clone()), now.to_zoned_datetime(here.clone()));
    let civil = if there.date() == today.date() { there.strftime("%H:%M %Z").to_string() } else { civil(at, &here) };
    format!("{} ({civil})", relative(at, now))
}

/// Reads an instant: RFC 3339; a date, or date and time, in a zone; or `now`, `2h ago`, `in 2h`, `2h`. A bare length is ahead.
///
/// # Errors
///
/// What would be right.
pub(crate) fn read(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Ok(now);
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    if let Ok(civil) = text.parse::<jiff::civil::DateTime>() {
        return civil.to_zoned_datetime(zone.clone()).map(|there| there.timestamp()).map_err(|error| error.to_string());
    }
    let (length, sign) = match (text.strip_suffix("ago"), text.strip_prefix("in ")) {
        (Some(length), _) => (length, -1),
        (None, Some(length)) => (length, 1),
        (None, None) => (text, 1),
    };
    if let Ok(span) = length.trim().parse::<jiff::Span>()
        && let Ok(at) = now.to_zoned_datetime(zone.clone()).checked_add(span * sign)
    {
        return Ok(at.timestamp());
    }
    let example = (now + 1.hour()).to_zoned_datetime(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Err(format!("{text:?} is not an instant: {example}, 2026-12-01, \"2026-12-01 02:30\", now, 2h, \"2h ago\" are"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn lengths_have_two_units_at_most() {
        let told = |seconds: i64| length_in_words(SignedDuration::from_secs(seconds));
        assert_eq!(told(45), "45 s");
        assert_eq!(told(-90), "1 min 30 s");
        assert_eq!(told(3_600), "1 h");
        assert_eq!(told(3_605), "1 h");
        assert_eq!(told(7_500), "2 h 5 min");
        assert_eq!(told(93_600), "1 d 2 h");
        assert_eq!(told(800 * 86_400), "2 y 70 d");
        assert_eq!(length_in_words(SignedDuration::from_millis(-340)), "0.3 s");
    }

    #[test]
    fn what_is_near_is_said_relatively() {
        let now = at("2026-12-01T00:00:00Z");
        assert_eq!(relative(at("2026-12-01T00:00:00.4Z"), now), "just now");
        assert_eq!(relative(at("2026-12-01T02:05:00Z"), now), "in 2 h 5 min");
        assert_eq!(relative(at("2026-11-30T23:57:00Z"), now), "3 min ago");
    }

    #[test]
    fn programs_always_get_microseconds() {
        assert_eq!(rfc3339(at("2026-12-01T00:00:00Z")), "2026-12-01T00:00:00.000000Z");
        assert_eq!(rfc3339(at("2026-12-01T00:00:00.1234567Z")), "2026-12-01T00:00:00.123456Z");
    }

    #[test]
    fn instants_are_read_as_people_write_them() {
        let (now, berlin) = (at("2026-12-01T00:00:00Z"), TimeZone::get("Europe/Berlin").unwrap());
        let read = |text| read(text, &berlin, now).map(|at| at.to_string());
        assert_eq!(read("2026-12-01T02:30:00+09:00").unwrap(), "2026-11-30T17:30:00Z");
        assert_eq!(read("2026-12-02").unwrap(), "2026-12-01T23:00:00Z");
        assert_eq!(read("2026-12-02 02:30").unwrap(), "2026-12-02T01:30:00Z");
        assert_eq!(read("2h").unwrap(), "2026-12-01T02:00:00Z");
        assert_eq!(read("in 90s").unwrap(), "2026-12-01T00:01:30Z");
        assert_eq!(read("1h 30m ago").unwrap(), "2026-11-30T22:30:00Z");
        assert_eq!(read("now").unwrap(), "2026-12-01T00:00:00Z");
        let error = read("tomorrow").unwrap_err();
        assert!(error.starts_with("\"tomorrow\" is not an instant: 2026-12-01T01:00:00Z"), "{error}");
    }
}
