//! A process and its children, seen through `/proc`: elsewhere there are no children to be seen.

use crate::command::POLL_INTERVAL;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a signal that can't be refused may take to show.
const SIGNAL_WITHIN: Duration = Duration::from_secs(5);

/// State and parent of a process.
fn stat(pid: Pid) -> Option<(char, i32)> {
    parse(&fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?)
}

/// Reads them from the line in `/proc/PID/stat`: after the name in brackets, which may itself hold blanks and brackets.
fn parse(line: &str) -> Option<(char, i32)> {
    let mut fields = line.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// The processes whose parent this one is.
///
/// PostgreSQL's backends lead process groups of their own, so a signal to the server's group does not reach them.
pub(crate) fn children(parent: Pid) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    let parent = parent.as_raw_nonzero().get();
    pids.filter(|pid| stat(*pid).is_some_and(|(_, found)| found == parent)).collect()
}

/// Stops a process, then its children. The order matters: a stopped parent makes no more of them.
pub(crate) fn freeze(parent: Pid) {
    kill_process(parent, Signal::STOP).ok();
    await_until(|| stat(parent).is_none_or(|(state, _)| state == 'T'));
    for child in children(parent) {
        kill_process(child, Signal::STOP).ok();
    }
}

/// Wakes the children, then the process.
pub(crate) fn thaw(parent: Pid) {
    for child in children(parent) {
        kill_process(child, Signal::CONT).ok();
    }
    kill_process(parent, Signal::CONT).ok();
}

/// `kill -9` to a process and its children, and waits until they are gone (or nothing but their names is left).
pub(crate) fn kill(parent: Pid) {
    freeze(parent);
    let mut family = children(parent);
    family.push(parent);
    for pid in &family {
        kill_process(*pid, Signal::KILL).ok();
    }
    await_until(|| family.iter().all(|pid| stat(*pid).is_none_or(|(state, _)| state == 'Z')));
}

fn await_until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + SIGNAL_WITHIN;
    while !is_so() && Instant::now() < deadline {
        sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_brackets_does_not_confuse() {
        assert_eq!(parse("7 (a (b) c) S 42 7 7 0"), Some(('S', 42)));
        assert_eq!(parse("nonsense"), None);
    }
}
