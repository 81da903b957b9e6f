//! Programs that run in the foreground, and Ctrl-C.
//!
//! Ctrl-C in a terminal goes to us and to them. They end in their own way, and we wait for that instead of dying at once:
//! so the prompt comes back when nothing is left. Sent to us alone, the other signals that end programs are passed on.

use anyhow::{Context, Result, bail, ensure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::sleep;
use std::time::Duration;

/// Short enough for a person, long enough to cost nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// From the first call on, these signals no longer end us. Returns the one that came last, or 0.
pub(crate) fn signal_received() -> i32 {
    static RECEIVED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
    let received = RECEIVED.get_or_init(|| {
        let received = Arc::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or_default();
            // Refused for signals that nobody can catch, which these are not.
            signal_hook::flag::register_usize(signal, Arc::clone(&received), number).ok();
        }
        received
    });
    i32::try_from(received.load(Ordering::Relaxed)).unwrap_or_default()
}

/// Runs a program to its end.
///
/// # Errors
///
/// If it can't be run, fails, or we were told to end.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    ensure!(signal_received() == 0, "ended by a signal");
    let mut child = command.spawn().with_context(|| format!("could not run {name}"))?;
    let mut passed_on = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let signal = signal_received();
        if signal != passed_on && signal != SIGINT {
            let target = rustix::process::Pid::from_child(&child);
            rustix::process::Signal::from_named_raw(signal).map(|signal| rustix::process::kill_process(target, signal));
        }
        passed_on = signal;
        sleep(POLL_INTERVAL);
    };
    match signal_received() {
        0 if status.success() => Ok(()),
        0 => bail!("{} failed ({status})", described(command)),
        _ => bail!("ended by a signal"),
    }
}

/// Waits until we are told to end, or it is so.
pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    while signal_received() == 0 && !is_so() {
        sleep(POLL_INTERVAL);
    }
}

/// The program and its first arguments, which say what it was doing.
fn described(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args().take(3));
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_said_with_what_it_was_to_do() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert_eq!(error, "sh -c exit 3 failed (exit status: 3)");
    }
}
