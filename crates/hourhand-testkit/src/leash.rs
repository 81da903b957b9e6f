//! Processes that end with their owner.
//!
//! A test that is killed with `kill -9` runs no destructor, and what it had started would go on: a server on a port, a
//! node that holds locks. The kernel's own remedy (`PR_SET_PDEATHSIG`) needs unsafe code and is Linux's alone. So between
//! owner and program stands a small shell (`leash.sh`), which reads a pipe that the owner holds open: when the pipe ends,
//! the owner has ended, however that came about.
//!
//! ```text
//! owner ──holds──▶ pipe ──read by──▶ sh ──parent of──▶ program
//!   └──────────signals, by the process id that sh reported──────┘
//! ```
//!
//! - The owner ends: sh ends the program, removes its directory and ends.
//! - The program ends: sh ends with the program's exit code, by which the owner learns of it.
//! - sh is killed: the program goes on until the owner ends it; only the protection is lost.
//!
//! Both have a process group of their own, so that Ctrl-C in a terminal reaches the owner alone, which then ends them in
//! its own order.

use crate::account::Account;
use crate::command::wait;
use crate::processes;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How a program is to be held: where it writes, who it runs as, how it is ended.
#[derive(Debug)]
pub struct Leash<'a> {
    log: PathBuf,
    signal: Signal,
    account: Option<&'a Account>,
    litter: Option<PathBuf>,
}

impl<'a> Leash<'a> {
    /// The program's standard output and standard error are both added to this file.
    pub fn new(log: impl Into<PathBuf>) -> Self {
        Self { log: log.into(), signal: Signal::TERM, account: None, litter: None }
    }

    /// The signal that ends the program when its owner is gone; `TERM` unless said otherwise. `KILL` follows after 5 s.
    pub fn signal(mut self, signal: Signal) -> Self {
        self.signal = signal;
        self
    }

    /// Runs it as another user, which only root can do.
    pub fn account(mut self, account: Option<&'a Account>) -> Self {
        self.account = account;
        self
    }

    /// A directory to remove when the owner has gone without doing so.
    pub fn litter(mut self, directory: impl Into<PathBuf>) -> Self {
        self.litter = Some(directory.into());
        self
    }

    /// Starts the program. Of the command its program, arguments, directory and changed variables are used.
    ///
    /// # Errors
    ///
    /// If the shell between can't be started. A program that is not there is found out later, by its log and its end.
    pub fn spawn(&self, program: &Command) -> Result<Leashed> {
        let mut sh = Command::new("/bin/sh");
        sh.args(["-c", include_str!("leash.sh"), "leash"]);
        sh.arg(&self.log).arg(self.signal.as_raw().to_string()).arg(self.litter.as_deref().unwrap_or(Path::new("")));
        sh.arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => sh.env(name, value),
                None => sh.env_remove(name),
            };
        }
        program.get_current_dir().map(|directory| sh.current_dir(directory));
        self.account.map(|account| account.apply(&mut sh));
        sh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);

        let name = program.get_program().to_string_lossy().into_owned();
        let mut watchdog = sh.spawn().with_context(|| format!("could not start {name}"))?;
        let (leash, said) = watchdog.stdin.take().zip(watchdog.stdout.take()).context("the shell has no pipes")?;
        let mut pid = String::new();
        BufReader::new(said).read_line(&mut pid)?;
        let pid = pid.trim().parse().ok().and_then(Pid::from_raw);
        let Some(pid) = pid else {
            watchdog.wait()?;
            bail!("could not start {name}: the shell that starts it ended without a process id");
        };
        Ok(Leashed { name, pid, watchdog, log: self.log.clone(), _leash: leash })
    }
}

/// A running program that ends with us: when this is dropped, and when we are killed.
///
/// Dropping it ends the program at once with `KILL`; [`Leashed::stop`] is the polite way.
#[derive(Debug)]
pub struct Leashed {
    name: String,
    pid: Pid,
    watchdog: Child,
    log: PathBuf,
    /// Never written. Not left in `watchdog`, which would close it when we begin to wait for the end, and so tell the
    /// shell that we have gone.
    _leash: ChildStdin,
}

impl Leashed {
    /// The program's own process id.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The file that the program writes to.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Whether the program has not ended yet.
    pub fn is_running(&mut self) -> bool {
        matches!(self.watchdog.try_wait(), Ok(None))
    }

    /// Sends a signal to the program alone. One that has ended gets none: its id may be somebody else's by now.
    pub fn signal(&mut self, signal: Signal) {
        if self.is_running() {
            kill_process(self.pid, signal).ok();
        }
    }

    /// Waits for the program's end; `None` if it has not come in time. One ended by a signal exits with 128 + signal.
    ///
    /// # Errors
    ///
    /// If the system refuses to say.
    pub fn wait(&mut self, within: Duration) -> Result<Option<ExitStatus>> {
        wait(&mut self.watchdog, within)
    }

    /// Asks the program to end (`TERM`, or what `signal` says) and kills it if it has not within that time.
    ///
    /// # Errors
    ///
    /// If it had to be killed.
    pub fn stop(&mut self, signal: Signal, within: Duration) -> Result<()> {
        self.signal(signal);
        if self.wait(within)?.is_none() {
            self.kill();
            bail!("{} did not end within {within:?} of signal {}, and was killed", self.name, signal.as_raw());
        }
        Ok(())
    }

    /// `kill -9`, to the program and its children, and waits until they are gone.
    pub fn kill(&mut self) {
        if self.is_running() {
            processes::kill(self.pid);
            self.watchdog.wait().ok();
        }
    }

    /// Stops the program and its children in mid-air (`SIGSTOP`): alive, holding everything, answering nothing.
    pub fn freeze(&mut self) {
        if self.is_running() {
            processes::freeze(self.pid);
        }
    }

    /// Wakes what [`Leashed::freeze`] stopped.
    pub fn thaw(&mut self) {
        if self.is_running() {
            processes::thaw(self.pid);
        }
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        self.kill();
    }
}
