//! The times of day in words.

use super::{LISTED_MAX, counted, even_step, list, ordinal};
use crate::schedule::cron::expression::Expression;
use crate::schedule::cron::field::{Field, Item, Set};

/// The times of day, and whether they are so few that they are listed.
pub(super) fn words(expression: &Expression) -> (String, bool) {
    let [second, minute, hour] = [Field::Second, Field::Minute, Field::Hour].map(|field| expression.set(field));
    let regular = even_step(minute).is_some() || even_step(hour).is_some();
    let values = [hour, minute, second].map(Set::values);
    if !regular && values.iter().map(Vec::len).product::<usize>() <= LISTED_MAX {
        return (format!("at {}", list(&clock_times(&values), "and")), true);
    }
    let text = match (second.only(), minute.only()) {
        (Some(0), Some(0)) => on_the_hour(hour),
        (Some(0), _) => format!("{}{}", at(minute), of_hours(minute, hour)),
        (_, _) => format!("{} of {}{}", at(second), genitive(minute), of_hours(minute, hour)),
    };
    // `every 10 seconds of every minute` says the same twice.
    (text.replace("every second of every minute", "every second").replace("seconds of every minute", "seconds"), false)
}

/// `02:30` for every combination of hour, minute and second; seconds only where they say something.
fn clock_times([hours, minutes, seconds]: &[Vec<u8>; 3]) -> Vec<String> {
    let mut times = Vec::new();
    for (hour, minute) in hours.iter().flat_map(|hour| minutes.iter().map(move |minute| (hour, minute))) {
        times.extend(seconds.iter().map(|second| match second {
            0 if seconds.len() == 1 => format!("{hour:02}:{minute:02}"),
            second => format!("{hour:02}:{minute:02}:{second:02}"),
        }));
    }
    times
}

/// Once an hour at minute 0.
fn on_the_hour(hour: &Set) -> String {
    match (even_step(hour), hour.items.as_slice()) {
        (Some(1), _) => "every hour, on the hour".to_owned(),
        (Some(step), _) => format!("every {step} hours from 00:00"),
        (None, &[Item::Range { from, to, step: 1 }]) => format!("every hour from {from:02}:00 to {to:02}:00"),
        (None, &[Item::Range { from, to, step }]) => format!("every {step} hours from {from:02}:00 to {to:02}:00"),
        (None, _) => format!("on the hour, at {}", genitive(hour)),
    }
}

/// The minutes (or seconds) at which something is due, as the head of the sentence.
fn at(set: &Set) -> String {
    let noun = set.field.name();
    match (even_step(set), set.items.as_slice()) {
        (Some(1), _) => format!("every {noun}"),
        (Some(step), _) => format!("every {step} {noun}s"),
        (None, items) if set.values().len() <= LISTED_MAX || items.len() > 1 => format!("at {}", genitive(set)),
        (None, &[Item::Range { from, to, step: 1 }]) => format!("every {noun} from {from} to {to}"),
        (None, &[item]) => {
            let (from, to, step) = item.span(set.field);
            format!("every {step} {noun}s from {noun} {from} to {to}")
        }
        (None, _) => format!("at {}", genitive(set)),
    }
}

/// ` of every hour`, where that is not said already by every minute.
fn of_hours(minute: &Set, hour: &Set) -> String {
    if hour.is_any() && even_step(minute).is_some() { String::new() } else { format!(" of {}", genitive(hour)) }
}

/// The hours (or minutes) that something belongs to.
fn genitive(set: &Set) -> String {
    let noun = set.field.name();
    match even_step(set) {
        Some(1) => format!("every {noun}"),
        Some(step) => format!("every {} {noun}", ordinal(step)),
        None if set.values().len() <= LISTED_MAX => {
            let values: Vec<String> = set.values().iter().map(|value| shown(set.field, *value)).collect();
            counted(noun, &values)
        }
        None => {
            let items: Vec<String> = set.items.iter().map(|item| span(set.field, *item)).collect();
            format!("{noun}s {}", list(&items, "and"))
        }
    }
}

/// One item of many.
fn span(field: Field, item: Item) -> String {
    let (from, to, step) = item.span(field);
    let ends = format!("{} to {}", shown(field, from), shown(field, to));
    match (from == to, step) {
        (true, _) => shown(field, from),
        (false, 1) => ends,
        (false, step) => format!("{ends} in steps of {step}"),
    }
}

/// A value: hours look like hours.
fn shown(field: Field, value: u8) -> String {
    if field == Field::Hour { format!("{value:02}") } else { value.to_string() }
}
