//! What an expression means, in English.
//!
//! Few times are listed (`at 02:00 and 02:30 every day`), many are described by their rule (`every 15 minutes of hours
//! 09 to 17`). Steps that are uneven are never called regular: `*/40` is `at minutes 0 and 40 of every hour`, so that
//! the description shows what the expression hides.

mod days;
mod times;

use super::expression::Expression;
use super::field::{Field, Set};

/// The months, January first.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The weekdays, Sunday first.
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The most values that are listed one by one; more are described by their rule.
const LISTED_MAX: usize = 6;

/// The whole sentence, without a full stop: `at 09:00 on Monday to Friday`.
pub(crate) fn describe(expression: &Expression) -> String {
    let (times, are_listed) = times::words(expression);
    let days = match days::words(expression) {
        // `every minute every day` says the same twice.
        days if !are_listed => days.trim_start_matches("every day").trim_start().to_owned(),
        days => days,
    };
    if days.is_empty() { times } else { format!("{times} {days}") }
}

/// The step of a field that is `*` or `*/step` and nothing else, if it is even: without a shorter last step.
fn even_step(set: &Set) -> Option<u8> {
    let size = match set.field {
        Field::Second | Field::Minute => 60,
        Field::Hour => 24,
        Field::DayOfMonth | Field::Month | Field::DayOfWeek => return None,
    };
    set.star_step().filter(|step| size % step == 0)
}

/// `2nd`, `3rd`, `11th`.
fn ordinal(number: u8) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// A noun and what it counts: `minute 5`, `minutes 5 and 10`.
fn counted(noun: &str, values: &[String]) -> String {
    format!("{noun}{} {}", if values.len() == 1 { "" } else { "s" }, list(values, "and"))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list<T: AsRef<str>>(items: &[T], and: &str) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} {and} {}", first.join(", "), last.as_ref())
        }
    }
}
