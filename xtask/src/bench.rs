//! `cargo xtask bench`: builds what is measured as it would be shipped, and runs `hourhand-bench`.
//!
//! The peers have a workspace of their own, which nothing else builds: the first time it takes a quarter of an hour. With
//! `--build-only` nothing is measured: for a machine that is to be quiet afterwards.

use crate::arguments::Arguments;
use crate::cargo::{cargo, root};
use crate::foreground;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PEERS: &str = "crates/hourhand-bench/peers/Cargo.toml";

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let build_only = arguments.take_flag("--build-only");
    let told = arguments.rest();
    let target = target_directory()?;
    foreground::run(&mut cargo(&["build", "--release", "--package", "hourhand-bench", "--quiet"]))?;
    let mut bench = std::process::Command::new(target.join("release/hourhand-bench"));
    if wants_peers(&told) {
        let place = target.join("peers");
        build_peers(&place)?;
        bench.arg("--peers").arg(place.join("release"));
    }
    if build_only {
        return Ok(());
    }
    foreground::run(bench.args(told).current_dir(root()))
}

/// A peer that does not build is left out of the table, and no reason to measure nobody.
fn build_peers(place: &Path) -> Result<()> {
    let mut build = cargo(&["build", "--release", "--keep-going", "--manifest-path", PEERS, "--target-dir"]);
    if let Err(error) = foreground::run(build.arg(place)) {
        anyhow::ensure!(foreground::signal_received() == 0, "{error:#}");
        eprintln!("── not all peers were built: {error:#}");
    }
    Ok(())
}

/// Unless hourhand alone is asked for, or the caller names the place of the peers.
fn wants_peers(told: &[OsString]) -> bool {
    let words: Vec<&str> = told.iter().filter_map(|word| word.to_str()).collect();
    let alone = ["--goals", "--scale", "--schedules", "--help", "-h", "--peers"];
    if words.iter().any(|word| alone.contains(word) || word.starts_with("--peers=")) {
        return false;
    }
    let after = words.iter().zip(words.iter().skip(1)).filter(|(name, _)| **name == "--only").map(|(_, value)| *value);
    let joined = words.iter().filter_map(|word| word.strip_prefix("--only="));
    let only: Vec<&str> = after.chain(joined).collect();
    only.is_empty() || only.iter().any(|name| *name != "hourhand")
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

    fn wants(line: &str) -> bool {
        wants_peers(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn peers_are_built_unless_hourhand_alone_is_asked_for() {
        assert!(wants(""));
        assert!(wants("--quick --only apalis --only hourhand"));
        assert!(wants("--only=cronoq"));
        assert!(!wants("--only hourhand --quick"));
        assert!(!wants("--goals"));
        assert!(!wants("--peers elsewhere"));
    }
}
