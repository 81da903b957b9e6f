//! What the demo plays on: a database, the feed, and the nodes, all of which end with it.

use super::book::Book;
use super::feed::Feed;
use super::place::Place;
use super::process::{Process, State, leave_foreign_out};
use super::wait::{Look, POLL_INTERVAL, SOON};
use crate::cargo::{BINARIES, binaries};
use crate::foreground::signal_received;
use anyhow::{Context, Result, bail, ensure};
use hourhand_testkit::private_directory;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Compressed time: this stands for an hour. Longer than a usual sync of two seconds, as an hour is.
pub(crate) const EVERY: Duration = Duration::from_secs(5);

/// And this for the 90 s that a process leaves to its health checks.
pub(crate) const START_DELAY: Duration = Duration::from_secs(5);

/// Both sides of the feed's terms: one call a second, and 5 s of rest after more than 50 rows.
const TERMS: [&str; 6] = ["--feed-interval", "1s", "--feed-large-rows", "50", "--feed-rest", "5s"];

/// Pages of 100, as slow as the mission says, changing all the time; some changes show up to 8 s late.
const FEED: [&str; 10] = [
    "--page-size",
    "100",
    "--answer-min",
    "200ms",
    "--answer-max",
    "1s",
    "--change-every",
    "500ms",
    "--late-max",
    "8s",
];

/// Made-up orders to begin with, unless there is a file.
const BACKLOG: [&str; 2] = ["--backlog", "200"];

/// A lookback that is longer than a change can be late.
const JOB: [&str; 6] = ["--lookback", "12s", "--call-max", "3s", "--patience", "1m"];

/// How long everybody is waited for at the end, all in all.
const END_WITHIN: Duration = Duration::from_secs(3);

/// Lines of each log that are shown when something went wrong.
const LOG_LINES_SHOWN: usize = 12;

/// The stage. Its parts end in the order in which they stand here.
pub(crate) struct Stage {
    pub(crate) nodes: Vec<Process>,
    pub(crate) feed: Feed,
    pub(crate) book: Book,
    pub(crate) place: Place,
    binaries: PathBuf,
    logs: TempDir,
}

impl Stage {
    /// Builds the order service, starts a database and the feed, and makes the tables.
    pub(crate) fn set(orders: Option<&Path>) -> Result<Self> {
        let binaries = binaries()?;
        let missing = BINARIES.iter().find(|name| !binaries.join(name).is_file());
        ensure!(missing.is_none(), "{} has no {}", binaries.display(), missing.unwrap_or(&""));
        let logs = private_directory(None)?;
        let mut feed = Command::new(binaries.join("order-feed"));
        feed.args(["--listen", "127.0.0.1:0"]).args(TERMS).args(FEED);
        match orders {
            Some(file) => feed.arg("--orders").arg(file),
            None => feed.args(BACKLOG),
        };
        // First: a file that can't be taken is found out before a server is fetched.
        let feed = start_feed(&mut feed, logs.path())?;
        let place = Place::find()?;
        migrate(&binaries, &place)?;
        let book = Book::open(&place.owner_url)?;
        Ok(Self { nodes: Vec::new(), feed, book, place, binaries, logs })
    }

    /// Starts so many further nodes, which can be called then. Their places in `nodes`.
    pub(crate) fn start_nodes(&mut self, count: usize) -> Result<Vec<usize>> {
        let first = self.nodes.len();
        for number in first + 1..=first + count {
            let name = format!("node-{number}");
            let every = format!("every {}s", EVERY.as_secs());
            let delay = format!("{}s", START_DELAY.as_secs());
            let mut command = Command::new(self.binaries.join("order-sync"));
            command.args(["serve", "--listen", "127.0.0.1:0", "--node", &name]).args(TERMS).args(JOB);
            command.args(["--schedule", &every, "--start-delay", &delay]);
            command.env("DATABASE_URL", &self.place.service_url).env("FEED_URL", &self.feed.url);
            self.nodes.push(Process::start(&name, &mut command, self.logs.path())?);
        }
        let started: Vec<usize> = (first..first + count).collect();
        for node in &started {
            self.until("a node that can be called", SOON, |stage| {
                let node = &mut stage.nodes[*node];
                Ok(Look::of(node.url().map(drop), || format!("{} says nothing of that", node.name)))
            })?;
        }
        Ok(started)
    }

    /// Ends nodes by SIGTERM, all at once, and waits for their ends.
    pub(crate) fn stop_nodes(&mut self, nodes: &[usize]) -> Result<()> {
        nodes.iter().for_each(|node| self.nodes[*node].ask_to_end());
        nodes.iter().try_for_each(|node| self.nodes[*node].await_end())
    }

    /// The nodes that are up, by their places.
    pub(crate) fn up(&mut self) -> Vec<usize> {
        let nodes = self.nodes.iter_mut().enumerate();
        nodes.filter_map(|(place, node)| (node.state() == State::Up).then_some(place)).collect()
    }

    /// The place of the node of this name.
    pub(crate) fn node(&self, name: &str) -> Result<usize> {
        let found = self.nodes.iter().position(|node| node.name == name);
        found.with_context(|| format!("the database speaks of a node {name:?} that nobody started"))
    }

    /// Where that page of a node is.
    pub(crate) fn page(&mut self, node: usize, path: &str) -> Result<String> {
        let node = &mut self.nodes[node];
        let name = node.name.clone();
        node.url().map(|url| format!("{url}{path}")).with_context(|| format!("{name} can't be called"))
    }

    /// Looks again and again until it is so.
    ///
    /// # Errors
    ///
    /// It was not so in time: says what was seen last. Or somebody wants us to end, or a process has ended by itself.
    pub(crate) fn until<T>(
        &mut self,
        what: &str,
        within: Duration,
        mut look: impl FnMut(&mut Self) -> Result<Look<T>>,
    ) -> Result<T> {
        let deadline = Instant::now() + within;
        loop {
            if signal_received() != 0 {
                bail!("ended by a signal");
            }
            let waiting = || format!("waiting for {what}");
            self.ensure_up().with_context(waiting)?;
            match look(self).with_context(waiting)? {
                Look::So(seen) => return Ok(seen),
                Look::NotYet(seen) if Instant::now() >= deadline => {
                    bail!("waited {within:?} in vain for {what}; seen last: {seen}")
                }
                Look::NotYet(_) => sleep(POLL_INTERVAL),
            }
        }
    }

    fn ensure_up(&mut self) -> Result<()> {
        self.place.ensure_up()?;
        self.feed.process.ensure_up()?;
        self.nodes.iter_mut().try_for_each(Process::ensure_up)
    }

    /// The last of what everybody has said.
    pub(crate) fn last_words(&self) -> String {
        let processes = std::iter::once(&self.feed.process).chain(&self.nodes);
        let logs = processes.map(|process| (process.name.as_str(), process.log()));
        let logs = logs.chain(self.place.log().map(|log| ("PostgreSQL", log)));
        logs.map(|(name, log)| format!("── the last of {name}'s log\n{}\n", tail(&log))).collect()
    }

    /// Ends everything, but leaves the logs of the nodes and the feed where they are, and says where that is.
    pub(crate) fn end_but_keep_logs(mut self) -> PathBuf {
        self.logs.disable_cleanup(true);
        self.logs.path().to_path_buf()
    }
}

impl Drop for Stage {
    /// Politely, but only so long: a sync of all orders may go on for some seconds after it was asked to end.
    fn drop(&mut self) {
        let deadline = Instant::now() + END_WITHIN;
        self.nodes.iter_mut().for_each(Process::ask_to_end);
        self.nodes.iter_mut().for_each(|node| node.end_until(deadline));
        self.feed.process.ask_to_end();
        self.feed.process.end_until(deadline);
    }
}

fn start_feed(command: &mut Command, logs: &Path) -> Result<Feed> {
    let mut process = Process::start("order-feed", command, logs)?;
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(url) = process.url() {
            let url = url.to_owned();
            return Ok(Feed { process, url });
        }
        if process.state() == State::Gone || Instant::now() >= deadline || signal_received() != 0 {
            bail!("the feed does not start: {}", tail(&process.log()));
        }
        sleep(POLL_INTERVAL);
    }
}

fn migrate(binaries: &Path, place: &Place) -> Result<()> {
    let mut migrate = Command::new(binaries.join("order-sync"));
    leave_foreign_out(migrate.arg("migrate").env("DATABASE_URL", &place.service_url));
    let output = migrate.output().with_context(|| format!("could not run order-sync of {}", binaries.display()))?;
    if !output.status.success() {
        bail!("order-sync could not make its tables: {}", tail(&String::from_utf8_lossy(&output.stderr)));
    }
    Ok(())
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..].join("\n")
}
