//! The command as the body of its job.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hourhand::{Failure, Run};
use rustix::process::getpgrp;
use tokio::sync::mpsc;

use super::signals::Signals;
use crate::child::{Cause, Command, DRAIN_MAX, Ended, Kept, passed_through, supervise};
use crate::guardian::machine_clock;
use crate::guardian::words::{Status, signal_name};

/// What history keeps of the output.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// The command of one `exec`, and what became of it.
pub(super) struct Wrapped {
    command: Command,
    /// The process group that has the terminal, if there is one.
    terminal: Option<i32>,
    keeps_output: bool,
    to_command: mpsc::Sender<i32>,
    signals: tokio::sync::Mutex<mpsc::Receiver<i32>>,
    started: AtomicBool,
    lost: AtomicBool,
    /// The last signal passed on that means the end.
    told_to_end: AtomicI32,
    ended: Mutex<Option<Ended>>,
}

impl Wrapped {
    pub(super) fn new(argv: Vec<OsString>, job: String, stop_grace: Duration) -> std::io::Result<(Wrapped, Signals)> {
        let (to_command, signals) = mpsc::channel(16);
        let command = Command { job, argv, env: Vec::new(), dir: None, stop_grace, output_bytes_max: OUTPUT_BYTES_MAX };
        let wrapped = Wrapped {
            command,
            terminal: terminal(),
            keeps_output: true,
            to_command,
            signals: tokio::sync::Mutex::new(signals),
            started: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            told_to_end: AtomicI32::new(0),
            ended: Mutex::new(None),
        };
        Ok((wrapped, Signals::catch()?))
    }

    /// Without history there is nothing to keep it for.
    pub(super) fn without_output(self, without: bool) -> Wrapped {
        Wrapped { keeps_output: !without, ..self }
    }

    pub(super) fn job_stop_grace(&self) -> Duration {
        self.command.job_stop_grace()
    }

    /// Runs the command.
    pub(super) async fn run(&self, run: Run) -> Result<(), Failure> {
        self.started.store(true, Ordering::SeqCst);
        let kept = Kept::new(self.command.output_bytes_max, run.clone());
        let (outside, copies) = passed_through(self.terminal, Some(&kept).filter(|_| self.keeps_output))?;
        let mut signals = self.signals.lock().await;
        let ended = supervise(&self.command, Cause::run(&run, self.keeps_output), outside, &mut signals).await?;
        self.lost.store(machine_clock() >= run.trust().borrow().until, Ordering::SeqCst);
        copies.finish(DRAIN_MAX).await;
        let verdict = self.verdict(&ended, &kept);
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
        verdict
    }

    /// A command that was told to end and says that all is well has not done its work.
    fn verdict(&self, ended: &Ended, kept: &Kept) -> Result<(), Failure> {
        let told = self.told_to_end.load(Ordering::SeqCst);
        if told != 0 && *ended == Ended::With(Status::Exited(0)) {
            let name = signal_name(told).unwrap_or("a signal");
            return Err(Failure::transient(format!("told to end by {name}, exit status 0")));
        }
        ended.verdict(kept)
    }

    /// Passes a signal on to the command. False: it has not been started.
    pub(super) async fn pass_on(&self, signal: i32) -> bool {
        use rustix::process::Signal;
        if !self.started.load(Ordering::SeqCst) {
            return false;
        }
        let is = |wanted: &[Signal]| wanted.iter().any(|wanted| wanted.as_raw() == signal);
        // The terminal has sent these to the command already.
        if self.terminal.is_some() && is(&[Signal::INT, Signal::QUIT]) {
            return true;
        }
        if is(&[Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM]) {
            self.told_to_end.store(signal, Ordering::SeqCst);
        }
        // It may have ended.
        let _ = self.to_command.send(signal).await;
        true
    }

    /// The trust in the lock had ended when the command had.
    pub(super) fn lost_its_lock(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }

    pub(super) fn why_not_started(&self) -> Option<String> {
        match self.ended.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(Ended::NotStarted { why, .. }) => Some(why.clone()),
            Some(Ended::With(_) | Ended::GuardianKilled) | None => None,
        }
    }

    /// The exit status, as far as it is the command's own.
    pub(super) fn code(&self) -> i32 {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(1, Ended::code)
    }
}

/// The process group to be in if there is a terminal: our own, so that whoever started us has one job to stop and to bring back.
fn terminal() -> Option<i32> {
    let there = std::fs::File::open("/dev/tty").is_ok();
    there.then(|| getpgrp().as_raw_nonzero().get())
}
