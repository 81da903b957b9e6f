//! Life as the first process of a container.
//!
//! Process 1 is special: signals it does not handle are dropped, and it is the parent of every orphan, which stays as a zombie until
//! it is reaped. Reaping whatever comes would take the ends of our own children from those who wait for them. So process 1 does
//! nothing else: it starts this program once more, passes every signal on to it, reaps orphans, and ends as it ends. On a
//! terminal (`docker run -it`) the second process gets it.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, ExitStatus};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::guardian::this_program;

/// What is passed on.
const PASSED_ON: [i32; 9] = [SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH];

/// If this is process 1: is that, until the other one ends. `None`: it is not, or the system will not have it.
pub(crate) fn if_first() -> Option<ExitCode> {
    if getpid() != Pid::INIT {
        return None;
    }
    match be_first() {
        Ok(status) => Some(ExitCode::from(code(status))),
        Err(error) => {
            eprintln!("hourhand: as the first process: {error}; going on alone, orphans are not reaped");
            None
        }
    }
}

fn be_first() -> std::io::Result<ExitStatus> {
    // Before there is a child whose end could be missed.
    let mut signals = Signals::new(PASSED_ON.iter().chain([&SIGCHLD]))?;
    let child = start()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| std::io::Error::other("no id"))?;
    hand_over_terminal(pid);
    for signal in signals.forever() {
        if signal == SIGCHLD {
            if let Some(status) = reap(pid) {
                return Ok(status);
            }
        } else if let Some(signal) = Signal::from_named_raw(signal) {
            // Not reaped yet, so the id is still its own.
            let _ = kill_process(pid, signal);
        }
    }
    Err(std::io::Error::other("no signals any more"))
}

/// This program once more, in a process group of its own: what a terminal sends to a group reaches it once.
fn start() -> std::io::Result<Child> {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_else(|| "hourhand".into());
    Command::new(this_program()?).arg0(name).args(words).process_group(0).spawn()
}

fn hand_over_terminal(child: Pid) {
    if let Ok(terminal) = std::fs::File::options().read(true).write(true).open("/dev/tty") {
        // We are in front: whoever is may say who comes next.
        let _ = rustix::termios::tcsetpgrp(&terminal, child);
    }
}

/// Reaps all that has ended; the answer is the end of the one that counts.
fn reap(counts: Pid) -> Option<ExitStatus> {
    let mut ended = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == counts => ended = Some(ExitStatus::from_raw(status.as_raw())),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return ended,
        }
    }
}

/// As a shell says it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}
