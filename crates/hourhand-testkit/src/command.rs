//! Running a command that must not hang: bounded in time, its words kept for the error.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often an end is looked for. There is no portable wait with a time-out, and nobody notices 5 ms.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Runs a command to its end and returns what it printed, or an error with the last of what it complained about.
///
/// It has a process group of its own, which is killed when `within` has passed: a package client that hangs on a network
/// without an answer takes its helpers with it.
pub(crate) fn output(command: &mut Command, within: Duration) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(err.try_clone()?).process_group(0);
    let mut child = command.spawn().with_context(|| format!("could not run {name}"))?;
    let Some(status) = wait(&mut child, within)? else {
        kill_process_group(Pid::from_child(&child), Signal::KILL).ok();
        child.wait().ok();
        bail!("{name} was ended, as it took longer than {within:?}");
    };
    if !status.success() {
        bail!("{name} failed ({status}): {}", last_lines(&text(&mut err)?, 3));
    }
    text(&mut out)
}

/// Waits for a child's end; `None` if it has not come in time.
pub(crate) fn wait(child: &mut Child, within: Duration) -> Result<Option<ExitStatus>> {
    let deadline = Instant::now() + within;
    loop {
        let ended = child.try_wait()?;
        if ended.is_some() || Instant::now() >= deadline {
            return Ok(ended);
        }
        sleep(POLL_INTERVAL);
    }
}

/// The last lines that are not empty, as one.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join(" / ")
}

fn text(file: &mut std::fs::File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_answers_what_it_printed() {
        assert_eq!(output(Command::new("echo").arg("so"), Duration::from_secs(10)).unwrap(), "so\n");
    }

    #[test]
    fn a_failing_command_is_quoted() {
        let error = output(Command::new("sh").args(["-c", "echo no such thing >&2; exit 3"]), Duration::from_secs(10));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("no such thing") && error.contains('3'), "{error}");
    }

    #[test]
    fn a_hanging_command_is_ended_with_what_it_started() {
        let begun = Instant::now();
        let error = output(Command::new("sh").args(["-c", "sleep 60 & wait"]), Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("took longer"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
