//! From text to a rule: which kind of schedule a text is.
//!
//! The first word decides: `continuous`, `every` (or `@every`, as some schedulers have it), else a cron expression.
//! A text is bounded, because it is shown in errors, logs and tables.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::Rule;
use super::cron::shared;
use super::error::{Fault, Meant, ScheduleError};
use super::every::Every;

/// The text of a schedule without occurrences.
pub(super) const CONTINUOUS: &str = "continuous";

/// The longest text of a schedule, in bytes.
const TEXT_BYTES_MAX: usize = 512;

/// Reads any schedule.
pub(super) fn read(text: &str) -> Result<Rule, ScheduleError> {
    bounded(text)?;
    if text.trim().eq_ignore_ascii_case(CONTINUOUS) {
        return Ok(Rule::Continuous);
    }
    match after_every(text) {
        Some((rest, at)) => Every::read(rest, at).map(Rule::Every).map_err(|fault| fault.of(text)),
        None => cron(text),
    }
}

/// Reads a cron expression.
pub(super) fn cron(text: &str) -> Result<Rule, ScheduleError> {
    bounded(text)?;
    shared::rule(text).map(Rule::Cron).map_err(|fault| fault.of(text))
}

/// Refuses what is too long to be shown in an error.
fn bounded(text: &str) -> Result<(), ScheduleError> {
    if text.len() <= TEXT_BYTES_MAX {
        return Ok(());
    }
    let start: String = text.chars().take(40).collect();
    let what = format!("{} bytes are too long for a schedule: at most {TEXT_BYTES_MAX} are right", text.len());
    Err(Fault::new(0..start.len(), what).of(&start))
}

/// What follows the word `every` (or `@every`), and the byte at which it begins.
fn after_every(text: &str) -> Option<(&str, usize)> {
    let trimmed = text.trim_start();
    let word = ["@every", "every"]
        .into_iter()
        .find(|word| trimmed.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))?;
    let rest = &trimmed[word.len()..];
    let ends = rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c.is_ascii_digit());
    ends.then(|| (rest, text.len() - rest.len()))
}

/// A fixed interval from a length of any kind.
pub(super) fn interval<L>(length: L, anchor: Option<Timestamp>) -> Result<Rule, ScheduleError>
where
    L: TryInto<SignedDuration, Error: fmt::Display>,
{
    match length.try_into() {
        Ok(length) => {
            let text = format!("every {length:#}");
            let every = Every::new(length, anchor, "every ".len()..text.len()).map(Rule::Every);
            every.map_err(|fault| fault.of(&text))
        }
        Err(error) => {
            let advice = "a length in hours or smaller units is right, such as `24.hours()`".to_owned();
            let fault = Fault::new(0..0, format!("this is not a fixed length of time ({error})"));
            Err(fault.in_field("interval").meant(Meant::Advice(advice)).of("every"))
        }
    }
}

/// What is worth saying about an interval.
pub(super) fn interval_notes(every: &Every) -> Vec<String> {
    let mut notes = Vec::new();
    if every.is_in_days() {
        notes.push(
            "interval: a day is 24 hours here, whatever the clocks do: for a time of day write `30 2 * * *`".to_owned(),
        );
    }
    if every.length() < SignedDuration::from_secs(1) {
        notes.push("interval: shorter than a second; a run needs several round trips to the database".to_owned());
    }
    notes
}

/// The fields (seconds, if there are any, minute, hour) of a time of day such as `02:30` or `02:30:15`.
pub(super) fn time_of_day(text: &str) -> Result<String, Fault> {
    let parts: Vec<Option<u8>> = text.split(':').map(two_digits).collect();
    match *parts.as_slice() {
        [Some(hour @ 0..24), Some(minute @ 0..60)] => Ok(format!("{minute} {hour}")),
        [Some(hour @ 0..24), Some(minute @ 0..60), Some(second @ 0..60)] => Ok(format!("{second} {minute} {hour}")),
        _ => Err(Fault::new(0..text.len(), "this is not a time of day")
            .in_field("time")
            .meant(Meant::Advice("`00:00` to `23:59` is right, with seconds if wanted".to_owned()))),
    }
}

/// A number of one or two digits.
fn two_digits(text: &str) -> Option<u8> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}
