//! What is worth saying about an expression that is right but may not be what was meant.
//!
//! A note is no refusal: each of these has a use. It is said once, when the job is registered, because the other way to
//! learn of it is a job that ran sixty times, or not in February.

use super::expression::Expression;
use super::field::{Field, Item, Set};
use super::words;

/// The notes on an expression, in the order of its fields.
pub(crate) fn notes(expression: &Expression) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(six_fields(expression));
    for set in expression.sets() {
        notes.extend(set.items.iter().filter_map(|item| open_range(set, *item)));
        notes.extend(set.items.iter().filter_map(|item| uneven(set, *item)));
    }
    notes.extend(sixty_runs(expression, Field::Second, Field::Minute));
    notes.extend(sixty_runs(expression, Field::Minute, Field::Hour));
    notes.extend(two_day_fields(expression));
    notes.extend(short_months(expression));
    notes
}

/// Six fields: somebody may have meant five, and one too many.
fn six_fields(expression: &Expression) -> Option<String> {
    let read = |field| format!("{} `{}`", Field::name(field), expression.set(field).text);
    let fields = Field::ALL.map(read).join(", ");
    expression.six_fields.then(|| format!("six fields, so the first is seconds: {fields}"))
}

/// `5/15`: Vixie's cron does not know it, others read it in one way.
fn open_range(set: &Set, item: Item) -> Option<String> {
    match item {
        Item::Open { from, step } => {
            let max = set.field.max();
            Some(format!("{}: `{from}/{step}` is read as `{from}-{max}/{step}`", set.field.name()))
        }
        _ => None,
    }
}

/// `*/40`: the step begins anew each time, so the last distance is another one.
fn uneven(set: &Set, item: Item) -> Option<String> {
    let Item::Star { step } = item else { return None };
    let size = match set.field {
        Field::Second | Field::Minute => 60,
        Field::Hour => 24,
        Field::Month => 12,
        // The days of a month are uneven anyway, and nobody is surprised by the week.
        Field::DayOfMonth | Field::DayOfWeek => return None,
    };
    let last = size % step;
    (last != 0).then(|| {
        let (name, unit) = (set.field.name(), set.field.values_name());
        format!(
            "{name}: `*/{step}` begins anew at {}: the last step is {last} {unit} instead of {step}",
            set.field.min()
        )
    })
}

/// `* 2 * * *`, or `* 30 2 * * *`: sixty runs where one was meant.
fn sixty_runs(expression: &Expression, small: Field, large: Field) -> Option<String> {
    let (small, large) = (expression.set(small), expression.set(large));
    (small.is_any() && !large.is_starred()).then(|| {
        let (name, large_name) = (small.field.name(), large.field.name());
        format!("{name}: `*` runs at every {name} of {large_name} `{}`; to run once there, write 0", large.text)
    })
}

/// Both day fields are set: crond's rule is not everybody's.
fn two_day_fields(expression: &Expression) -> Option<String> {
    let (day, weekday) = (expression.set(Field::DayOfMonth), expression.set(Field::DayOfWeek));
    if day.is_any() || weekday.is_any() {
        return None;
    }
    Some(if expression.needs_both_days() {
        format!(
            "days: a day must match both `{}` and `{}`, because one of them begins with `*`",
            day.text, weekday.text
        )
    } else {
        format!("days: a day that matches either `{}` or `{}` is enough", day.text, weekday.text)
    })
}

/// The 29th to 31st: not every month has them.
fn short_months(expression: &Expression) -> Option<String> {
    let day = expression.set(Field::DayOfMonth);
    let last = day.only().filter(|day| *day > 28)?;
    if !expression.set(Field::DayOfWeek).is_any() {
        return None;
    }
    let months = expression.set(Field::Month).values();
    let short: Vec<&str> = months
        .iter()
        .filter(|month| lacks(**month, last))
        .map(|month| words::MONTHS[usize::from(*month) - 1])
        .collect();
    match (short.is_empty(), months.len() == short.len()) {
        (true, _) => None,
        (false, true) => Some("day-of-month: 29 February comes in leap years only, up to 8 years apart".to_owned()),
        (false, false) => Some(format!(
            "day-of-month: no run in months without a day {last} ({}); `L` is the last day of each",
            words::list(&short, "and")
        )),
    }
}

/// Whether a month has, at least in some years, no such day.
fn lacks(month: u8, day: u8) -> bool {
    match month {
        2 => day > 28,
        4 | 6 | 9 | 11 => day > 30,
        _ => false,
    }
}
