//! What the measurements were taken on, and with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// Where a pooler lies that is not on everybody's path.
const PGBOUNCER: [&str; 3] = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];

/// The machine, in one line.
pub(crate) fn described() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let model = read("/proc/cpuinfo");
    let model = model.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("an unknown processor");
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{} cores of {}, Linux {}", cores(), model.trim_start_matches([' ', '\t', ':']), kernel.trim())
}

/// How many processors we may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The load of the machine: how many processes wanted a core in the last minute, on average.
pub(crate) fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}

/// The pooler's program, if it is installed.
pub(crate) fn pgbouncer() -> Option<PathBuf> {
    PGBOUNCER.map(PathBuf::from).into_iter().find(|path| path.is_file())
}

/// The versions of all that was there to measure with.
pub(crate) fn versions() -> BTreeMap<&'static str, String> {
    let pooler = pgbouncer().map_or_else(|| "pgbouncer".to_owned(), |path| path.display().to_string());
    let programs = [("Node", "node"), ("PgBouncer", pooler.as_str()), ("Python", "python3"), ("rustc", "rustc")];
    programs.into_iter().filter_map(|(name, program)| Some((name, version_of(program)?))).collect()
}

/// What a program says of its version; nothing if it is not there.
pub(crate) fn version_of(program: &str) -> Option<String> {
    let said = Command::new(program).arg("--version").output().ok()?;
    said.status.success().then(|| version_in(&String::from_utf8_lossy(&said.stdout)).map(str::to_owned))?
}

/// The first word of it that is a version.
fn version_in(said: &str) -> Option<&str> {
    let words = said.split_whitespace().map(|word| word.trim_start_matches('v'));
    words.into_iter().find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_each_program_says() {
        assert_eq!(version_in("PgBouncer 1.18.0\nlibevent 2.1.12-stable\n"), Some("1.18.0"));
        assert_eq!(version_in("v20.20.2\n"), Some("20.20.2"));
        assert_eq!(version_in("Python 3.11.7\n"), Some("3.11.7"));
        assert_eq!(version_in("rustc 1.95.0 (0123abc 2026-04-14)\n"), Some("1.95.0"));
        assert_eq!(version_in("what?\n"), None);
    }

    #[test]
    fn a_program_that_is_not_there_has_no_version() {
        assert_eq!(version_of("no-such-program-anywhere"), None);
    }
}
