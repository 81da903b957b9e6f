//! What is measured, each in a file of its own: a fleet is started, something is done to it, and its book is read.

mod at_rest;
mod burst;
mod downtime;
mod lateness;
mod loss;
mod restart;

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use hourhand_bench_replica::Line;

use crate::figure::Figure;
use crate::fleet::{Fleet, Load, Started};
use crate::ground::Ground;
use crate::subject::Subject;

/// The replicas of a fleet, unless a scenario says otherwise.
const REPLICAS: usize = 4;

/// A body that is still at work when something happens to its process.
const LONG: Duration = Duration::from_secs(600);

/// A body that is over at once.
const SHORT: Duration = Duration::from_millis(5);

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Connections, statements, CPU and memory of a replica with nothing due.
    AtRest,
    /// From the due instant to the start of the body, of a job a second; and how often each occurrence ran.
    Second,
    /// The same of a job a minute.
    Minute,
    /// The process whose body is at work is killed.
    Killed,
    /// It is frozen for half a minute, then woken.
    Frozen,
    /// The database is restarted.
    Restart,
    /// All replicas are down across some occurrences.
    Downtime,
    /// 1,000 jobs are due at one second.
    Burst,
}

impl Scenario {
    /// Measures one subject.
    ///
    /// # Errors
    ///
    /// If its replicas or the server do not do what they are told.
    pub(crate) fn run(self, ground: &mut Ground, subject: &Subject, quick: bool) -> Result<Vec<Figure>> {
        match self {
            Self::AtRest => at_rest::run(ground, subject, quick),
            Self::Second => lateness::second(ground, subject, quick),
            Self::Minute => lateness::minute(ground, subject, quick),
            Self::Killed => loss::killed(ground, subject, quick),
            Self::Frozen => loss::frozen(ground, subject),
            Self::Restart => restart::run(ground, subject, quick),
            Self::Downtime => downtime::run(ground, subject, quick),
            Self::Burst => burst::run(ground, subject, quick),
        }
    }
}

/// Starts a fleet with the most frequent of these schedules that the subject can have.
fn finest(ground: &Ground, subject: &Subject, load: Load, everys: &[u64]) -> Result<Started> {
    let mut reason = String::new();
    for every in everys {
        match Fleet::start(subject, &ground.place()?, Load { every: *every, ..load }, REPLICAS)? {
            ready @ Started::Ready(_) => return Ok(ready),
            Started::Cannot(why) => reason = why,
        }
    }
    Ok(Started::Cannot(reason))
}

/// The occurrence that a line is about: what its scheduler says, or else the newest instant of the schedule.
pub(crate) fn occurrence(line: &Line, every: u64) -> Duration {
    line.scheduled_for.unwrap_or_else(|| Duration::from_secs(line.wall.as_secs() / every * every))
}

/// Whether a body began away from the instants of the schedule, where only a repetition can.
fn is_between_instants(line: &Line, every: u64) -> bool {
    let since = line.wall - Duration::from_secs(line.wall.as_secs() / every * every);
    since > Duration::from_millis(1500).min(Duration::from_secs(every) / 2)
}

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
