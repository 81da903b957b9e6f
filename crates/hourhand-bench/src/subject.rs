//! Who is measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

/// One scheduler: its replica's program.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Its package.
    pub(crate) name: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// The replica.
    pub(crate) program: PathBuf,
}

/// The peers: package and the version that their workspace asks for.
const PEERS: [(&str, &str); 6] = [
    ("tokio-cron-scheduler", "0.15.1"),
    ("graphile_worker", "0.14.1"),
    ("apalis", "1.0.0"),
    ("underway", "0.2.0"),
    ("cronoq", "0.2.1"),
    ("riverqueue", "0.5.0"),
];

/// The subjects that were asked for (all of them by default), hourhand first. A peer that was not built is left out, and said so.
///
/// # Errors
///
/// If a name is nobody's, or hourhand's own replica is not there.
pub(crate) fn chosen(only: &[String], own: &Path, peers: Option<&Path>) -> Result<Vec<Subject>> {
    let known = |name: &str| name == "hourhand" || PEERS.iter().any(|(peer, _)| *peer == name);
    let names = || PEERS.map(|(peer, _)| peer).join(", ");
    for name in only {
        ensure!(known(name), "{name} is not measured; hourhand, {} are", names());
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
    let mut subjects = Vec::new();
    if wanted("hourhand") {
        let program = own.join("bench-hourhand");
        ensure!(program.is_file(), "{} is not there: build it first", program.display());
        subjects.push(Subject { name: "hourhand", version: env!("CARGO_PKG_VERSION"), program });
    }
    for (name, version) in PEERS.into_iter().filter(|(name, _)| wanted(name)) {
        let program = peers.unwrap_or(own).join(format!("bench-peer-{name}"));
        if program.is_file() {
            subjects.push(Subject { name, version, program });
        } else {
            eprintln!("{name} is left out: {} was not built", program.display());
        }
    }
    ensure!(!subjects.is_empty(), "nobody is left to measure");
    Ok(subjects)
}

/// The machine, in one line.
pub(crate) fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let model = read("/proc/cpuinfo");
    let model = model.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("an unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let compiler = Command::new("rustc").arg("--version").output();
    let compiler = compiler.map_or(String::new(), |said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    format!("{cores} cores of {}, Linux {}, {compiler}", model.trim_start_matches([' ', '\t', ':']), kernel.trim())
}

/// The load of the machine: how many processes wanted a core in the last minute, on average.
pub(crate) fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}
