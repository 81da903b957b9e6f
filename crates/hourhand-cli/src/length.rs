//! Lengths of time as people write them: `10m`, `30s`, `1h30m`, `14d`.

use std::time::Duration;

use jiff::{SignedDuration, Span, SpanRelativeTo};

/// What is right, said with every complaint about a length.
pub(crate) const EXAMPLES: &str = "a number with a unit: \"30s\", \"10m\", \"1h30m\", \"14d\"";

/// Reads a length; a day is 24 hours.
///
/// # Errors
///
/// What is wrong with it, as a sentence that reads on from the text.
pub(crate) fn parse(text: &str) -> Result<SignedDuration, &'static str> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("has no unit");
    }
    let span: Span = text.parse().map_err(|_| "is not a length of time")?;
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err("has months or years, which have no fixed length");
    }
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| "is too long")?;
    if length.is_negative() { Err("is less than nothing") } else { Ok(length) }
}

/// The same for the command line, where what is right is said with what is wrong.
///
/// # Errors
///
/// Both, as one sentence.
pub(crate) fn argument(text: &str) -> Result<SignedDuration, String> {
    parse(text).map_err(|why| format!("it {why}: {EXAMPLES}"))
}

/// One that is more than nothing.
///
/// # Errors
///
/// As [`argument`].
pub(crate) fn some(text: &str) -> Result<Duration, String> {
    let length = argument(text)?.unsigned_abs();
    if length.is_zero() { Err("it is nothing: more than 0 is needed".to_owned()) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_people_write_them() {
        let read = |text| parse(text).map(|length| length.as_millis());
        assert_eq!(read("30s"), Ok(30_000));
        assert_eq!(read("10m"), Ok(600_000));
        assert_eq!(read("1h30m"), Ok(5_400_000));
        assert_eq!(read("1h 30m"), Ok(5_400_000));
        assert_eq!(read("14d"), Ok(14 * 86_400_000));
        assert_eq!(read("250ms"), Ok(250));
        assert_eq!(read("90 seconds"), Ok(90_000));
    }

    #[test]
    fn what_is_no_length_is_refused_with_the_reason() {
        assert_eq!(parse("30"), Err("has no unit"));
        assert_eq!(parse(""), Err("is not a length of time"));
        assert_eq!(parse("soon"), Err("is not a length of time"));
        assert_eq!(parse("2 months"), Err("has months or years, which have no fixed length"));
        assert_eq!(parse("-5m"), Err("is less than nothing"));
        assert!(argument("5").is_err_and(|why| why.starts_with("it has no unit: a number with a unit")));
        assert_eq!((some("0s").is_err(), some("1m")), (true, Ok(Duration::from_secs(60))));
    }
}
