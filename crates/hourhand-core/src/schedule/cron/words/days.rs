//! The days in words.

use super::{LISTED_MAX, MONTHS, WEEKDAYS, counted, list, ordinal};
use crate::schedule::cron::expression::Expression;
use crate::schedule::cron::field::{Field, Item, Set};

/// The days, `every day` if they are not restricted.
pub(super) fn words(expression: &Expression) -> String {
    let [day, month, weekday] = [Field::DayOfMonth, Field::Month, Field::DayOfWeek].map(|field| expression.set(field));
    let in_months = if month.is_any() { String::new() } else { format!(" in {}", named(month)) };
    let of_months = if month.is_any() { "the month".to_owned() } else { named(month) };
    let has_nth = weekday.moving().next().is_some();
    match (day.is_any(), weekday.is_any()) {
        (true, true) => format!("every day{in_months}"),
        (false, true) => format!("on {} of {of_months}", days(day)),
        (true, false) if has_nth => format!("on {} of {of_months}", weekdays(weekday, "and")),
        (true, false) => format!("on {}{in_months}", weekdays(weekday, "and")),
        (false, false) if expression.needs_both_days() => {
            format!("on {} of the month if it is {}{in_months}", days(day), weekdays(weekday, "or"))
        }
        (false, false) => {
            let every = if has_nth { "" } else { "every " };
            format!("on {} of the month and on {every}{}{in_months}", days(day), weekdays(weekday, "and"))
        }
    }
}

/// The days of the month, to be followed by "of the month".
fn days(set: &Set) -> String {
    let values: Vec<String> = set.values().iter().map(u8::to_string).collect();
    let plain = set.items.iter().filter(|item| !item.is_moving()).copied().collect::<Vec<_>>();
    let mut parts: Vec<String> = match plain.as_slice() {
        [] => Vec::new(),
        &[Item::Range { from, to, step: 1 }] if from < to => vec![format!("days {from} to {to}")],
        _ if values.len() <= LISTED_MAX => vec![counted("day", &values)],
        &[item] => {
            let (from, to, step) = item.span(set.field);
            vec![format!("every {} day from the {} to the {}", ordinal(step), ordinal(from), ordinal(to))]
        }
        _ => vec![counted("day", &values)],
    };
    parts.extend(set.moving().map(moving));
    list(&parts, "and")
}

/// The weekdays; with n-th ones among them to be followed by "of the month".
fn weekdays(set: &Set, and: &str) -> String {
    if let &[Item::Range { from, to, step: 1 }] = set.items.as_slice()
        && from < to
    {
        return format!("{} to {}", weekday(from), weekday(to));
    }
    let values = set.values().into_iter().map(|day| weekday(day).to_owned());
    list(&values.chain(set.moving().map(moving)).collect::<Vec<_>>(), and)
}

/// The months by name.
fn named(set: &Set) -> String {
    let name = |month: u8| MONTHS[usize::from(month.max(1) - 1) % 12];
    match set.items.as_slice() {
        &[Item::Range { from, to, step: 1 }] if from < to => format!("{} to {}", name(from), name(to)),
        _ => list(&set.values().into_iter().map(name).collect::<Vec<_>>(), "and"),
    }
}

/// A weekday by name.
fn weekday(day: u8) -> &'static str {
    WEEKDAYS[usize::from(day) % 7]
}

/// A day that depends on the month, to be followed by "of the month".
fn moving(item: Item) -> String {
    match item {
        Item::LastDay => "the last day".to_owned(),
        Item::LastWorkday => "the last workday".to_owned(),
        Item::Nearest(day) => format!("the workday nearest to day {day}"),
        Item::Nth { weekday: day, nth } => format!("the {} {}", ordinal(nth), weekday(day)),
        Item::LastOf { weekday: day } => format!("the last {}", weekday(day)),
        Item::Star { .. } | Item::Range { .. } | Item::Open { .. } | Item::One(_) => String::new(),
    }
}
