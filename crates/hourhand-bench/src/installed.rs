//! What the package client of another language has installed for a peer, beside the launcher that is its program.
//!
//! `cargo xtask bench` puts it into `installed/NAME` beside the launchers' directory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::subject::{Language, Subject};

/// What comes with every environment of Python's, whatever is installed into it.
const BESIDE: [&str; 5] = ["pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence"];

/// How many bytes it has.
///
/// # Errors
///
/// If it is not where it should be.
pub(crate) fn size(subject: &Subject) -> Result<u64> {
    entries(&place(subject)?)?.iter().map(|entry| size_of(entry)).sum()
}

/// How many packages it is.
///
/// # Errors
///
/// If it is not where it should be.
pub(crate) fn packages(subject: &Subject) -> Result<usize> {
    let place = place(subject)?;
    if subject.peer.language == Language::Python {
        let is_one = |entry: &&PathBuf| entry.extension().is_some_and(|ending| ending == "dist-info");
        return Ok(entries(&place)?.iter().filter(is_one).count());
    }
    // Written by the client: one entry for each package.
    let file = place.join(".package-lock.json");
    let text = std::fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
    let lock: serde_json::Value = serde_json::from_str(&text)?;
    Ok(lock["packages"].as_object().context("the lock of what is installed names no packages")?.len())
}

/// The directory of its packages.
fn place(subject: &Subject) -> Result<PathBuf> {
    let beside = subject.program.parent().and_then(Path::parent).context("the launcher lies in no directory")?;
    let home = beside.join("installed").join(subject.peer.name);
    if subject.peer.language == Language::Node {
        return Ok(home.join("node_modules"));
    }
    // The directory between is named after the version.
    let libraries = entries(&home.join("venv/lib"))?;
    let found = libraries.into_iter().map(|version| version.join("site-packages")).find(|place| place.is_dir());
    found.with_context(|| format!("no site-packages in {}", home.display()))
}

fn entries(place: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(place).with_context(|| format!("could not list {}", place.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    ensure!(!paths.is_empty(), "{} is empty", place.display());
    Ok(paths.into_iter().filter(|path| !is_beside(path)).collect())
}

fn is_beside(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    BESIDE
        .iter()
        .any(|known| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.'])))
}

fn size_of(path: &Path) -> Result<u64> {
    let metadata = std::fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    std::fs::read_dir(path)?.map(|entry| size_of(&entry?.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::named;

    fn subject(name: &str, home: &Path) -> Subject {
        let peer = named(&[name.to_owned()]).unwrap()[0];
        Subject { peer, program: home.join("release").join(format!("bench-peer-{name}")) }
    }

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn of_an_environment_what_comes_with_each_does_not_count() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("installed/procrastinate/venv/lib/python3.11/site-packages");
        write(&place.join("procrastinate/worker.py"), "12345");
        write(&place.join("procrastinate-3.10.0.dist-info/METADATA"), "123");
        write(&place.join("piper-1.0.dist-info/METADATA"), "1");
        write(&place.join("pip-23.2.1.dist-info/METADATA"), "123456789");
        write(&place.join("pip/main.py"), "123456789");
        write(&place.join("distutils-precedence.pth"), "123456789");
        let subject = subject("procrastinate", home.path());
        assert_eq!((size(&subject).unwrap(), packages(&subject).unwrap()), (9, 2));
    }

    #[test]
    fn of_node_modules_the_lock_says_the_packages() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("installed/pg-boss/node_modules");
        write(&place.join("pg-boss/src/index.js"), "1234");
        let lock = r#"{"packages": {"node_modules/pg-boss": {}, "node_modules/pg": {}}}"#;
        write(&place.join(".package-lock.json"), lock);
        let subject = subject("pg-boss", home.path());
        assert_eq!(packages(&subject).unwrap(), 2);
        assert_eq!(size(&subject).unwrap(), 4 + lock.len() as u64);
    }

    #[test]
    fn what_was_never_installed_is_an_error_that_names_the_place() {
        let home = tempfile::tempdir().unwrap();
        let error = packages(&subject("pg-boss", home.path())).unwrap_err().to_string();
        assert!(error.contains("installed/pg-boss/node_modules"), "{error}");
        let error = size(&subject("apscheduler", home.path())).unwrap_err().to_string();
        assert!(error.contains("installed/apscheduler/venv/lib"), "{error}");
    }
}
