//! How scenes write times and lengths: `09:30:00.5` of the day 2026-01-01, `90s`, `1h30m`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Midnight of the day on which all scenes play.
pub(crate) fn midnight() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// An instant: a time of the day, or in full.
pub(crate) fn time(text: &str) -> Timestamp {
    let full = if text.contains('T') { text.to_owned() } else { format!("2026-01-01T{text}Z") };
    let full = if text.len() == 5 { format!("2026-01-01T{text}:00Z") } else { full };
    full.parse().unwrap_or_else(|error| panic!("time {text:?}: {error}"))
}

/// A length: `90s`, `1h30m`, `250ms`, and with a sign in front.
pub(crate) fn length(text: &str) -> SignedDuration {
    text.parse().unwrap_or_else(|error| panic!("length {text:?}: {error}"))
}

/// A length without a sign.
pub(crate) fn span(text: &str) -> Duration {
    length(text).try_into().unwrap_or_else(|error| panic!("length {text:?}: {error}"))
}

/// An instant as scenes show it: the time of the day, with as many parts as it needs.
pub(crate) fn shown(at: Timestamp) -> String {
    let full = at.to_string();
    let Some(rest) = full.strip_prefix("2026-01-01T") else { return full };
    let time = rest.trim_end_matches('Z');
    time.strip_suffix(":00").filter(|_| time.len() == 8).unwrap_or(time).to_owned()
}

/// An instant or a dash.
pub(crate) fn shown_or_none(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "-".to_owned(), shown)
}

/// A length as scenes show it, in whole milliseconds.
pub(crate) fn length_shown(length: SignedDuration) -> String {
    let rounded = SignedDuration::from_millis(length.as_millis().try_into().unwrap());
    let sign = if rounded.is_negative() { "-" } else { "" };
    format!("{sign}{:#}", rounded.abs()).replace(' ', "")
}

/// A length without a sign as scenes show it.
pub(crate) fn span_shown(span: Duration) -> String {
    length_shown(SignedDuration::try_from(span).unwrap())
}

/// The words of a line as `key=value` pairs; a word alone has the value `""`.
pub(crate) fn pairs(text: &str) -> Vec<(&str, &str)> {
    text.split_whitespace().map(|word| word.split_once('=').unwrap_or((word, ""))).collect()
}

/// Nothing, for a dash.
pub(crate) fn optional(text: &str) -> Option<&str> {
    (text != "-").then_some(text)
}
