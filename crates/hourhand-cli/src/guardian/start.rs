//! The last step to the command: a process that sets on itself what only the process itself can set, and becomes the command.
//!
//! The death signal is lost by `fork` and kept by `exec`, so the guardian can't set it for its child. This step can: it takes the
//! streams, asks to be killed with its parent, joins its process group, and executes the command in its own place. If that
//! fails, it says so over the socket; if not, the socket closes without a word.

use std::ffi::OsString;
use std::io::{Result, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};

use rustix::process::{Pid, setpgid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};

use super::handover::{Streams, give, take};
use super::this_program;
use super::words::Report;

/// The hidden word that makes this program become a command.
pub(crate) const COMMAND: &str = "__command";

/// Starts a command: the child, and the socket over which it says why it could not become the command.
///
/// # Errors
///
/// No process is to be had.
pub(super) fn start(
    words: &[OsString],
    terminal: Option<i32>,
    streams: Streams<std::os::fd::OwnedFd>,
) -> Result<(Child, UnixStream)> {
    use std::os::fd::{AsFd as _, OwnedFd};

    let (here, there) = UnixStream::pair()?;
    let child = Command::new(this_program()?)
        .arg0("hourhand")
        .arg(COMMAND)
        .arg(std::process::id().to_string())
        .arg(terminal.unwrap_or(0).to_string())
        .args(words)
        .stdin(Stdio::from(OwnedFd::from(there)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    give(&here, streams.each_ref().map(|stream| stream.as_fd()))?;
    Ok((child, here))
}

/// Becomes the command, or says why not.
pub(super) fn main(args: &[OsString]) -> ExitCode {
    let Ok(socket) = rustix::io::fcntl_dupfd_cloexec(stdin(), 3) else { return ExitCode::from(126) };
    let mut socket = UnixStream::from(socket);
    let error = match prepare(&socket, args) {
        Ok([program, rest @ ..]) => Command::new(program).args(rest).exec(),
        Ok([]) => rustix::io::Errno::INVAL.into(),
        Err(error) => error,
    };
    let code = error.raw_os_error().unwrap_or(0);
    // Whoever wanted to know may have gone.
    let _ = write!(socket, "{}", Report::Failed(code));
    ExitCode::from(126)
}

fn prepare<'a>(socket: &UnixStream, args: &'a [OsString]) -> Result<&'a [OsString]> {
    let number = |at: usize| args.get(at).and_then(|arg| arg.to_str()).and_then(|arg| arg.parse::<i32>().ok());
    let (Some(parent), Some(group)) = (number(0), number(1)) else { return Err(rustix::io::Errno::INVAL.into()) };
    die_with(parent)?;
    let streams = take(socket)?;
    setpgid(None, Pid::from_raw(group))?;
    let [input, output, error] = streams;
    dup2_stdin(input)?;
    dup2_stdout(output)?;
    dup2_stderr(error)?;
    Ok(&args[2..])
}

/// Asks the kernel to be killed when the parent ends; which it may have done already.
#[cfg(target_os = "linux")]
fn die_with(parent: i32) -> Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid().is_some_and(|now| now.as_raw_nonzero().get() == parent) {
        Ok(())
    } else {
        Err(rustix::io::Errno::SRCH.into())
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_parent: i32) -> Result<()> {
    Ok(())
}
