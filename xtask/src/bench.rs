//! `cargo xtask bench`: builds what is measured as it would be shipped, and runs `hourhand-bench`.
//!
//! The peers have a workspace of their own, which nothing else builds: the first time it takes a quarter of an hour. Those in other
//! languages are installed by their package clients. With `--build-only` nothing is measured: for a machine that is to be quiet
//! afterwards.

mod installing;

use crate::arguments::Arguments;
use crate::cargo::{cargo, root};
use crate::foreground;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PEERS: &str = "crates/hourhand-bench/peers";

/// What the peers are not needed for.
const ALONE: [&str; 7] = ["--goals", "--scale", "--schedules", "--build-times", "--help", "-h", "--peers"];

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let build_only = arguments.take_flag("--build-only");
    let told = arguments.rest();
    let target = target_directory()?;
    foreground::run(&mut cargo(&["build", "--release", "--package", "hourhand-bench", "--quiet"]))?;
    let mut bench = std::process::Command::new(target.join("release/hourhand-bench"));
    if let Some(wanted) = Wanted::of(&told) {
        let place = target.join("peers");
        let installed = installing::known(&root().join(PEERS))?;
        if let Some(packages) = wanted.packages_but(|name| installed.iter().any(|peer| peer.name == name)) {
            build_peers(&packages, &place)?;
        }
        let some = installed.into_iter().filter(|peer| wanted.includes(&peer.name));
        installing::install(&some.collect::<Vec<_>>(), &place)?;
        bench.arg("--peers").arg(place.join("release"));
    }
    if build_only {
        return Ok(());
    }
    foreground::run(bench.args(told).current_dir(root()))
}

/// A peer that does not build is left out of the table, and no reason to measure nobody.
fn build_peers(packages: &[String], place: &Path) -> Result<()> {
    let manifest = format!("{PEERS}/Cargo.toml");
    let mut build = cargo(&["build", "--release", "--keep-going", "--manifest-path", &manifest, "--target-dir"]);
    build.arg(place).args(packages.iter().map(|package| format!("--package={package}")));
    if let Err(error) = foreground::run(&mut build) {
        anyhow::ensure!(foreground::signal_received() == 0, "{error:#}");
        eprintln!("── not all peers were built: {error:#}");
    }
    Ok(())
}

/// The peers that are wanted: those named by `--only`, or everybody.
#[derive(Debug, PartialEq)]
struct Wanted(Vec<String>);

impl Wanted {
    /// `None` if hourhand alone is asked for, or the caller names the place of the peers.
    fn of(told: &[OsString]) -> Option<Self> {
        let words: Vec<&str> = told.iter().filter_map(|word| word.to_str()).collect();
        if words.iter().any(|word| ALONE.contains(word) || word.starts_with("--peers=")) {
            return None;
        }
        let after =
            words.iter().zip(words.iter().skip(1)).filter(|(name, _)| **name == "--only").map(|(_, value)| *value);
        let joined = words.iter().filter_map(|word| word.strip_prefix("--only="));
        let only: Vec<&str> = after.chain(joined).collect();
        let peers = only.iter().filter(|name| **name != "hourhand").map(|name| (*name).to_owned());
        let wanted = Self(peers.collect());
        (only.is_empty() || !wanted.0.is_empty()).then_some(wanted)
    }

    fn includes(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted == name)
    }

    /// The packages to be built, none meaning all; or nothing to build.
    fn packages_but(&self, installed: impl Fn(&str) -> bool) -> Option<Vec<String>> {
        let packages = self.0.iter().filter(|name| !installed(name)).map(|name| format!("bench-peer-{name}"));
        let packages: Vec<String> = packages.collect();
        (self.0.is_empty() || !packages.is_empty()).then_some(packages)
    }
}

/// Where cargo puts what it builds.
fn target_directory() -> Result<PathBuf> {
    let said =
        cargo(&["metadata", "--format-version=1", "--no-deps"]).output().context("could not run cargo metadata")?;
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).context("cargo metadata said no JSON")?;
    let directory = said["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> Option<Wanted> {
        Wanted::of(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn peers_are_built_unless_hourhand_alone_is_asked_for() {
        assert!(wanted("").is_some());
        assert!(wanted("--quick --only apalis --only hourhand").is_some());
        assert!(wanted("--only=cronoq").is_some());
        assert_eq!(wanted("--only hourhand --quick"), None);
        assert_eq!(wanted("--goals"), None);
        assert_eq!(wanted("--build-times"), None);
        assert_eq!(wanted("--peers elsewhere"), None);
    }

    #[test]
    fn nobody_is_built_or_installed_who_is_not_measured() {
        let is_node = |name: &str| name == "pg-boss";
        let only = wanted("--only pg-boss --only=hourhand").unwrap();
        assert!(only.includes("pg-boss") && !only.includes("apalis"));
        assert_eq!(only.packages_but(is_node), None);
        let both = wanted("--only pg-boss --only apalis").unwrap();
        assert_eq!(both.packages_but(is_node).unwrap(), ["bench-peer-apalis"]);
        let all = wanted("--spans short").unwrap();
        assert!(all.includes("pg-boss") && all.includes("apalis"));
        assert_eq!(all.packages_but(is_node).unwrap(), Vec::<String>::new());
    }
}
