//! Who descends from whom, read from `/proc`; and signals that reach nobody else.
//!
//! A walk over `/proc` is no snapshot: processes begin, end and are adopted while it goes on. So one walk proves nothing and is repeated
//! until it finds nobody; and a process id by itself names nobody, for it is given again once its process has ended. Each process is
//! therefore known by its id and the instant of its start, and what is signalled is a pidfd, opened first and compared afterwards.

use rustix::process::Signal;

/// Whether who descends from whom can be seen here: elsewhere than on Linux nobody is.
pub(crate) const IS_SEEN: bool = cfg!(target_os = "linux");

/// A process as it was when it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// In clock ticks since the machine started: with the id it names one process for ever.
    started: u64,
    /// Ended, and waits for its parent to take note.
    pub(crate) zombie: bool,
    /// Stopped in mid-air (SIGSTOP).
    stopped: bool,
}

/// Reads it from the line in `/proc/PID/stat`: after the name in brackets, which may itself hold blanks and brackets.
fn parse(line: &str) -> Option<Process> {
    let (pid, rest) = line.split_once(" (")?;
    let fields: Vec<&str> = rest.rsplit_once(") ")?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse().ok();
    Some(Process {
        pid: pid.parse().ok()?,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started: fields.get(19)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        stopped: matches!(*fields.first()?, "T" | "t"),
    })
}

fn look(pid: i32) -> Option<Process> {
    let line = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(&String::from_utf8_lossy(&line))
}

/// Whether a process is there and does nothing, not even what it is told.
pub(crate) fn is_stopped(pid: i32) -> bool {
    look(pid).is_some_and(|process| process.stopped)
}

/// All processes that may be seen; none where there is no `/proc`.
fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| look(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The living descendants of a process, parents before their children.
pub(crate) fn descendants(of: i32) -> Vec<Process> {
    descendants_among(of, &all())
}

fn descendants_among(of: i32, all: &[Process]) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            parents.push(child.pid);
            found.push(*child);
        }
    }
    found.retain(|process| !process.zombie);
    found
}

/// The processes that a guardian, killed itself, has left: of its session, or started with its mark in their environment.
pub(crate) fn left_by(guardian: i32, mark: &str) -> Vec<Process> {
    let marked = |process: &Process| {
        let environment = std::fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let candidates =
        all().into_iter().filter(|process| process.pid != own && process.pid != guardian && !process.zombie);
    candidates.filter(|process| process.session == guardian || marked(process)).collect()
}

/// Sends a signal to that very process: not to another one that has its id by now.
#[cfg(target_os = "linux")]
pub(crate) fn signal(process: &Process, signal: Signal) {
    use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    // The descriptor stands for whoever has the id now; if that one began when ours did, it is ours.
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if look(process.pid).is_some_and(|now| now.started == process.started) {
        // It may have ended meanwhile, or belong to another user: then it is not ours to end.
        let _ = pidfd_send_signal(&descriptor, signal);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn signal(_process: &Process, _signal: Signal) {}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "7 (a (b) c) S 42 7 5 0 -1 4194304 103 0 0 0 0 0 0 0 20 0 1 0 8800 2838528 229";

    #[test]
    fn a_name_with_blanks_and_brackets_does_not_confuse() {
        let process = parse(LINE).unwrap();
        assert_eq!((process.pid, process.parent, process.group, process.session), (7, 42, 7, 5));
        assert_eq!((process.started, process.zombie), (8800, false));
        assert!(parse(&LINE.replace(" S ", " Z ")).unwrap().zombie);
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn descendants_are_found_through_those_that_have_ended_and_strangers_are_not() {
        let process =
            |pid, parent, zombie| Process { pid, parent, group: 0, session: 0, started: 0, zombie, stopped: false };
        let all = [
            process(2, 1, false),
            process(3, 2, true),
            process(4, 3, false),
            process(5, 1, false),
            process(6, 9, false),
        ];
        let mut found: Vec<i32> = descendants_among(2, &all).iter().map(|process| process.pid).collect();
        found.sort_unstable();
        assert_eq!(found, [4]);
        assert_eq!(descendants_among(1, &all).len(), 3);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_signal_does_not_reach_a_process_that_began_at_another_time() {
        let mut sleep = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let seen = look(i32::try_from(sleep.id()).unwrap()).unwrap();
        signal(&Process { started: seen.started + 1, ..seen }, Signal::KILL);
        assert_eq!(sleep.try_wait().unwrap(), None);
        signal(&seen, Signal::KILL);
        assert!(!sleep.wait().unwrap().success());
    }
}
