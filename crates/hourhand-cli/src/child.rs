//! Commands: started under a guardian, fed with the run's facts, heard to the end, ended when the run ends.
//!
//! What holds, and by whom:
//!
//! | what happens | who ends the command | within |
//! | --- | --- | --- |
//! | time-out, cancel, shutdown | the guardian, told by us | SIGTERM, `stop_grace`, SIGKILL |
//! | the lock is lost | the guardian, told by us | min(`stop_grace`, 4/5 of ttl/5) |
//! | we are killed | the guardian: its socket closes | 1 s at most |
//! | we are frozen, or the machine was suspended | the guardian: the deadline passes | 3/5 ttl after the last answered ping, and the grace |
//! | the guardian is killed | the kernel the command, we its descendants | at once |
//! | the command ends and leaves processes running | the guardian | 2 s at most |
//!
//! The job's own `stop_grace`, after which its task is aborted, has to be longer than the command's: see
//! [`Command::job_stop_grace`]. If the task is aborted all the same, the socket closes and the guardian kills.

mod cause;
mod ended;
mod environment;
mod output;
mod sink;
mod supervise;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hourhand::{Failure, Run};

use self::sink::Sink;

pub(crate) use self::cause::Cause;
pub(crate) use self::ended::Ended;
pub(crate) use self::environment::facts;
pub(crate) use self::output::{Kept, passed_through, written};
pub(crate) use self::sink::flush;
pub(crate) use self::supervise::supervise;

/// What the command wrote last may still be on its way when it has ended; a pipe that somebody keeps open is not waited for.
pub(crate) const DRAIN_MAX: Duration = Duration::from_secs(2);
/// Seeing how a command was killed comes after killing it, and after waiting for a guardian that does not answer.
const STOP_RESERVE: Duration = Duration::from_secs(3);

/// A command to be run for a job.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// The job, by whose name each line of the output is marked.
    pub(crate) job: String,
    /// Program and arguments; the program is looked for in `PATH`. No shell is involved.
    pub(crate) argv: Vec<OsString>,
    /// Added to our own environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Where it runs; else where we do.
    pub(crate) dir: Option<PathBuf>,
    /// Between SIGTERM and SIGKILL.
    pub(crate) stop_grace: Duration,
    /// How much of the end of its output is kept for history.
    pub(crate) output_bytes_max: usize,
}

impl Command {
    /// What the job is to have as its `stop_grace`: the command's own, and time to see it end.
    pub(crate) fn job_stop_grace(&self) -> Duration {
        self.stop_grace + STOP_RESERVE
    }
}

/// Runs a command as the body of a run: its output passes through line by line, marked with the job, and its end is kept.
///
/// # Errors
///
/// It could not be started, failed, was killed or was stopped: in words for history. Exit status 75 (EX_TEMPFAIL of sysexits.h) is
/// an outage that was to be expected.
pub(crate) async fn run(command: &Command, run: &Run) -> Result<(), Failure> {
    let kept = Kept::new(command.output_bytes_max, run.clone());
    let (outside, copies) = output::marked(&command.job, [Sink::Output, Sink::Error], Some(&kept))?;
    let (_, mut no_signals) = tokio::sync::mpsc::channel(1);
    let ended = supervise(command, Cause::run(run, true), outside, &mut no_signals).await?;
    copies.finish(DRAIN_MAX).await;
    ended.verdict(&kept)
}

/// Runs a command that tells somebody of a job's end. What it says goes where we speak: standard output is ours to keep clear.
///
/// # Errors
///
/// It could not be started, or ended otherwise than with exit status 0.
pub(crate) async fn run_hook(command: &Command, hook: &str, cause: Cause) -> Result<(), String> {
    let outside = output::marked(&format!("{} {hook}", command.job), [Sink::Error, Sink::Error], None);
    let (outside, copies) = outside.map_err(|error| error.to_string())?;
    let (_, mut no_signals) = tokio::sync::mpsc::channel(1);
    let ended = supervise(command, cause, outside, &mut no_signals).await.map_err(|failure| failure.to_string())?;
    copies.finish(DRAIN_MAX).await;
    let program = command.argv.first().map(|program| program.display().to_string()).unwrap_or_default();
    match ended {
        Ended::With(status) if status.code() == 0 => Ok(()),
        Ended::With(status) => Err(format!("{program}: {status}")),
        Ended::NotStarted { why, .. } => Err(why),
        Ended::GuardianKilled => Err(format!("{program}: its guardian was killed")),
    }
}
