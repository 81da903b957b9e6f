//! What comes with a scheduler: the size of a program that uses it, and how many packages that is built of; or what is installed for it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::figure::{Figure, Shown};
use crate::installed;
use crate::subject::{HOURHAND, Language, Peer, Subject};

const SIZE: &str = "its replica: size of the program";
const INSTALLED: &str = "its replica: size of what is installed (site-packages, node_modules), its interpreter aside";
const PACKAGES: &str = "its replica: packages it is built of, or that are installed";

/// The subject's first figures.
pub(crate) fn of(subject: &Subject) -> Shown {
    let (name, size) = match subject.peer.language {
        Language::Rust => {
            (SIZE, std::fs::metadata(&subject.program).map(|metadata| metadata.len()).map_err(Into::into))
        }
        Language::Python | Language::Node => (INSTALLED, installed::size(subject)),
    };
    let packages = match subject.peer.language {
        Language::Rust => packages(subject.peer),
        Language::Python | Language::Node => installed::packages(subject),
    };
    subject
        .peer
        .shown(vec![figure(name, size.map(mib), "MiB"), figure(PACKAGES, packages.map(|count| count as f64), "")])
}

fn figure(row: &str, measured: Result<f64>, unit: &'static str) -> Figure {
    match measured {
        Ok(value) => Figure::number(row, value, unit),
        Err(error) => Figure::not_measured(row, format!("{error:#}")),
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// All packages that cargo compiles for it, its own and the replica's included.
fn packages(peer: Peer) -> Result<usize> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (manifest, packages): (PathBuf, Vec<String>) = if peer == HOURHAND {
        // Without what measures.
        (own.join("Cargo.toml"), vec!["hourhand".to_owned(), "hourhand-bench-replica".to_owned()])
    } else {
        (own.join("peers/Cargo.toml"), vec![format!("bench-peer-{}", peer.name)])
    };
    let mut tree = Command::new("cargo");
    tree.args(["tree", "--prefix=none", "--edges=normal,build", "--format={p}", "--offline", "--manifest-path"]);
    let said = tree
        .arg(manifest)
        .args(packages.iter().map(|name| format!("--package={name}")))
        .output()
        .context("cargo can't be run")?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr).lines().next().unwrap_or_default());
    Ok(distinct(&String::from_utf8_lossy(&said.stdout)))
}

/// A package that stands there a second time is marked so.
fn distinct(tree: &str) -> usize {
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty());
    lines.collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Reading;

    #[test]
    fn a_package_that_is_needed_twice_is_built_once() {
        assert_eq!(distinct("a v1.0.0\nb v1.0.0\na v1.0.0 (*)\n\nb v2.0.0\n"), 3);
    }

    #[test]
    fn what_is_not_there_has_no_size_and_says_so() {
        let subject = Subject { peer: HOURHAND, program: "/nowhere/at/all".into() };
        let shown = of(&subject);
        assert_eq!(shown.figures[0].row, SIZE);
        assert!(matches!(&shown.figures[0].reading, Reading::NotMeasured(why) if why.contains("No such file")));
    }

    #[test]
    fn hourhand_is_built_of_itself_and_what_it_needs() {
        // Its core, its replica's contract and the runtime at least; the lock file bounds it from above.
        let lock = include_str!("../../../Cargo.lock").matches("[[package]]").count();
        let count = packages(HOURHAND).unwrap();
        assert!((20..lock).contains(&count), "{count} of {lock}");
    }
}
