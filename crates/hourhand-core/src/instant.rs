//! Instants as people write them.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// Reads an instant: RFC 3339; a date, or date and time, in a zone; or `now`, `2h ago`, `in 2h`, `2h`. A bare length is ahead.
///
/// ```
/// use hourhand_core::instant::read;
/// use jiff::tz::TimeZone;
///
/// let now = "2026-12-01T00:00:00Z".parse().unwrap();
/// assert_eq!(read("90s ago", &TimeZone::UTC, now).unwrap().to_string(), "2026-11-30T23:58:30Z");
/// ```
///
/// # Errors
///
/// What would be right.
pub fn read(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Timestamp, String> {
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

    #[test]
    fn instants_are_read_as_people_write_them() {
        let now: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
        let berlin = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
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
