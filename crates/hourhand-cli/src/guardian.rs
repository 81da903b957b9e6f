//! The guardian: a process of ours between us and a command, by which the command ends whenever we do.
//!
//! A command runs under a lock that this process holds. If this process is killed, the server frees the lock at once; if it is frozen
//! or cut off, the server frees it after a while; and another host starts the command. By then ours must have ended, though
//! nobody here is left to end it. So the same program, called with a hidden word, stands between:
//!
//! ```text
//! sidecar ──socket: trust, stop, signals──▶ guardian ──parent of──▶ command ──▶ whatever it starts
//!    ◀───── started, ended, left behind ─────┘  └─ adopts what its descendants leave (subreaper)
//! ```
//!
//! - The socket closes: the sidecar has ended, however that came about. The command and all its descendants are ended at once.
//! - The trust deadline passes ([`hourhand::Run::trust`], on a clock that all processes of the machine share): the sidecar is frozen
//!   or cut off. The same. A deadline that has passed is never taken back.
//! - `stop`: time-out, cancel, shutdown. SIGTERM, the grace, SIGKILL.
//! - The command ends: what it has left running is ended too, since nothing of a run may go on without its lock; then the
//!   guardian ends.
//!
//! *All its descendants*: who leaves its process group or session, or forks twice, becomes the guardian's child when its parent ends.
//! So the guardian goes on, a walk over `/proc` at a time, until it has no child any more. Signals go to a process id only while that
//! can't be anybody else's: to the guardian's own children, whose ids are kept for it until it reaps them, and through a pidfd.
//!
//! *The guardian itself is killed* (`kill -9`; it handles everything else): the command dies with it (`PR_SET_PDEATHSIG`, which
//! follows the parent's thread: the guardian has only one). What the command had started is then ended by the sidecar, which finds it
//! by its session and by the run in its environment ([`family`]). Killed both at once, only the command itself is sure to
//! end. A frozen guardian is noticed when it is told to stop, and killed.
//!
//! *Elsewhere than on Linux* there are no subreaper, death signal, pidfd and `/proc`: the guardian ends the command's process
//! group, and what has left it goes on.

pub(crate) mod family;
pub(crate) mod handover;
mod start;
mod watch;
pub(crate) mod words;

use std::ffi::OsString;
use std::num::ParseIntError;
use std::process::ExitCode;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub(crate) use self::start::COMMAND;

/// The hidden word that makes this program a guardian.
pub(crate) const GUARDIAN: &str = "__guardian";

/// What protection this system lacks; said once by whoever starts commands for a while.
#[cfg(not(target_os = "linux"))]
pub(crate) const LACKS: Option<&str> = Some(
    "on this system a command's descendants are ended with it only as far as they stay in its process group, and a guardian that is \
     killed leaves its command running",
);
/// Nothing.
#[cfg(target_os = "linux")]
pub(crate) const LACKS: Option<&str> = None;

/// What a guardian is told when it is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Brief {
    /// The process group that has the terminal, which the command joins. `None`: a session of its own.
    pub(crate) terminal: Option<i32>,
    /// Between SIGTERM and SIGKILL.
    pub(crate) stop_grace: Duration,
    /// The same, once the trust has ended.
    pub(crate) lost_grace: Duration,
    /// The trust deadline, on the machine's clock.
    pub(crate) until: Duration,
}

impl Brief {
    /// As arguments.
    pub(crate) fn to_args(self) -> [String; 4] {
        let terminal = self.terminal.unwrap_or(0).to_string();
        let lengths = [self.stop_grace, self.lost_grace].map(|length| length.as_millis().to_string());
        let [stop_grace, lost_grace] = lengths;
        [terminal, stop_grace, lost_grace, nanos(self.until).to_string()]
    }

    /// From arguments.
    ///
    /// # Errors
    ///
    /// They are not those of [`Brief::to_args`].
    fn parse(args: &[OsString]) -> Result<Brief, String> {
        let text =
            |at: usize| args.get(at).and_then(|arg| arg.to_str()).ok_or_else(|| format!("argument {at} is missing"));
        let number = |at: usize| text(at)?.parse().map_err(|error: ParseIntError| format!("argument {at}: {error}"));
        let terminal: i32 = text(0)?.parse().map_err(|error: ParseIntError| format!("argument 0: {error}"))?;
        Ok(Brief {
            terminal: Some(terminal).filter(|group| *group > 0),
            stop_grace: Duration::from_millis(number(1)?),
            lost_grace: Duration::from_millis(number(2)?),
            until: Duration::from_nanos(number(3)?),
        })
    }
}

/// A duration in whole nanoseconds; for ever is 584 years.
pub(crate) fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// The clock on which trust ends, the same in all processes of the machine and the same as the library's.
pub(crate) fn machine_clock() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    Duration::try_from(clock_gettime(clock)).unwrap_or(Duration::ZERO)
}

/// This program, for starting it again: also after its file has been replaced by a newer one.
pub(crate) fn this_program() -> std::io::Result<std::path::PathBuf> {
    let kept = std::path::PathBuf::from("/proc/self/exe");
    if kept.exists() { Ok(kept) } else { std::env::current_exe() }
}

/// The signals that whoever started us wants ignored (`nohup`): a handler of ours would take that from the command. None where that
/// can't be read.
pub(crate) fn signals_ignored() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    (1..=64).filter(|signal| mask.unwrap_or(0) >> (signal - 1) & 1 == 1).collect()
}

/// If this process was started with one of the hidden words: does what it says. The first thing in `main`.
pub(crate) fn if_called() -> Option<ExitCode> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let word = args.get(1)?.to_str()?;
    match word {
        GUARDIAN => Some(watch::main(&args[2..])),
        COMMAND => Some(start::main(&args[2..])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_is_read_as_it_was_written() {
        let brief = Brief {
            terminal: Some(77),
            stop_grace: Duration::from_secs(10),
            lost_grace: Duration::from_millis(800),
            until: Duration::from_nanos(123_456_789_012),
        };
        for brief in [brief, Brief { terminal: None, ..brief }] {
            let args: Vec<OsString> = brief.to_args().into_iter().map(OsString::from).collect();
            assert_eq!(Brief::parse(&args), Ok(brief));
        }
        assert!(Brief::parse(&[]).is_err());
    }
}
