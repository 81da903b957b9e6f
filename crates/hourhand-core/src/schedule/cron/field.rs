//! The six fields of a cron expression, and what one of them says.
//!
//! A field is kept in two forms. Its *items* are what was written, for the description, the notes and the question
//! whether it begins with `*`; its *values*, computed from them, are what matches. Weekdays are written 0 to 7 and kept
//! 0 to 6. Days that depend on the month (`L`, `15W`, `5#3`) have no values: see [`Item::is_moving`].

/// A field of a cron expression, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// 0 to 59, in expressions of six fields.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or JAN to DEC.
    Month,
    /// 0 to 7, or SUN to SAT; 0 and 7 are Sunday.
    DayOfWeek,
}

/// The names of months, January being 1.
const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/// The names of weekdays, Sunday being 0.
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Field {
    /// All of them, as they are written.
    pub(crate) const ALL: [Field; 6] =
        [Field::Second, Field::Minute, Field::Hour, Field::DayOfMonth, Field::Month, Field::DayOfWeek];

    /// What people call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Field::Second => "second",
            Field::Minute => "minute",
            Field::Hour => "hour",
            Field::DayOfMonth => "day-of-month",
            Field::Month => "month",
            Field::DayOfWeek => "day-of-week",
        }
    }

    /// What its values are called.
    pub(crate) const fn values_name(self) -> &'static str {
        match self {
            Field::Second => "seconds",
            Field::Minute => "minutes",
            Field::Hour => "hours",
            Field::DayOfMonth => "days",
            Field::Month => "months",
            Field::DayOfWeek => "weekdays",
        }
    }

    /// The smallest value.
    pub(crate) const fn min(self) -> u8 {
        match self {
            Field::Second | Field::Minute | Field::Hour | Field::DayOfWeek => 0,
            Field::DayOfMonth | Field::Month => 1,
        }
    }

    /// The largest value that may be written. A weekday of 7 is Sunday, which is 0.
    pub(crate) const fn max(self) -> u8 {
        match self {
            Field::Second | Field::Minute => 59,
            Field::Hour => 23,
            Field::DayOfMonth => 31,
            Field::Month => 12,
            Field::DayOfWeek => 7,
        }
    }

    /// The names that stand for values in it, beginning with that of the smallest value.
    pub(crate) const fn names(self) -> &'static [&'static str] {
        match self {
            Field::Second | Field::Minute | Field::Hour | Field::DayOfMonth => &[],
            Field::Month => &MONTHS,
            Field::DayOfWeek => &WEEKDAYS,
        }
    }

    /// The value that a name stands for, in any case of its letters.
    pub(crate) fn value_of(self, name: &str) -> Option<u8> {
        let at = self.names().iter().position(|known| known.eq_ignore_ascii_case(name))?;
        u8::try_from(at).ok().map(|at| at + self.min())
    }

    /// A value as it would be written: by name where there are names.
    pub(crate) fn written(self, value: u8) -> String {
        let at = usize::from(value.saturating_sub(self.min()));
        match self.names() {
            [] => value.to_string(),
            names => names[at % names.len()].to_owned(),
        }
    }

    /// The values from one to another in steps, as bits. A weekday of 7 becomes 0.
    pub(crate) fn bits(self, from: u8, to: u8, step: u8) -> u64 {
        let values = (from..=to).step_by(usize::from(step.max(1)));
        values.map(|value| if self == Field::DayOfWeek { value % 7 } else { value }).fold(0, |bits, v| bits | (1 << v))
    }
}

/// One item of a field's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// `*` or `*/step`.
    Star {
        /// 1 without a step.
        step: u8,
    },
    /// `from-to` or `from-to/step`.
    Range {
        /// The first value.
        from: u8,
        /// The last value, at least `from`.
        to: u8,
        /// 1 without a step.
        step: u8,
    },
    /// `from/step`: up to the largest value.
    Open {
        /// The first value.
        from: u8,
        /// More than 0.
        step: u8,
    },
    /// A single value.
    One(u8),
    /// `L`: the last day of the month.
    LastDay,
    /// `LW`: the last Monday-to-Friday of the month.
    LastWorkday,
    /// `15W`: the Monday-to-Friday nearest to a day, within its month.
    Nearest(u8),
    /// `5#3`: the third Friday of the month.
    Nth {
        /// 0 to 6.
        weekday: u8,
        /// 1 to 5.
        nth: u8,
    },
    /// `5L`: the last Friday of the month.
    LastOf {
        /// 0 to 6.
        weekday: u8,
    },
}

impl Item {
    /// Whether its days differ from month to month.
    pub(crate) const fn is_moving(self) -> bool {
        match self {
            Item::Star { .. } | Item::Range { .. } | Item::Open { .. } | Item::One(_) => false,
            Item::LastDay | Item::LastWorkday | Item::Nearest(_) | Item::Nth { .. } | Item::LastOf { .. } => true,
        }
    }

    /// The first and the last value that it may have, and the step from one to the next. A moving day has itself.
    pub(crate) const fn span(self, field: Field) -> (u8, u8, u8) {
        match self {
            Item::Star { step } => (field.min(), field.max(), step),
            Item::Range { from, to, step } => (from, to, step),
            Item::Open { from, step } => (from, field.max(), step),
            Item::One(value) | Item::Nearest(value) => (value, value, 1),
            Item::Nth { weekday, .. } | Item::LastOf { weekday } => (weekday, weekday, 1),
            Item::LastDay | Item::LastWorkday => (field.max(), field.max(), 1),
        }
    }
}

/// What one field says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    /// Which field it is.
    pub(crate) field: Field,
    /// Its text, in capitals.
    pub(crate) text: String,
    /// The items of its list, in the order in which they are written; at least one.
    pub(crate) items: Vec<Item>,
}

impl Set {
    /// A field with a single value.
    pub(crate) fn one(field: Field, value: u8) -> Set {
        Set { field, text: value.to_string(), items: vec![Item::One(value)] }
    }

    /// Whether it begins with `*`: what crond calls a star, whatever follows.
    pub(crate) fn is_starred(&self) -> bool {
        self.text.starts_with('*')
    }

    /// Whether it is a `*` and nothing else, so that it decides nothing.
    pub(crate) fn is_any(&self) -> bool {
        self.items == [Item::Star { step: 1 }]
    }

    /// The step of a field that is `*` or `*/step` and nothing else.
    pub(crate) fn star_step(&self) -> Option<u8> {
        match self.items.as_slice() {
            &[Item::Star { step }] => Some(step),
            _ => None,
        }
    }

    /// The plain values, as bits. What depends on the month ([`Set::moving`]) is not among them.
    pub(crate) fn bits(&self) -> u64 {
        let plain = self.items.iter().filter(|item| !item.is_moving());
        plain.map(|item| item.span(self.field)).fold(0, |bits, (from, to, step)| bits | self.field.bits(from, to, step))
    }

    /// The plain values in ascending order.
    pub(crate) fn values(&self) -> Vec<u8> {
        let bits = self.bits();
        (0..64).filter(|value| bits & (1 << value) != 0).collect()
    }

    /// The only value, if there is one only.
    pub(crate) fn only(&self) -> Option<u8> {
        match (self.values().as_slice(), self.moving().next()) {
            (&[value], None) => Some(value),
            _ => None,
        }
    }

    /// The items whose days differ from month to month.
    pub(crate) fn moving(&self) -> impl Iterator<Item = Item> {
        self.items.iter().copied().filter(|item| item.is_moving())
    }
}
