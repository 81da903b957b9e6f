//! How what people and tools are shown is written as JSON: times in RFC 3339, UTC, always with microseconds, which is what the
//! server knows; lengths in seconds.

use jiff::{SignedDuration, Timestamp};
use serde::Serializer;

pub(crate) fn instant<S: Serializer>(instant: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{instant:.6}"))
}

pub(crate) fn instant_or_null<S: Serializer>(instant: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match instant {
        Some(instant) => self::instant(instant, serializer),
        None => serializer.serialize_none(),
    }
}

pub(crate) fn seconds<S: Serializer>(length: &SignedDuration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(length.as_secs_f64())
}
