//! A file into which the bodies of several processes write what they do, each line with the time since the machine started: one
//! clock for all processes, which nothing steps and no freezing stops.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hourhand_testkit::eventually;

/// The file.
#[derive(Clone, Debug)]
pub struct Book(PathBuf);

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub at: Duration,
    pub node: String,
    pub what: String,
    pub epoch: i64,
}

/// Writes `ended` when dropped: a body that is aborted ends like any other.
pub struct Ends(Book, String, i64);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.write(&self.1, "ended", self.2);
    }
}

/// Time since the machine started.
pub fn boot_time() -> Duration {
    Duration::try_from(rustix::time::clock_gettime(rustix::time::ClockId::Boottime)).unwrap()
}

impl Book {
    pub fn at(path: &Path) -> Book {
        Book(path.to_owned())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A line is one write, so that processes do not write into each other's.
    pub fn write(&self, node: &str, what: &str, epoch: i64) {
        let line = format!("{} {node} {what} {epoch}\n", boot_time().as_nanos());
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }

    /// Notes that a body has begun.
    pub fn begin(&self, node: &str, epoch: i64) -> Ends {
        self.write(node, "began", epoch);
        Ends(self.clone(), node.to_owned(), epoch)
    }

    pub fn lines(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(parse).collect()
    }

    /// The lines of one kind, of one node.
    pub fn of(&self, node: &str, what: &str) -> Vec<Line> {
        self.lines().into_iter().filter(|line| line.node == node && line.what == what).collect()
    }

    /// Waits for the n-th line (from 1) of one kind, of one node.
    pub async fn until(&self, within: Duration, node: &str, what: &str, n: usize) -> Line {
        eventually(within, async || {
            self.of(node, what)
                .get(n - 1)
                .cloned()
                .ok_or_else(|| format!("no {what} {n} of {node} in {:#?}", self.lines()))
        })
        .await
    }

    /// The most bodies that were ever under way at once.
    pub fn most_at_once(&self) -> usize {
        let mut lines = self.lines();
        lines.sort_by_key(|line| line.at);
        let (mut now, mut most) = (0_usize, 0);
        for line in &lines {
            match line.what.as_str() {
                "began" => now += 1,
                "ended" => now -= 1,
                _ => {}
            }
            most = most.max(now);
        }
        most
    }
}

fn parse(line: &str) -> Line {
    let words: Vec<&str> = line.split(' ').collect();
    let [at, node, what, epoch] = words[..] else { panic!("not a line of a book: {line:?}") };
    let at = Duration::from_nanos(at.parse().unwrap());
    Line { at, node: node.to_owned(), what: what.to_owned(), epoch: epoch.parse().unwrap() }
}
