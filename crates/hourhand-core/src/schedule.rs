//! When a job is due: cron expressions, fixed intervals, and bodies that always run.
//!
//! A [`Schedule`] is a rule and a time zone. It is a pure function of time: asked with an instant it answers with
//! an instant, the same on every node, because the zone rules are compiled in and the clock is never looked at.
//!
//! # The dialect
//!
//! | text | meaning |
//! | --- | --- |
//! | `30 2 * * *` | crontab(5): minute, hour, day-of-month, month, day-of-week |
//! | `15 30 2 * * *` | six fields: the first is seconds; [`Schedule::notes`] says so |
//! | `*` `5` `1-5` `1,15` `*/15` `8-18/2` | any, one, a range, a list, steps |
//! | `5/15` | from 5 on in steps of 15; said aloud, as crontab(5) does not know it |
//! | `JAN`-`DEC`, `SUN`-`SAT` | names, in any case; Sunday is 0 and 7 |
//! | `L` `LW` `15W` as day-of-month | last day, last workday, workday nearest to the 15th |
//! | `5#3` `5L` as day-of-week | third Friday, last Friday |
//! | `@yearly` `@annually` `@monthly` `@weekly` `@daily` `@midnight` `@hourly` | what crontab(5) says |
//! | `every 90s`, `every 1h 30m from 2026-01-01T00:00:00Z` | a fixed distance, aligned to 1970 or to the anchor |
//! | `continuous` | a body that should always be running on one node |
//!
//! *Days.* If day-of-month or day-of-week begins with `*`, a day must match both; else one of them is enough. That
//! is crond's rule, so `0 0 13 * 5` runs on every 13th and on every Friday.
//!
//! *When the clocks change.* A job whose minute or hour begins with `*` follows real time. Any other has fixed local
//! times, each of which is due once: in the hour that is shown twice at the first pass, in the hour that is left out
//! at the end of the gap.
//!
//! What can't ever fire, is out of range, runs backwards (`FRI-MON`) or belongs to another scheduler is refused, with
//! the field, a mark below the place, and what was probably meant: see [`ScheduleError`].

mod clock;
mod cron;
mod error;
mod every;
mod text;
mod zone;

use std::fmt;
use std::sync::Arc;

use jiff::civil::Weekday;
use jiff::{SignedDuration, Timestamp};

pub use self::error::ScheduleError;
pub use self::zone::{zone_data_version, zone_names};

use self::cron::CronRule;
use self::every::Every;
use self::text::time_of_day;
use self::zone::Zone;

/// When a job is due, in which time zone.
///
/// The constructors read like speech and never fail: a schedule that makes no sense keeps its fault until
/// [`check`](Schedule::check) asks for it, which a scheduler does at registration, for all its jobs at once. Until
/// then such a schedule is never due. [`Schedule::parse`] says at once.
///
/// Displayed, it is its canonical text, without the zone, which is what the database keeps; `Schedule::parse` of that
/// text and of [`time_zone`](Schedule::time_zone) gives an equal schedule. Two schedules are equal if text and zone
/// are. A clone is cheap.
///
/// ```
/// use hourhand_core::schedule::Schedule;
///
/// let nightly = Schedule::cron("30 2 * * *").in_zone("America/New_York");
/// nightly.check()?;
///
/// // On 8 March 2026 the clocks jump from 02:00 to 03:00: due once, at the end of the gap.
/// let noon: jiff::Timestamp = "2026-03-07T12:00:00Z".parse()?;
/// assert_eq!(nightly.next_after(noon), Some("2026-03-08T07:00:00Z".parse()?));
/// assert_eq!(nightly.describe(), "at 02:30 every day");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Schedule {
    rule: Result<Rule, ScheduleError>,
    zone: Result<Zone, ScheduleError>,
}

/// The three kinds of rules.
#[derive(Clone)]
enum Rule {
    Continuous,
    Every(Every),
    Cron(Arc<CronRule>),
}

/// Ways to make one.
impl Schedule {
    /// At minute 0 of every hour.
    #[must_use]
    pub fn hourly() -> Schedule {
        Schedule::cron("@hourly")
    }

    /// Every day at a time of day, such as `"02:30"` or `"02:30:15"`.
    ///
    /// ```
    /// # use hourhand_core::schedule::Schedule;
    /// assert_eq!(Schedule::daily_at("02:30"), Schedule::cron("30 2 * * *"));
    /// ```
    #[must_use]
    pub fn daily_at(time: &str) -> Schedule {
        Schedule::at(time, "* * *")
    }

    /// Monday to Friday at a time of day.
    #[must_use]
    pub fn workdays_at(time: &str) -> Schedule {
        Schedule::at(time, "* * MON-FRI")
    }

    /// Every week on a day, at a time of day.
    #[must_use]
    pub fn weekly_on(day: Weekday, time: &str) -> Schedule {
        Schedule::at(time, &format!("* * {}", day.to_sunday_zero_offset()))
    }

    /// Every month on a day (months without it are passed over), at a time of day.
    #[must_use]
    pub fn monthly_on(day: u8, time: &str) -> Schedule {
        Schedule::at(time, &format!("{day} * *"))
    }

    /// At a fixed distance, aligned to 1970-01-01 00:00 UTC, so that every node means the same instants.
    ///
    /// The length is a [`SignedDuration`], a span of hours, minutes and seconds (`90.seconds()`), or a duration of the
    /// standard library: a whole number of milliseconds, more than zero, at most 100 years.
    ///
    /// ```
    /// # use hourhand_core::schedule::Schedule;
    /// use jiff::ToSpan as _;
    ///
    /// let schedule = Schedule::every(90.seconds());
    /// let new_year: jiff::Timestamp = "2026-01-01T00:00:00Z".parse()?;
    /// assert_eq!(schedule.next_after(new_year), Some("2026-01-01T00:01:30Z".parse()?));
    /// # Ok::<(), jiff::Error>(())
    /// ```
    #[must_use]
    pub fn every<L>(length: L) -> Schedule
    where
        L: TryInto<SignedDuration, Error: fmt::Display>,
    {
        Schedule::interval(length, None)
    }

    /// At a fixed distance, aligned to an instant (before which there are occurrences too).
    ///
    /// The instant is part of the schedule: all processes must give the same one. With one of its own (the present, say) each would
    /// have another definition of the job, of which only the last that was registered runs.
    #[must_use]
    pub fn every_from<L>(length: L, anchor: Timestamp) -> Schedule
    where
        L: TryInto<SignedDuration, Error: fmt::Display>,
    {
        Schedule::interval(length, Some(anchor))
    }

    /// By a cron expression of five or six fields, or a nickname such as `@daily`.
    ///
    /// ```
    /// # use hourhand_core::schedule::Schedule;
    /// assert!(Schedule::cron("*/15 8-18 * * MON-FRI").check().is_ok());
    /// assert!(Schedule::cron("0 0 30 2 *").check().is_err(), "30 February never comes");
    /// ```
    #[must_use]
    pub fn cron(expression: &str) -> Schedule {
        Schedule::new(text::cron(expression))
    }

    /// A body that should be running at all times, on one node: it has no occurrences.
    ///
    /// One that ends is started again after a backoff: 1 s, doubling to 5 min. One whose process died is started elsewhere at once; after
    /// the second death in a row 30 s later, doubling to 5 min. Either begins anew after a run of 10 min.
    #[must_use]
    pub fn continuous() -> Schedule {
        Schedule::new(Ok(Rule::Continuous))
    }

    /// In the time zone of an IANA name, such as `Asia/Seoul`; old aliases are known. UTC unless said otherwise.
    ///
    /// An interval is not moved by a zone.
    #[must_use]
    pub fn in_zone(self, name: &str) -> Schedule {
        Schedule { zone: Zone::named(name), ..self }
    }

    /// Reads any schedule: a cron expression, a nickname, `every …` or `continuous`, in a time zone.
    ///
    /// # Errors
    ///
    /// Text or zone are wrong; if both are, it is the text's fault.
    ///
    /// ```
    /// # use hourhand_core::schedule::Schedule;
    /// let stored = Schedule::parse("every 1h 30m", "UTC")?;
    /// assert_eq!(stored.to_string(), "every 90m");
    /// # Ok::<(), hourhand_core::schedule::ScheduleError>(())
    /// ```
    pub fn parse(text: &str, zone: &str) -> Result<Schedule, ScheduleError> {
        let schedule = Schedule::new(text::read(text)).in_zone(zone);
        schedule.check().map(|()| schedule)
    }

    /// A rule in UTC.
    fn new(rule: Result<Rule, ScheduleError>) -> Schedule {
        Schedule { rule, zone: Ok(Zone::utc()) }
    }

    /// A time of day and the three fields of days.
    fn at(time: &str, days: &str) -> Schedule {
        match time_of_day(time) {
            Ok(fields) => Schedule::cron(&format!("{fields} {days}")),
            Err(fault) => Schedule::new(Err(fault.of(time))),
        }
    }

    /// A fixed interval.
    fn interval<L>(length: L, anchor: Option<Timestamp>) -> Schedule
    where
        L: TryInto<SignedDuration, Error: fmt::Display>,
    {
        Schedule::new(text::interval(length, anchor))
    }
}

/// What it is.
impl Schedule {
    /// Whether it makes sense; the first of [`complaints`](Schedule::complaints).
    ///
    /// # Errors
    ///
    /// What is wrong, where, and what was probably meant.
    pub fn check(&self) -> Result<(), ScheduleError> {
        self.complaints().next().map_or(Ok(()), |complaint| Err(complaint.clone()))
    }

    /// Everything that is wrong with it: nothing, or its text, its zone, or both.
    pub fn complaints(&self) -> impl Iterator<Item = &ScheduleError> {
        self.rule.as_ref().err().into_iter().chain(self.zone.as_ref().err())
    }

    /// What is right but may not be what was meant, a sentence each: six fields, uneven steps, short months, ….
    ///
    /// To be said once, at registration.
    ///
    /// ```
    /// # use hourhand_core::schedule::Schedule;
    /// let notes = Schedule::cron("*/40 * * * *").notes();
    /// assert_eq!(notes, ["minute: `*/40` begins anew at 0: the last step is 20 minutes instead of 40"]);
    /// ```
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        match &self.rule {
            Ok(Rule::Cron(cron)) => cron.notes(),
            Ok(Rule::Every(every)) => text::interval_notes(every),
            Ok(Rule::Continuous) | Err(_) => Vec::new(),
        }
    }

    /// What it means, in English, without the time zone: `at 02:30 every day`.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.rule {
            Ok(Rule::Cron(cron)) => cron.describe(),
            Ok(Rule::Every(every)) => every.describe(),
            Ok(Rule::Continuous) => "always running, on one node".to_owned(),
            Err(error) => format!("not a schedule: {}", error.summary()),
        }
    }

    /// The name of its time zone, spelt as in the time zone database (or as given, if there is none of this name).
    #[must_use]
    pub fn time_zone(&self) -> &str {
        match &self.zone {
            Ok(zone) => zone.name(),
            Err(error) => error.text(),
        }
    }

    /// Whether it is `continuous`, and so without occurrences.
    #[must_use]
    pub fn is_continuous(&self) -> bool {
        matches!(self.rule, Ok(Rule::Continuous))
    }
}

/// Occurrences. All answers are whole microseconds, cron's are whole seconds.
///
/// Cron schedules have occurrences in the years 1 to 5000, intervals in all that a [`Timestamp`] can hold.
impl Schedule {
    /// The first occurrence strictly later than an instant.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self.rule.as_ref().ok()? {
            Rule::Continuous => None,
            Rule::Every(every) => every.next_after(after),
            Rule::Cron(cron) => cron.next_after(after, self.zone.as_ref().ok()?.rules()),
        }
    }

    /// The last occurrence at or before an instant.
    #[must_use]
    pub fn previous_at_or_before(&self, until: Timestamp) -> Option<Timestamp> {
        match self.rule.as_ref().ok()? {
            Rule::Continuous => None,
            Rule::Every(every) => every.previous_at_or_before(until),
            Rule::Cron(cron) => cron.previous_at_or_before(until, self.zone.as_ref().ok()?.rules()),
        }
    }

    /// All occurrences strictly later than an instant, in order.
    pub fn occurrences_after(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.next_after(after), |last| self.next_after(*last))
    }

    /// All occurrences at or before an instant, the newest first.
    pub fn occurrences_until(&self, until: Timestamp) -> impl Iterator<Item = Timestamp> {
        let just_before = |at: &Timestamp| at.checked_sub(SignedDuration::from_micros(1)).ok();
        std::iter::successors(self.previous_at_or_before(until), move |last| {
            self.previous_at_or_before(just_before(last)?)
        })
    }

    /// The number of occurrences strictly later than one instant and at or before another; 0 if there is no span.
    ///
    /// Exact, and never found by listing: an interval's is a division; a cron schedule's is counted by whole days (by
    /// their number alone where every day is alike), so that a century costs a few milliseconds even if the
    /// job is due every second.
    ///
    /// ```
    /// # use hourhand_core::schedule::Schedule;
    /// let (from, until) = ("2026-01-01T00:00:00Z".parse()?, "2026-01-31T00:00:00Z".parse()?);
    /// assert_eq!(Schedule::cron("* * * * *").count_between(from, until), 43_200);
    /// # Ok::<(), jiff::Error>(())
    /// ```
    #[must_use]
    pub fn count_between(&self, after: Timestamp, until: Timestamp) -> u64 {
        if after >= until {
            return 0;
        }
        let count = match (&self.rule, &self.zone) {
            (Ok(Rule::Every(every)), _) => every.count(after, until),
            (Ok(Rule::Cron(cron)), Ok(zone)) => cron.count(after, until, zone.rules()),
            (Ok(Rule::Continuous | Rule::Cron(_)) | Err(_), _) => None,
        };
        count.unwrap_or(0)
    }

    /// The distance between the two occurrences around an instant: one period of the schedule, at that time.
    ///
    /// The next occurrence is strictly later than the instant, the last one may be at it. `None` for `continuous`.
    #[must_use]
    pub fn period_at(&self, at: Timestamp) -> Option<SignedDuration> {
        if let Ok(Rule::Every(every)) = &self.rule {
            return Some(every.length());
        }
        Some(self.previous_at_or_before(at)?.duration_until(self.next_after(at)?))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Ok(Rule::Continuous) => f.write_str(text::CONTINUOUS),
            Ok(Rule::Every(every)) => every.fmt(f),
            Ok(Rule::Cron(cron)) => f.write_str(cron.text()),
            Err(error) => f.write_str(error.text()),
        }
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({self} in {})", self.time_zone())
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Schedule) -> bool {
        let rules_equal = match (&self.rule, &other.rule) {
            (Ok(Rule::Continuous), Ok(Rule::Continuous)) => true,
            (Ok(Rule::Every(one)), Ok(Rule::Every(another))) => one == another,
            (Ok(Rule::Cron(one)), Ok(Rule::Cron(another))) => one.text() == another.text(),
            (Err(one), Err(another)) => one == another,
            (Ok(_) | Err(_), _) => false,
        };
        rules_equal && self.time_zone() == other.time_zone()
    }
}

impl Eq for Schedule {}
