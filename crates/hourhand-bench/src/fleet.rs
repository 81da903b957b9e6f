//! Replicas of one subject, each a process of its own, and the book that they write.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hourhand_bench_replica::{Line, What};
use hourhand_testkit::{Leash, Leashed, Signal};
use tempfile::TempDir;

use crate::ground::Place;
use crate::subject::Subject;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
const READY_WITHIN: Duration = Duration::from_secs(60);

/// What each replica is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// How many jobs.
    pub(crate) jobs: usize,
    /// The seconds between two occurrences.
    pub(crate) every: u64,
    /// How long a body takes.
    pub(crate) body: Duration,
}

/// The replicas. All end when this is dropped.
#[derive(Debug)]
pub(crate) struct Fleet {
    subject: Subject,
    load: Load,
    place: Place,
    home: TempDir,
    replicas: Vec<Leashed>,
}

/// How a start went.
#[derive(Debug)]
pub(crate) enum Started {
    /// All are about to run.
    Ready(Fleet),
    /// The subject cannot do that, for this reason.
    Cannot(String),
}

impl Fleet {
    /// Starts so many replicas on a database, and waits until each is about to run.
    ///
    /// # Errors
    ///
    /// If a replica can't be started, ends, or takes too long.
    pub(crate) fn start(subject: &Subject, place: &Place, load: Load, replicas: usize) -> Result<Started> {
        let mut fleet = Self::none(subject, place, load)?;
        // The first makes the schema by itself: not everybody's migrations bear company.
        for some in [1, replicas - 1] {
            fleet.add(some, &[])?;
            if let Some(why) = fleet.await_ready()? {
                return Ok(Started::Cannot(why));
            }
        }
        Ok(Started::Ready(fleet))
    }

    /// A fleet without replicas yet.
    ///
    /// # Errors
    ///
    /// If there is no directory to be had.
    pub(crate) fn none(subject: &Subject, place: &Place, load: Load) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let (subject, place) = (subject.clone(), place.clone());
        Ok(Self { subject, load, place, home, replicas: Vec::new() })
    }

    /// Starts so many more, told that besides.
    ///
    /// # Errors
    ///
    /// If one can't be started.
    pub(crate) fn add(&mut self, replicas: usize, more: &[&str]) -> Result<()> {
        for _ in 0..replicas {
            let mut program = Command::new(&self.subject.program);
            // Its own words, not the way it took.
            program.env("RUST_BACKTRACE", "0");
            program.args(["--url", &self.place.url, "--jobs", &self.load.jobs.to_string()]);
            program.args(["--every", &self.load.every.to_string()]);
            program.args(["--body-ms", &self.load.body.as_millis().to_string()]);
            program.arg("--book").arg(self.book()).args(more);
            if self.place.pooled {
                // For those that document what to set then.
                program.args(["--pooler", "yes"]);
            }
            self.replicas.push(Leash::new(self.log()).signal(Signal::KILL).spawn(&program)?);
        }
        Ok(())
    }

    /// Waits until as many lines say that a replica is about to run as there are replicas, or one says why it can't.
    ///
    /// # Errors
    ///
    /// If a replica ends, or they take too long.
    pub(crate) fn await_ready(&mut self) -> Result<Option<String>> {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            // Asked before its words are read: a replica that refuses speaks, then ends.
            let ended = self.ended();
            let log = std::fs::read_to_string(self.log()).unwrap_or_default();
            if let Some(why) = log.lines().find_map(|line| line.strip_prefix("cannot: ")) {
                return Ok(Some(why.to_owned()));
            }
            let pids: Vec<u32> =
                self.lines().iter().filter(|line| line.what == What::Ready).map(|line| line.pid).collect();
            if self.replicas.iter().all(|replica| pids.contains(&replica.pid())) {
                return Ok(None);
            }
            if ended > 0 || Instant::now() >= deadline {
                bail!(
                    "{}: not all replicas came to run; the last words were: {}",
                    self.subject.peer.name,
                    self.last_words()
                );
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// The process ids of the replicas.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.replicas.iter().map(Leashed::pid).collect()
    }

    /// How many replicas have ended.
    pub(crate) fn ended(&mut self) -> usize {
        self.replicas.iter_mut().filter_map(|replica| (!replica.is_running()).then_some(())).count()
    }

    /// The replica with that process id.
    pub(crate) fn replica(&mut self, pid: u32) -> Option<&mut Leashed> {
        self.replicas.iter_mut().find(|replica| replica.pid() == pid)
    }

    /// Kills all of them at once.
    pub(crate) fn kill(&mut self) {
        self.replicas.clear();
    }

    /// What they were told.
    pub(crate) fn load(&self) -> Load {
        self.load
    }

    /// All lines so far, in the order of time.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(self.book()).unwrap_or_default();
        let mut lines: Vec<Line> = text.lines().filter_map(Line::parse).collect();
        lines.sort_by_key(|line| line.at);
        lines
    }

    /// The beginnings of bodies so far, in the order of time.
    pub(crate) fn begun(&self) -> Vec<Line> {
        self.lines().into_iter().filter(|line| line.what == What::Began).collect()
    }

    /// The last words that they have written to their log.
    pub(crate) fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let error = log.lines().rev().find(|line| line.starts_with("Error: "));
        error.or_else(|| log.lines().next_back()).unwrap_or_default().chars().take(200).collect()
    }

    fn book(&self) -> PathBuf {
        self.home.path().join("book")
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("log")
    }
}

/// Asks again and again, until there is an answer or that time has passed.
pub(crate) fn until<T>(within: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + within;
    loop {
        let answer = ask();
        if answer.is_some() || Instant::now() >= deadline {
            return answer;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
