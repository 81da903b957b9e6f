//! What is measured, each in a file of its own: a fleet is started, something is done to it, and its book is read.

mod at_rest;
mod burst;
mod downtime;
mod lateness;
mod loss;
mod pooler;
pub(crate) mod restart;

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use hourhand_bench_replica::Line;

use crate::figure::Figure;
use crate::fleet::{Fleet, Load, Started};
use crate::ground::{Ground, Place};
use crate::spans::Spans;
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
    /// A transaction pooler stands between.
    Pooler,
}

/// In what company a scenario may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Company {
    /// Of any other and of all subjects.
    Everybody,
    /// Of all subjects, at the same instants.
    SameScenario,
    /// Of all subjects, across one restart of the server.
    SameRestart,
    /// Of nobody.
    Nobody,
}

impl Company {
    /// In the order in which they are gone through.
    pub(crate) const ALL: [Self; 4] = [Self::Nobody, Self::SameScenario, Self::Everybody, Self::SameRestart];
}

impl Scenario {
    /// Measures one subject.
    ///
    /// # Errors
    ///
    /// If its replicas or the server do not do what they are told.
    pub(crate) fn run(self, ground: &Ground, subject: &Subject, spans: Spans) -> Result<Vec<Figure>> {
        match self {
            Self::AtRest => at_rest::run(ground, subject, spans),
            Self::Second => lateness::second(ground, subject, spans),
            Self::Minute => lateness::minute(ground, subject, spans),
            Self::Killed => loss::killed(ground, subject, spans),
            Self::Frozen => loss::frozen(ground, subject),
            Self::Restart => restart::at_work(ground, subject)?.map_or_else(
                |figure| Ok(vec![figure]),
                |fleet| {
                    ground.restart(restart::DOWN)?;
                    Ok(restart::watch(fleet, spans))
                },
            ),
            Self::Downtime => downtime::run(ground, subject, spans),
            Self::Burst => burst::run(ground, subject, spans),
            Self::Pooler => pooler::run(ground, subject, spans),
        }
    }

    /// In what company it may run.
    pub(crate) fn company(self) -> Company {
        match self {
            Self::AtRest | Self::Killed | Self::Frozen | Self::Downtime | Self::Pooler => Company::Everybody,
            Self::Minute => Company::SameScenario,
            Self::Restart => Company::SameRestart,
            Self::Second | Self::Burst => Company::Nobody,
        }
    }

    /// Whether it is nothing to a subject whose schedules know no seconds.
    pub(crate) fn wants_seconds(self) -> bool {
        self == Self::Second
    }

    /// How long it takes of one subject, about.
    pub(crate) fn takes(self, spans: Spans) -> Duration {
        Duration::from_secs(match self {
            Self::AtRest => 85 + spans.pick(20, 60, 60),
            Self::Second => 12 + spans.pick(20, 60, 90),
            Self::Minute => 40 + 60 * spans.pick(2, 5, 6),
            Self::Killed => 40 + spans.pick(45, 60, 180),
            Self::Frozen => 90,
            Self::Restart => 60 + spans.pick(60, 60, 180),
            Self::Downtime => spans.pick(90, 270, 390),
            Self::Burst => 55,
            Self::Pooler => 10 + spans.pick(120, 180, 180),
        })
    }
}

/// Starts a fleet with the most frequent of these schedules that the subject can have.
fn finest(ground: &Ground, subject: &Subject, load: Load, everys: &[u64]) -> Result<Started> {
    finest_at(|| ground.place(), subject, load, everys)
}

/// The same, on databases from somewhere else.
fn finest_at(place: impl Fn() -> Result<Place>, subject: &Subject, load: Load, everys: &[u64]) -> Result<Started> {
    let mut reason = String::new();
    for every in everys {
        match Fleet::start(subject, &place()?, Load { every: *every, ..load }, REPLICAS)? {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(wall_ms: u64, due: &str) -> Line {
        Line::parse(&format!("1 7 began job-0 {wall_ms}000000 {due}")).unwrap()
    }

    #[test]
    fn a_line_is_about_the_occurrence_that_it_was_told_or_the_newest() {
        assert_eq!(occurrence(&line(125_000, "60000000000"), 60), Duration::from_secs(60));
        assert_eq!(occurrence(&line(125_000, "-"), 60), Duration::from_secs(120));
    }

    #[test]
    fn soon_after_an_instant_is_at_it_and_later_is_between() {
        let between = |wall_ms, every| is_between_instants(&line(wall_ms, "-"), every);
        assert_eq!([between(121_400, 60), between(121_600, 60), between(179_900, 60)], [false, true, true]);
        // Of a job a second, half of the time is soon.
        assert_eq!([between(7_400, 1), between(7_600, 1)], [false, true]);
    }
}
