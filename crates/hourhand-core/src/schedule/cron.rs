//! Cron expressions: what they say, and when that is.

pub(crate) mod calendar;
pub(crate) mod expression;
pub(crate) mod field;
mod item;
mod lint;
pub(crate) mod shared;
mod words;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use self::calendar::Calendar;
use self::expression::Expression;
use self::field::Field;
use super::clock::{Clock, whole_second};
use super::error::{Fault, Meant};

/// A cron expression that fires at least once in 400 years.
#[derive(Clone, Debug)]
pub(crate) struct CronRule {
    expression: Expression,
    calendar: Calendar,
    real_time: bool,
}

impl CronRule {
    /// Reads an expression.
    pub(crate) fn read(text: &str) -> Result<CronRule, Fault> {
        let expression = Expression::read(text)?;
        let Some(calendar) = Calendar::of(&expression) else {
            return Err(Fault::new(0..text.len(), "this expression can't be worked out: please report it"));
        };
        if !calendar.ever_matches() {
            return Err(never(&expression, text));
        }
        Ok(CronRule { real_time: expression.follows_real_time(), expression, calendar })
    }

    /// The canonical text.
    pub(crate) fn text(&self) -> &str {
        &self.expression.text
    }

    /// The first occurrence later than an instant.
    pub(crate) fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let from = second_after(after)?;
        match self.real_time {
            true => Clock::of(zone).first_real(&self.calendar, from),
            false => Clock::of(zone).first_fixed(&self.calendar, from),
        }
    }

    /// The last occurrence at or before an instant.
    pub(crate) fn previous_at_or_before(&self, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let until = second_after(until)?;
        match self.real_time {
            true => Clock::of(zone).last_real(&self.calendar, until),
            false => Clock::of(zone).last_fixed(&self.calendar, until),
        }
    }

    /// The number of occurrences later than one instant and at or before another.
    pub(crate) fn count(&self, after: Timestamp, until: Timestamp, zone: &TimeZone) -> Option<u64> {
        let (from, until) = (second_after(after)?, second_after(until)?);
        match self.real_time {
            true => Clock::of(zone).count_real(&self.calendar, from, until),
            false => Clock::of(zone).count_fixed(&self.calendar, from, until),
        }
    }

    /// What is worth knowing about it before it runs.
    pub(crate) fn notes(&self) -> Vec<String> {
        lint::notes(&self.expression)
    }

    /// What it means, in English.
    pub(crate) fn describe(&self) -> String {
        words::describe(&self.expression)
    }
}

/// The first whole second later than an instant. Occurrences are whole seconds.
fn second_after(at: Timestamp) -> Option<Timestamp> {
    whole_second(at)?.checked_add(SignedDuration::from_secs(1)).ok()
}

/// Says that an expression never fires, and which field is the reason.
fn never(expression: &Expression, text: &str) -> Fault {
    let days = expression.set(Field::DayOfMonth);
    let months = expression.set(Field::Month).values();
    let month_names: Vec<&str> = months.iter().map(|month| words::MONTHS[usize::from(*month) - 1]).collect();
    let place = text.split_whitespace().nth(if expression.six_fields { 3 } else { 2 }).map_or(0..0, |word| {
        let at = word.as_ptr() as usize - text.as_ptr() as usize;
        at..at + word.len()
    });
    let fault = Fault::new(
        place,
        format!("there is no day {} in {}: this would never run", days.text, words::list(&month_names, "or")),
    )
    .in_field(Field::DayOfMonth.name());
    match months.iter().map(|month| days_in_month_max(*month)).max() {
        Some(last) if days.only().is_some() => fault.meant(match expression.set(Field::DayOfWeek).is_any() {
            true => Meant::Instead("L".to_owned()),
            false => Meant::Advice(format!("the last day of {} is {last}, at most", words::list(&month_names, "or"))),
        }),
        _ => fault,
    }
}

/// The most days that a month can have.
fn days_in_month_max(month: u8) -> u8 {
    match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
