//! Instants and lengths: as people say them, and as programs read them.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

pub(crate) use hourhand_core::instant::read;

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

/// The same the other way round, for a sentence that names the instant: `until 14:57 KST (in 3 min)`.
pub(crate) fn civil_and_near(at: Timestamp, now: Timestamp) -> String {
    let there = near_and_civil(at, now);
    match there.strip_suffix(')').and_then(|there| there.split_once(" (")) {
        Some((near, civil)) => format!("{civil} ({near})"),
        None => there,
    }
}

/// As [`read`], where what is meant lies behind: a bare length is that long ago.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn read_back(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Timestamp, String> {
    match text.trim().parse::<jiff::Span>() {
        Ok(length) if !length.is_negative() => read(&format!("{} ago", text.trim()), zone, now),
        Ok(_) | Err(_) => read(text, zone, now),
    }
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
    fn a_bare_length_lies_behind_where_the_past_is_meant() {
        let now = at("2026-12-01T00:00:00Z");
        let back = |text| read_back(text, &TimeZone::UTC, now).map(|at| at.to_string());
        assert_eq!(back("2h"), Ok("2026-11-30T22:00:00Z".to_owned()));
        assert_eq!(back("2h ago"), back("2h"));
        assert_eq!(back("in 2h"), Ok("2026-12-01T02:00:00Z".to_owned()));
        assert_eq!(back("2026-11-30"), Ok("2026-11-30T00:00:00Z".to_owned()));
        assert_eq!(back("now"), Ok("2026-12-01T00:00:00Z".to_owned()));
        assert!(back("then").is_err());
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
}
