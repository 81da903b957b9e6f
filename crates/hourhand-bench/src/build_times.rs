//! How long a clean build of each replica takes, in a target directory of its own that is removed afterwards.
//!
//! hourhand's is built from the peers' workspace too, with nothing of the harness beside it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::figure::{Figure, Shown};
use crate::machine;
use crate::subject::{Language, Peer};

/// Each of them, one after another.
pub(crate) fn run(peers: &[Peer], scratch: &Path) -> Result<Vec<Shown>> {
    // What is downloaded is not built.
    if peers.iter().any(|peer| peer.language == Language::Rust) {
        succeed(cargo("fetch"))?;
    }
    Ok(peers.iter().map(|peer| peer.shown(vec![build_time(*peer, scratch)])).collect())
}

fn build_time(peer: Peer, scratch: &Path) -> Figure {
    let row = format!("its replica: a clean build, {} jobs at a time", machine::cores());
    if peer.language != Language::Rust {
        return Figure::words(row, "– (installed, not built)");
    }
    eprintln!("── building the replica of {}, from nothing", peer.name);
    match build(peer, scratch) {
        Ok(seconds) => Figure::number(row, seconds, "s"),
        Err(error) => Figure::not_measured(row, format!("{error:#}")),
    }
}

fn build(peer: Peer, scratch: &Path) -> Result<f64> {
    let target = tempfile::Builder::new().prefix("clean-build-").tempdir_in(scratch)?;
    let mut command = cargo("build");
    command.args(["--release", "--offline", "--quiet", "--jobs", &machine::cores().to_string()]);
    command.args(["--package", &format!("bench-peer-{}", peer.name), "--target-dir"]).arg(target.path());
    // A cache of compiled code would answer for the compiler.
    command.env("RUSTC_WRAPPER", "").env("RUSTC_WORKSPACE_WRAPPER", "");
    let begun = Instant::now();
    succeed(command)?;
    Ok(begun.elapsed().as_secs_f64())
}

fn cargo(word: &str) -> Command {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/Cargo.toml");
    let mut cargo = Command::new("cargo");
    cargo.arg(word).arg("--manifest-path").arg(manifest);
    cargo
}

fn succeed(mut command: Command) -> Result<()> {
    let said = command.output().context("cargo can't be run")?;
    let words = String::from_utf8_lossy(&said.stderr);
    ensure!(said.status.success(), "{}", words.lines().find(|line| line.starts_with("error")).unwrap_or_default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Reading;
    use crate::subject::named;

    #[test]
    fn what_is_installed_has_no_time_to_build_and_says_so() {
        let peers = named(&["procrastinate".to_owned(), "pg-boss".to_owned()]).unwrap();
        let shown = run(&peers, Path::new("/nowhere")).unwrap();
        let readings: Vec<&Reading> = shown.iter().map(|one| &one.figures[0].reading).collect();
        assert_eq!(readings, [&Reading::Words("– (installed, not built)".to_owned()); 2]);
    }

    #[test]
    fn a_build_that_fails_costs_its_own_cell_and_says_why() {
        let nobody = Peer { name: "nobody", version: "0", language: Language::Rust, seconds: true };
        let place = tempfile::tempdir().unwrap();
        let figure = build_time(nobody, place.path());
        assert!(matches!(&figure.reading, Reading::NotMeasured(why) if why.starts_with("error")), "{figure:?}");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "the directory is left behind");
    }
}
