//! The walk over the calendar: croner, on the clock on the wall.
//!
//! croner is asked about local time only, as if no clock was ever changed. What a change of the clock does to a
//! schedule is decided one floor up, in [`crate::schedule::clock`], because croner's own rule is not crond's: it calls
//! a job fixed only if minute and hour are single values. For the same reason croner is given the expression as plain
//! lists of values, written from what our own reader understood: the text is read once, in one place.
//!
//! Two more things are told to croner and not left to it. Whether a day must match both day fields or one of them: it
//! looks at a bare `*` only, crond at a leading one. And where its search ends: it would walk to the year 5000 before
//! it says that 30 February never comes.
//!
//! Counting does not search at all. The matches of a day are the product of three numbers of bits, so only the days
//! have to be looked at one by one, and not even they if every day matches.

use core::cmp::Ordering;

use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds};
use croner::time::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday};
use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time, date};

use super::expression::Expression;
use super::field::{Field, Item, Set};

/// The last year that croner searches. Later ones have no occurrences.
const YEAR_MAX: i16 = 5000;

/// So many years in a row, with no century among them, have all kinds of years: leap or not, begun on any weekday.
const ALL_KINDS_YEARS: i16 = 28;

/// The local times at which an expression matches.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    pattern: Cron,
    /// The matching values of the time of day, as bits.
    seconds: u64,
    minutes: u64,
    hours: u64,
    /// Whether all days match.
    daily: bool,
}

/// A local time, as croner sees it. No local time is missing or double here.
#[derive(Clone, Copy, Debug)]
struct Local(DateTime);

impl Calendar {
    /// The calendar of an expression. `None` if croner refuses what our reader has accepted, which is a defect.
    pub(crate) fn of(expression: &Expression) -> Option<Calendar> {
        let text: Vec<String> = expression.sets().iter().map(plain_text).collect();
        let parser = CronParser::builder().seconds(Seconds::Required).dom_and_dow(expression.needs_both_days()).build();
        let pattern = parser.parse(&text.join(" ")).ok()?;
        let bits = |field| expression.set(field).bits();
        let any = |field| expression.set(field).is_any();
        Some(Calendar {
            pattern,
            seconds: bits(Field::Second),
            minutes: bits(Field::Minute),
            hours: bits(Field::Hour),
            daily: any(Field::DayOfMonth) && any(Field::Month) && any(Field::DayOfWeek),
        })
    }

    /// The first match at or after a local time.
    pub(crate) fn first_from(&self, from: DateTime) -> Option<DateTime> {
        self.pattern.find_next_occurrence(&Local(from), true).ok().map(|found| found.0)
    }

    /// The last match before a local time.
    pub(crate) fn last_before(&self, until: DateTime) -> Option<DateTime> {
        self.pattern.find_previous_occurrence(&Local(until), false).ok().map(|found| found.0)
    }

    /// Whether it ever matches. What does not match in any of the 14 kinds of years does not match in 400 years either,
    /// after which the calendar repeats itself. The search begins shortly before croner's end, so that it ends soon.
    pub(crate) fn ever_matches(&self) -> bool {
        self.first_from(date(YEAR_MAX - ALL_KINDS_YEARS, 1, 1).at(0, 0, 0, 0)).is_some()
    }

    /// How many matches there are from one local time (inclusive) to another (exclusive).
    ///
    /// Counted by whole days, of which each costs some ten nanoseconds, so a century is cheap.
    pub(crate) fn count(&self, from: DateTime, until: DateTime) -> u64 {
        if from >= until {
            return 0;
        }
        let head = if self.matches_day(from.date()) { self.before(from.time()) } else { 0 };
        let tail = if self.matches_day(until.date()) { self.before(until.time()) } else { 0 };
        self.days(from.date(), until.date()) * self.per_day() + tail - head
    }

    /// How many days match from one day (inclusive) to another (exclusive).
    fn days(&self, from: Date, until: Date) -> u64 {
        if self.daily {
            let days = from.duration_until(until).as_hours() / 24;
            return u64::try_from(days).unwrap_or(0);
        }
        let days = from.series(jiff::Span::new().days(1)).take_while(|day| *day < until);
        days.filter(|day| self.matches_day(*day)).count() as u64
    }

    /// Whether there are matches on a day.
    fn matches_day(&self, day: Date) -> bool {
        let civil = civil_date(day);
        let days = || self.pattern.pattern.day_match(civil.year(), civil.month(), civil.day(), weekday(day));
        let month = self.pattern.pattern.month_match(civil.month()).unwrap_or(false);
        self.daily || (month && days().unwrap_or(false))
    }

    /// How many matches a matching day has.
    fn per_day(&self) -> u64 {
        [self.hours, self.minutes, self.seconds].map(|bits| u64::from(bits.count_ones())).iter().product()
    }

    /// How many matches a matching day has before a time of day.
    fn before(&self, time: Time) -> u64 {
        let below = |bits: u64, value: i8| u64::from((bits & ((1 << value) - 1)).count_ones());
        let has = |bits: u64, value: i8| bits >> value & 1;
        let (minutes, seconds) = (u64::from(self.minutes.count_ones()), u64::from(self.seconds.count_ones()));
        let whole_minutes = below(self.minutes, time.minute()) * seconds;
        let in_minute = has(self.minutes, time.minute()) * below(self.seconds, time.second());
        below(self.hours, time.hour()) * minutes * seconds + has(self.hours, time.hour()) * (whole_minutes + in_minute)
    }
}

/// A field as croner reads it: `*`, or a list of values and of days that depend on the month.
fn plain_text(set: &Set) -> String {
    if set.is_any() {
        return "*".to_owned();
    }
    let values = set.values().into_iter().map(|value| value.to_string());
    let moving = set.moving().map(|item| match item {
        Item::LastDay => "L".to_owned(),
        Item::LastWorkday => "LW".to_owned(),
        Item::Nearest(day) => format!("{day}W"),
        Item::Nth { weekday, nth } => format!("{weekday}#{nth}"),
        Item::LastOf { weekday } => format!("{weekday}L"),
        Item::Star { .. } | Item::Range { .. } | Item::Open { .. } | Item::One(_) => String::new(),
    });
    values.chain(moving).collect::<Vec<_>>().join(",")
}

/// jiff's date as croner's.
fn civil_date(day: Date) -> CivilDate {
    CivilDate::from_parts_unchecked(
        i32::from(day.year()),
        day.month().unsigned_abs().into(),
        day.day().unsigned_abs().into(),
    )
}

/// jiff's weekday as croner's.
fn weekday(day: Date) -> Weekday {
    Weekday::from_days_from_sunday(day.weekday().to_sunday_zero_offset().unsigned_abs().into())
}

impl CronDateTime for Local {
    fn to_civil(&self) -> CivilDateTime {
        let time = self.0.time();
        let part = |part: i8| u32::from(part.unsigned_abs());
        CivilDateTime::new(
            civil_date(self.0.date()),
            CivilTime::from_parts_unchecked(part(time.hour()), part(time.minute()), part(time.second())),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        weekday(self.0.date())
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Local>, CronError> {
        let part = |part: u32| i8::try_from(part).map_err(|_| CronError::InvalidTime);
        let year = i16::try_from(civil.year()).map_err(|_| CronError::InvalidDate)?;
        let (month, day) = (part(civil.month())?, part(civil.day())?);
        let (hour, minute, second) = (part(civil.hour())?, part(civil.minute())?, part(civil.second())?);
        let local = DateTime::new(year, month, day, hour, minute, second, 0).map_err(|_| CronError::InvalidDate)?;
        Ok(Resolution::Single(Local(local)))
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Local> {
        self.0.checked_add(SignedDuration::from_secs(seconds)).ok().map(Local)
    }

    fn cmp_instant(&self, other: &Local) -> Ordering {
        self.0.cmp(&other.0)
    }
}
