//! What the kernel tells of a process.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time that all threads of a process have had on a processor; the kernel counts it in nanoseconds.
pub(crate) fn cpu(pid: u32) -> Duration {
    threads(pid).iter().map(|thread| thread_cpu(thread)).sum()
}

/// The same of its threads with that name alone.
pub(crate) fn cpu_of(pid: u32, name: &str) -> Duration {
    named(pid, name).iter().map(|thread| thread_cpu(thread)).sum()
}

/// How often its threads with that name have given up the processor by themselves: they went to sleep, and were woken.
pub(crate) fn sleeps_of(pid: u32, name: &str) -> f64 {
    named(pid, name).iter().map(|thread| number(&thread.join("status"), "voluntary_ctxt_switches:")).sum()
}

/// What it keeps in memory, in MiB.
pub(crate) fn resident_mib(pid: u32) -> f64 {
    number(&PathBuf::from(format!("/proc/{pid}/status")), "VmRSS:") / 1024.0
}

fn threads(pid: u32) -> Vec<PathBuf> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| thread.path()).collect()
}

fn named(pid: u32, name: &str) -> Vec<PathBuf> {
    let is_it = |thread: &PathBuf| std::fs::read_to_string(thread.join("comm")).is_ok_and(|comm| comm.trim() == name);
    threads(pid).into_iter().filter(is_it).collect()
}

fn thread_cpu(thread: &Path) -> Duration {
    let text = std::fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default())
}

/// The first number after that word at the beginning of a line; not a number if there is none.
fn number(file: &Path, word: &str) -> f64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let rest = text.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_default();
    rest.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_had_time_and_memory_and_a_thread_of_no_name_has_not() {
        let own = std::process::id();
        assert!(cpu(own) > Duration::ZERO);
        assert!(resident_mib(own) > 0.1);
        assert_eq!(cpu_of(own, "nobody's"), Duration::ZERO);
    }
}
