//! One of the order service's programs, as a process of the demo.

use anyhow::{Context, Result, bail, ensure};
use hourhand_testkit::{Leash, Leashed, Signal};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What a program says as soon as it can be called.
const LISTENS: &str = "listening on ";

/// How long a program may take to end once it was asked to. It lets requests finish and a run stop where it is.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// Variables by which a person's environment would have a say in what the demo's processes do.
const FOREIGN: [&str; 6] = ["DATABASE_URL", "FEED_", "ORDER_SYNC_", "SENTRY_", "PG", "RUST_LOG"];

/// Whether a process is there, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Up,
    /// It was asked to end, and has ended.
    Stopped,
    /// By `kill -9`.
    Killed,
    /// Nobody asked it to, that we know of.
    Gone,
}

/// A program that serves HTTP on a port of its own choice, and ends with us.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) name: String,
    leashed: Leashed,
    state: State,
    url: Option<String>,
}

impl Process {
    /// Starts it. What it says goes to a file in `logs`, a directory that goes with us as well.
    pub(crate) fn start(name: &str, command: &mut Command, logs: &Path) -> Result<Self> {
        leave_foreign_out(command);
        command.env("RUST_LOG", "info");
        let leash = Leash::new(logs.join(format!("{name}.log"))).litter(logs);
        let leashed = leash.spawn(command)?;
        Ok(Self { name: name.to_owned(), leashed, state: State::Up, url: None })
    }

    /// Where it can be called, once it says so.
    pub(crate) fn url(&mut self) -> Option<&str> {
        if self.url.is_none() {
            let log = self.log();
            self.url = log.lines().find_map(|line| line.strip_prefix(LISTENS)).map(str::to_owned);
        }
        self.url.as_deref()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.leashed.pid()
    }

    /// Looks at it: one that ought to be up may be gone.
    pub(crate) fn state(&mut self) -> State {
        if self.state == State::Up && !self.leashed.is_running() {
            self.state = State::Gone;
        }
        self.state
    }

    /// Fails if it has ended by itself.
    pub(crate) fn ensure_up(&mut self) -> Result<()> {
        if self.state() != State::Gone {
            return Ok(());
        }
        let code = self.leashed.wait(Duration::ZERO).ok().flatten().and_then(|status| status.code());
        bail!("{} has ended by itself, with code {}", self.name, code.map_or("?".to_owned(), |code| code.to_string()))
    }

    /// Asks it to end, as a deploy does, without waiting for it.
    pub(crate) fn ask_to_end(&mut self) {
        if self.state() == State::Up {
            self.leashed.signal(Signal::TERM);
            self.state = State::Stopped;
        }
    }

    /// Waits for the end of one that was asked to, which has to be a good one.
    pub(crate) fn await_end(&mut self) -> Result<()> {
        let ended = self.leashed.wait(STOP_WITHIN)?;
        let status = ended.with_context(|| format!("{} has not ended {STOP_WITHIN:?} after SIGTERM", self.name))?;
        ensure!(status.success(), "{} ended with {status} after SIGTERM", self.name);
        Ok(())
    }

    /// Waits so long at most for the end of one that was asked to, and kills it then.
    pub(crate) fn end_until(&mut self, deadline: Instant) {
        if matches!(self.leashed.wait(deadline.saturating_duration_since(Instant::now())), Ok(Some(_))) {
            return;
        }
        self.leashed.kill();
    }

    /// Stops it in mid-air: alive, holding everything, doing nothing.
    pub(crate) fn freeze(&mut self) {
        self.leashed.freeze();
    }

    pub(crate) fn thaw(&mut self) {
        self.leashed.thaw();
    }

    /// `kill -9`
    pub(crate) fn kill(&mut self) {
        self.leashed.kill();
        self.state = State::Killed;
    }

    /// All that it has said.
    pub(crate) fn log(&self) -> String {
        fs::read(self.leashed.log()).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
    }
}

/// Keeps out of the command's environment whatever would have a say in what it does, but for what was set on purpose.
pub(crate) fn leave_foreign_out(command: &mut Command) {
    for (variable, _) in std::env::vars_os() {
        let ours = command.get_envs().any(|(set, _)| set == variable);
        let text = variable.to_string_lossy().to_uppercase();
        if !ours && (text.ends_with("_PROXY") || FOREIGN.iter().any(|foreign| text.starts_with(foreign))) {
            command.env_remove(variable);
        }
    }
}
