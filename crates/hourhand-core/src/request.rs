//! What somebody asks of the fleet from anywhere: a run now, or the occurrences of a span once more.
//!
//! A request stands in a row of its own until a start takes it, in the statement that starts the run: so it is taken once,
//! whoever dies in between. Until then any node may find it, at once through a notice, or at its next look. A backfill is taken one
//! occurrence at a time; how far it is stands in its row, so that another node goes on where the last one left off.

use jiff::Timestamp;

use crate::schedule::Schedule;

/// A backfill runs so many occurrences at most.
pub const BACKFILL_RUNS_MAX: u64 = 10_000;

/// A request as a look shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number of its row.
    pub id: i64,
    /// What is asked for.
    pub wanted: Wanted,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A run, now.
    Run,
    /// A run for each occurrence of a span, oldest first.
    Backfill {
        /// What is left begins after this instant.
        after: Timestamp,
        /// It ends before this one.
        until: Timestamp,
    },
}

/// What one start takes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The request.
    pub id: i64,
    /// The occurrence that is run again; none for a run now.
    pub again: Option<Again>,
    /// Nothing is left of the request.
    pub last: bool,
}

/// An occurrence that is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// The occurrence; its window begins here.
    pub occurrence: Timestamp,
    /// The next occurrence of the schedule, where the window ends (or at the start of the run, if that is earlier).
    pub window_end: Option<Timestamp>,
}

impl Request {
    /// The next run that the request asks for; `None`: nothing is left of it (the schedule was changed meanwhile).
    pub fn next_step(&self, schedule: &Schedule) -> Option<Taken> {
        let Wanted::Backfill { after, until } = self.wanted else {
            return Some(Taken { id: self.id, again: None, last: true });
        };
        let occurrence = schedule.next_after(after).filter(|occurrence| *occurrence < until)?;
        let window_end = schedule.next_after(occurrence);
        let last = window_end.is_none_or(|next| next >= until);
        Some(Taken { id: self.id, again: Some(Again { occurrence, window_end }), last })
    }
}

/// Why a span can't be backfilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackfillError {
    /// The schedule has no occurrences: it is continuous.
    Continuous,
    /// The span is empty, or lies ahead.
    Empty,
    /// No occurrence lies in it.
    NoOccurrence,
    /// So many do, which is more than [`BACKFILL_RUNS_MAX`].
    TooMany(u64),
}

impl std::fmt::Display for BackfillError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BackfillError::Continuous => f.write_str("a continuous job has no occurrences to run again"),
            BackfillError::Empty => f.write_str("the span is empty: it has to begin before it ends, and before now"),
            BackfillError::NoOccurrence => f.write_str("no occurrence of the schedule lies in the span"),
            BackfillError::TooMany(count) => {
                write!(f, "the span has {count} occurrences, and a backfill runs {BACKFILL_RUNS_MAX} at most: split it")
            }
        }
    }
}

impl std::error::Error for BackfillError {}

/// How many occurrences a backfill of `[from, until)` runs.
pub fn backfill_runs(schedule: &Schedule, from: Timestamp, until: Timestamp) -> Result<u64, BackfillError> {
    if schedule.is_continuous() {
        return Err(BackfillError::Continuous);
    }
    if from >= until {
        return Err(BackfillError::Empty);
    }
    match schedule.count_between(just_before(from), just_before(until)) {
        0 => Err(BackfillError::NoOccurrence),
        count if count > BACKFILL_RUNS_MAX => Err(BackfillError::TooMany(count)),
        count => Ok(count),
    }
}

/// The database counts in microseconds.
fn just_before(instant: Timestamp) -> Timestamp {
    instant.checked_sub(jiff::SignedDuration::from_micros(1)).unwrap_or(instant)
}
