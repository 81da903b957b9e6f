//! The file into which the bodies of all replicas write, each line with the time since the machine started: one clock for all
//! processes, which nothing steps and no freezing stops.
//!
//! ```text
//! BOOT_NS PID began|ended|ready JOB WALL_NS SCHEDULED_NS|-
//! ```

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// The file, opened once by each replica.
#[derive(Clone, Debug)]
pub struct Book(Arc<File>);

/// A body under way; writes that it has ended when dropped, however it ends.
#[derive(Debug)]
#[must_use = "the body ends when this is dropped"]
pub struct Begun {
    book: Book,
    job: String,
    scheduled_for: Option<Duration>,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The replica's scheduler is about to run.
    Ready,
    /// A body has begun.
    Began,
    /// A body has ended.
    Ended,
}

/// One line, read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Since the machine started.
    pub at: Duration,
    /// The replica.
    pub pid: u32,
    /// What happened.
    pub what: What,
    /// Whose body.
    pub job: String,
    /// By the calendar, since 1970.
    pub wall: Duration,
    /// The occurrence, since 1970, if the scheduler tells its body.
    pub scheduled_for: Option<Duration>,
}

/// Time since the machine started.
#[must_use]
pub fn boot_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

/// Time since 1970, by the machine's calendar.
#[must_use]
pub fn wall_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Book {
    /// Opens the file, made if need be.
    ///
    /// # Errors
    ///
    /// If the system does not let us.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self(Arc::new(OpenOptions::new().create(true).append(true).open(path)?)))
    }

    /// Notes that this replica is about to run.
    pub fn ready(&self) {
        self.write("ready", "-", None);
    }

    /// Notes that a body has begun.
    pub fn begin(&self, job: &str, scheduled_for: Option<Duration>) -> Begun {
        self.write("began", job, scheduled_for);
        Begun { book: self.clone(), job: job.to_owned(), scheduled_for }
    }

    /// A line is one write to a file opened for appending, so that processes do not write into each other's.
    fn write(&self, what: &str, job: &str, scheduled_for: Option<Duration>) {
        let scheduled = scheduled_for.map_or_else(|| "-".to_owned(), |at| at.as_nanos().to_string());
        let (boot, wall) = (boot_time().as_nanos(), wall_time().as_nanos());
        let line = format!("{boot} {} {what} {job} {wall} {scheduled}\n", std::process::id());
        // A body must not fail for a measurement's sake; a line that is missing is seen by who counts them.
        (&*self.0).write_all(line.as_bytes()).ok();
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.book.write("ended", &self.job, self.scheduled_for);
    }
}

impl Line {
    /// Reads one line; `None` if it is not one, as the last may be while it is being written.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [at, pid, what, job, wall, scheduled] = words[..] else { return None };
        let what = match what {
            "ready" => What::Ready,
            "began" => What::Began,
            "ended" => What::Ended,
            _ => return None,
        };
        let time = |text: &str| text.parse().ok().map(Duration::from_nanos);
        let scheduled_for = if scheduled == "-" { None } else { Some(time(scheduled)?) };
        Some(Self {
            at: time(at)?,
            pid: pid.parse().ok()?,
            what,
            job: job.to_owned(),
            wall: time(wall)?,
            scheduled_for,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written_and_half_a_line_is_none() {
        let line = Line::parse("5 7 began job-1 9 8").unwrap();
        assert_eq!((line.at, line.pid, line.what), (Duration::from_nanos(5), 7, What::Began));
        assert_eq!(line.scheduled_for, Some(Duration::from_nanos(8)));
        assert_eq!(Line::parse("5 7 ready - 9 -").unwrap().scheduled_for, None);
        assert_eq!(Line::parse("5 7 began job-1"), None);
    }
}
