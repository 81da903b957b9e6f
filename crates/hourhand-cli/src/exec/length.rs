//! Lengths of time on the command line.

use jiff::SignedDuration;

/// `90s`, `10m`, `1h 30m`; a bare number counts seconds.
///
/// # Errors
///
/// It is none, or less than nothing.
pub(super) fn parse(text: &str) -> Result<SignedDuration, String> {
    let seconds = text.parse().ok().map(SignedDuration::from_secs);
    let length = match seconds {
        Some(length) => Ok(length),
        None => text.parse::<SignedDuration>().map_err(|_| "a duration such as 90s, 10m or 1h30m".to_owned()),
    };
    length.and_then(|length| if length.is_negative() { Err("less than nothing".to_owned()) } else { Ok(length) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_with_units_or_as_seconds() {
        assert_eq!(parse("90"), Ok(SignedDuration::from_secs(90)));
        assert_eq!(parse("1h 30m"), Ok(SignedDuration::from_mins(90)));
        assert_eq!(parse("500ms"), Ok(SignedDuration::from_millis(500)));
        assert!(parse("soon").is_err() && parse("-1s").is_err() && parse("").is_err());
    }
}
