//! What comes with a scheduler: the size of a program that uses it, and how many packages that is built of.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::figure::{Figure, Shown};
use crate::subject::Subject;

/// The subject's first figures.
pub(crate) fn of(subject: &Subject) -> Shown {
    let size = std::fs::metadata(&subject.program).map(|metadata| metadata.len() as f64 / f64::from(1 << 20));
    let size = match size {
        Ok(size) => Figure::number("its replica: size of the program", size, "MiB"),
        Err(error) => Figure::no("its replica: size of the program", error.to_string()),
    };
    let packages = match packages(subject) {
        Ok(packages) => Figure::number("its replica: packages it is built of", packages as f64, ""),
        Err(error) => Figure::no("its replica: packages it is built of", format!("{error:#}")),
    };
    Shown { subject: subject.name.to_owned(), version: subject.version.to_owned(), figures: vec![size, packages] }
}

/// All packages that cargo compiles for it, its own and the replica's included.
fn packages(subject: &Subject) -> Result<usize> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (manifest, packages): (PathBuf, Vec<String>) = match subject.name {
        // Without what measures.
        "hourhand" => (own.join("Cargo.toml"), vec!["hourhand".to_owned(), "hourhand-bench-replica".to_owned()]),
        name => (own.join("peers/Cargo.toml"), vec![format!("bench-peer-{name}")]),
    };
    let mut tree = Command::new("cargo");
    tree.args(["tree", "--prefix=none", "--edges=normal,build", "--format={p}", "--offline", "--manifest-path"]);
    let said = tree
        .arg(manifest)
        .args(packages.iter().map(|name| format!("--package={name}")))
        .output()
        .context("cargo can't be run")?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr).lines().next().unwrap_or_default());
    // A package that stands there a second time is marked so.
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    Ok(text
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.is_empty())
        .collect::<BTreeSet<_>>()
        .len())
}
