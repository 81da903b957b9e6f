//! Random cron expressions, each as a text and as an answer to "does this local time match?".
//!
//! The answer is made of what was drawn, not of the text, so it does not depend on the reader that is under test.

use jiff::civil::{Date, DateTime, date};

use crate::seed::Seed;

/// The smallest and largest values of the fields.
const BOUNDS: [(u8, u8); 6] = [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];

/// The fields by their place.
const SECOND: usize = 0;
const MINUTE: usize = 1;
const HOUR: usize = 2;
const DAY: usize = 3;
const MONTH: usize = 4;
const WEEKDAY: usize = 5;

/// A drawn expression.
pub(crate) struct Drawn {
    fields: [Field; 6],
    with_seconds: bool,
    /// What else matches as day-of-month or day-of-week.
    moving: Option<Moving>,
}

/// A drawn field, or an item of one: its text, and its values as bits.
struct Field {
    text: String,
    values: u64,
}

/// A day that depends on its month.
#[derive(Clone, Copy, Debug)]
enum Moving {
    Last,
    LastWorkday,
    Nearest(i8),
    Nth(u8, u8),
    LastOf(u8),
}

/// Values as bits.
fn bits(values: impl IntoIterator<Item = u8>) -> u64 {
    values.into_iter().fold(0, |bits, value| bits | 1 << value)
}

impl Drawn {
    /// Draws an expression of five fields, or of six.
    pub(crate) fn new(seed: &mut Seed, with_seconds: bool) -> Drawn {
        let mut fields = [SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY].map(|field| draw_field(seed, field));
        if !with_seconds {
            fields[SECOND] = Field { text: "0".to_owned(), values: 1 };
        }
        let moving = seed.once_in(4).then(|| draw_moving(seed));
        if let Some(moving) = moving {
            let (field, text) = moving.written();
            // Alone, or beside plain values.
            if fields[field].text == "*" || seed.once_in(2) {
                fields[field] = Field { text, values: 0 };
            } else {
                fields[field].text = format!("{},{text}", fields[field].text);
            }
        }
        Drawn { fields, with_seconds, moving }
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        let fields = self.fields.iter().skip(usize::from(!self.with_seconds));
        fields.map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Whether minute or hour begin with `*`.
    pub(crate) fn is_real_time(&self) -> bool {
        self.fields[MINUTE].text.starts_with('*') || self.fields[HOUR].text.starts_with('*')
    }

    /// Whether a local time matches.
    pub(crate) fn matches(&self, at: DateTime) -> bool {
        let has = |field: usize, value: i8| self.fields[field].values >> value & 1 == 1;
        let of_day = has(SECOND, at.second()) && has(MINUTE, at.minute()) && has(HOUR, at.hour());
        if !of_day || !has(MONTH, at.month()) {
            return false;
        }
        let weekday = at.date().weekday().to_sunday_zero_offset();
        let day_of_month = has(DAY, at.day()) || self.moving.is_some_and(|moving| moving.is_day(at.date()));
        let day_of_week = has(WEEKDAY, weekday)
            || (weekday == 0 && has(WEEKDAY, 7))
            || self.moving.is_some_and(|moving| moving.is_weekday(at.date()));
        let both = self.fields[DAY].text.starts_with('*') || self.fields[WEEKDAY].text.starts_with('*');
        if both { day_of_month && day_of_week } else { day_of_month || day_of_week }
    }
}

fn draw_field(seed: &mut Seed, field: usize) -> Field {
    let (min, max) = BOUNDS[field];
    // Days and months are mostly free, or hardly anything would be due within what is looked at.
    let free = if field >= DAY { seed.below(4) != 0 } else { seed.once_in(4) };
    if free {
        return Field { text: "*".to_owned(), values: bits(min..=max) };
    }
    let items: Vec<Field> = (0..1 + seed.below(3)).map(|_| draw_item(seed, field)).collect();
    let text = items.iter().map(|item| item.text.as_str()).collect::<Vec<_>>().join(",");
    Field { text, values: items.iter().fold(0, |values, item| values | item.values) }
}

fn draw_item(seed: &mut Seed, field: usize) -> Field {
    let (min, max) = BOUNDS[field];
    let (from, to) = (seed.between(min, max), seed.between(min, max));
    match seed.below(6) {
        0 if from < to => {
            // `0-SUN` is Sunday alone, as in Vixie's cron; after any other day SUN ends the week.
            let last = if field == WEEKDAY && from == 0 { to.to_string() } else { written(seed, field, to) };
            let text = format!("{}-{last}", written(seed, field, from));
            Field { text, values: bits(from..=to) }
        }
        1 if from < to => {
            let step = seed.between(1, to - from);
            Field { text: format!("{from}-{to}/{step}"), values: bits((from..=to).step_by(usize::from(step))) }
        }
        2 => {
            let step = seed.between(1, max - min);
            Field { text: format!("*/{step}"), values: bits((min..=max).step_by(usize::from(step))) }
        }
        3 if field != WEEKDAY && from < max => {
            let step = seed.between(1, max - from);
            Field { text: format!("{from}/{step}"), values: bits((from..=max).step_by(usize::from(step))) }
        }
        _ => Field { text: written(seed, field, from), values: bits([from]) },
    }
}

/// A value as it is written: sometimes by name, sometimes with a zero in front.
fn written(seed: &mut Seed, field: usize, value: u8) -> String {
    let months = ["", "jan", "FEB", "Mar", "apr", "MAY", "jun", "JUL", "aug", "sep", "oct", "nov", "DEC"];
    let weekdays = ["SUN", "mon", "Tue", "WED", "thu", "FRI", "sat", "SUN"];
    let names: &[&str] = match field {
        MONTH => &months,
        WEEKDAY => &weekdays,
        _ => &[],
    };
    match names.get(usize::from(value)) {
        Some(name) if seed.once_in(3) => (*name).to_owned(),
        _ if seed.once_in(8) => format!("{value:02}"),
        _ => value.to_string(),
    }
}

fn draw_moving(seed: &mut Seed) -> Moving {
    let weekday = seed.between(0, 6);
    match seed.below(5) {
        0 => Moving::Last,
        1 => Moving::LastWorkday,
        2 => Moving::Nearest(seed.between(1, 31) as i8),
        3 => Moving::Nth(weekday, seed.between(1, 5)),
        _ => Moving::LastOf(weekday),
    }
}

impl Moving {
    /// The field it belongs to, and its text.
    fn written(self) -> (usize, String) {
        match self {
            Moving::Last => (DAY, "L".to_owned()),
            Moving::LastWorkday => (DAY, "lw".to_owned()),
            Moving::Nearest(day) => (DAY, format!("{day}W")),
            Moving::Nth(weekday, nth) => (WEEKDAY, format!("{weekday}#{nth}")),
            Moving::LastOf(weekday) => (WEEKDAY, format!("{weekday}L")),
        }
    }

    fn is_day(self, day: Date) -> bool {
        let is_workday = |day: &Date| (1..=5).contains(&day.weekday().to_sunday_zero_offset());
        let mut workdays =
            (1..=day.days_in_month()).map(|of_month| date(day.year(), day.month(), of_month)).filter(is_workday);
        match self {
            Moving::Last => day.day() == day.days_in_month(),
            Moving::LastWorkday => workdays.next_back() == Some(day),
            // The workday at the smallest distance within the month; there are no two, as a weekend has two days.
            Moving::Nearest(wanted) => {
                wanted <= day.days_in_month() && workdays.min_by_key(|other| (other.day() - wanted).abs()) == Some(day)
            }
            Moving::Nth(..) | Moving::LastOf(_) => false,
        }
    }

    fn is_weekday(self, day: Date) -> bool {
        let weekday = day.weekday().to_sunday_zero_offset() as u8;
        match self {
            Moving::Nth(wanted, nth) => weekday == wanted && (day.day() as u8).div_ceil(7) == nth,
            Moving::LastOf(wanted) => weekday == wanted && day.day() + 7 > day.days_in_month(),
            Moving::Last | Moving::LastWorkday | Moving::Nearest(_) => false,
        }
    }
}
