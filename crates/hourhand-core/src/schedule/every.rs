//! A fixed distance in real time: `every 90s`, aligned to the epoch or to an anchor.
//!
//! Occurrences are `anchor + k × length` for every whole `k`, also before the anchor, so that every node computes the
//! same ones whenever it starts. All of it is whole-number arithmetic in microseconds, which is what PostgreSQL
//! keeps of an instant.
//!
//! An interval is real time and knows no calendar: a day is 24 hours, a month is refused, a time zone moves nothing,
//! and a change of the clock is not noticed. Who wants a time of day writes a cron expression.

use std::fmt;
use std::ops::Range;

use jiff::{SignedDuration, Span, Timestamp};

use super::error::{Fault, Meant};

/// The longest interval: 100 years.
const LENGTH_MAX: SignedDuration = SignedDuration::from_hours(24 * 36_525);

/// The microseconds of a second.
const SECOND_MICROS: i64 = 1_000_000;

/// A fixed interval.
#[derive(Clone, Debug)]
pub(crate) struct Every {
    /// In microseconds, a whole number of milliseconds, more than 0.
    length: i64,
    /// Microseconds since 1970, if one was asked for. What is finer than a microsecond is cut off.
    anchor: Option<i64>,
    /// Whether the length was written in days or weeks.
    in_days: bool,
}

impl Every {
    /// Reads what follows the word `every` in a text: `90s`, `1h 30m`, `5 minutes from 2026-01-01T00:00:00Z`.
    ///
    /// `at` is the byte at which `rest` begins in the whole text.
    pub(crate) fn read(rest: &str, at: usize) -> Result<Every, Fault> {
        let (length_text, anchor_text) = match split_word(rest, "from") {
            Some((before, after)) => (before, Some(after)),
            None => (rest, None),
        };
        let length_place = place(rest, length_text, at);
        let (length, in_days) = read_length(length_text.trim(), length_place.clone())?;
        let anchor = match anchor_text.map(str::trim) {
            None => None,
            Some(text) => Some(text.parse::<Timestamp>().map_err(|_| {
                let advice = "an instant with its offset is right, such as `2026-01-01T00:00:00Z`".to_owned();
                Fault::new(place(rest, text, at), "this is not an instant")
                    .in_field("anchor")
                    .meant(Meant::Advice(advice))
            })?),
        };
        Ok(Every { in_days, ..Every::new(length, anchor, length_place)? })
    }

    /// An interval aligned to an anchor, else to the epoch (1970-01-01 00:00 UTC).
    ///
    /// `place` is where the length stands in the text that is being read.
    pub(crate) fn new(length: SignedDuration, anchor: Option<Timestamp>, place: Range<usize>) -> Result<Every, Fault> {
        let fault = |what: &str| Fault::new(place.clone(), what).in_field("interval");
        if length.is_zero() {
            return Err(fault("an interval of zero is no interval"));
        }
        if length.is_negative() {
            return Err(fault("an interval must be longer than zero"));
        }
        if length > LENGTH_MAX {
            return Err(fault("an interval is at most 100 years (876600h) long"));
        }
        match i64::try_from(length.as_micros()) {
            Ok(micros) if length.subsec_nanos() % 1_000_000 == 0 => {
                Ok(Every { length: micros, anchor: anchor.map(Timestamp::as_microsecond), in_days: false })
            }
            Ok(_) | Err(_) => Err(fault("an interval is a whole number of milliseconds")),
        }
    }

    /// The first occurrence later than an instant.
    pub(crate) fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.occurrence(self.index(after)?.checked_add(1)?)
    }

    /// The last occurrence at or before an instant.
    pub(crate) fn previous_at_or_before(&self, until: Timestamp) -> Option<Timestamp> {
        self.occurrence(self.index(until)?)
    }

    /// The number of occurrences later than one instant and at or before another.
    pub(crate) fn count(&self, after: Timestamp, until: Timestamp) -> Option<u64> {
        u64::try_from(self.index(until)? - self.index(after)?).ok()
    }

    /// The distance between occurrences.
    pub(crate) fn length(&self) -> SignedDuration {
        SignedDuration::from_micros(self.length)
    }

    /// What it means, in English.
    pub(crate) fn describe(&self) -> String {
        let (length, unit) = self.in_largest_unit();
        let name = match unit {
            "h" => "hour",
            "m" => "minute",
            "s" => "second",
            _ => "millisecond",
        };
        let every = if length == 1 { format!("every {name}") } else { format!("every {length} {name}s") };
        match self.anchor.map(Timestamp::from_microsecond) {
            Some(Ok(anchor)) => format!("{every}, counted from {anchor}"),
            Some(Err(_)) | None => every,
        }
    }

    /// Its length as a whole number of the largest unit that it is a whole number of.
    fn in_largest_unit(&self) -> (i64, &'static str) {
        match self.length {
            micros if micros % SECOND_MICROS != 0 => (micros / 1_000, "ms"),
            micros if micros % (3_600 * SECOND_MICROS) == 0 => (micros / (3_600 * SECOND_MICROS), "h"),
            micros if micros % (60 * SECOND_MICROS) == 0 => (micros / (60 * SECOND_MICROS), "m"),
            micros => (micros / SECOND_MICROS, "s"),
        }
    }

    /// Whether the length was written in days or weeks, which readers may take for days of the calendar.
    pub(crate) fn is_in_days(&self) -> bool {
        self.in_days
    }

    /// Which occurrence, counted from the anchor, is the last at or before an instant.
    fn index(&self, at: Timestamp) -> Option<i64> {
        let micros = at.as_nanosecond().div_euclid(1_000);
        let from_anchor = micros - i128::from(self.anchor.unwrap_or(0));
        i64::try_from(from_anchor.div_euclid(i128::from(self.length))).ok()
    }

    /// The instant of an occurrence.
    fn occurrence(&self, index: i64) -> Option<Timestamp> {
        let micros = index.checked_mul(self.length)?.checked_add(self.anchor.unwrap_or(0))?;
        Timestamp::from_microsecond(micros).ok()
    }
}

/// Equal if the occurrences are written alike: a day is 24 hours here.
impl PartialEq for Every {
    fn eq(&self, other: &Every) -> bool {
        (self.length, self.anchor) == (other.length, other.anchor)
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, unit) = self.in_largest_unit();
        write!(f, "every {length}{unit}")?;
        match self.anchor.map(Timestamp::from_microsecond) {
            Some(Ok(anchor)) => write!(f, " from {anchor}"),
            Some(Err(_)) | None => Ok(()),
        }
    }
}

/// Reads a length of time, and whether it is in days or weeks.
fn read_length(text: &str, place: Range<usize>) -> Result<(SignedDuration, bool), Fault> {
    let fault = |what: &str| Fault::new(place.clone(), what).in_field("interval");
    if text.is_empty() {
        return Err(fault("`every` needs a length").meant(Meant::Whole("every 90s".to_owned())));
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(fault("a length needs a unit: s, m, h").instead(format!(" {text}s")));
    }
    let too_long = || fault("an interval is at most 100 years (876600h) long");
    if text.bytes().take_while(u8::is_ascii_digit).count() > 15 {
        return Err(too_long());
    }
    // `every hour` is one of them.
    let is_bare_unit = text.starts_with(|c: char| c.is_ascii_alphabetic() && c != 'P');
    let counted = if is_bare_unit { format!("1 {text}") } else { text.to_owned() };
    let Ok(span) = counted.parse::<Span>() else {
        let advice = "a length is a number with a unit, such as `90s`, `15m`, `1h 30m` or `500ms`".to_owned();
        return Err(fault("this is not a length of time").meant(Meant::Advice(advice)));
    };
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err(fault("months and years have no fixed length").meant(by_the_calendar(&span)));
    }
    let in_days = span.get_days() != 0 || span.get_weeks() != 0;
    match span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()) {
        Ok(length) => Ok((length, in_days)),
        Err(_) => Err(too_long()),
    }
}

/// The cron expression for every so many months.
fn by_the_calendar(span: &Span) -> Meant {
    match i32::from(span.get_years()) * 12 + span.get_months() {
        1 => Meant::Whole("@monthly".to_owned()),
        12 => Meant::Whole("@yearly".to_owned()),
        months @ 2..=11 if 12 % months == 0 => Meant::Whole(format!("0 0 1 */{months} *")),
        _ => Meant::Advice("a cron expression counts months, within a year: `0 0 1 */3 *`".to_owned()),
    }
}

/// The text before and after a word that stands by itself.
fn split_word<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let lower = text.to_ascii_lowercase();
    let at = lower.find(&format!(" {word} "))?;
    Some((&text[..at], &text[at + word.len() + 2..]))
}

/// Where a part of a text stands, in bytes of the whole text that the text begins in at `at`.
fn place(text: &str, part: &str, at: usize) -> Range<usize> {
    let part = part.trim();
    let start = at + (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}
