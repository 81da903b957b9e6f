//! A PostgreSQL installation: whether its programs run for us, and which version they are.

use crate::account::Account;
use crate::command;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The major versions that hourhand supports, as far as anybody can know.
pub const SUPPORTED: RangeInclusive<u32> = 14..=99;

/// How long a program may take to say its version, on a busy machine with a cold disk.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// A `bin/` directory with `postgres` and `initdb`, both of which run for the user that servers run as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    bin: PathBuf,
    version: String,
    major: u32,
    /// Where its shared libraries are, if the system's own loader does not find them.
    libraries: Option<OsString>,
}

impl Installation {
    /// The installation in that `bin/` directory.
    ///
    /// # Errors
    ///
    /// If `postgres` or `initdb` is missing there or does not run, for example because the server's user may not go there.
    pub fn at(bin: &Path) -> Result<Self> {
        let bin = bin.canonicalize().with_context(|| format!("{} can't be entered", bin.display()))?;
        for program in ["postgres", "initdb"] {
            ensure!(bin.join(program).is_file(), "{} has no {program}", bin.display());
        }
        let (libraries, version) = match version(&bin, None) {
            Ok(version) => (None, version),
            Err(error) => {
                let libraries = libraries(&bin).ok_or(error)?;
                let version = version(&bin, Some(&libraries))?;
                (Some(libraries), version)
            }
        };
        let major = major(&version).with_context(|| format!("{} says version {version:?}", bin.display()))?;
        Ok(Self { bin, version, major, libraries })
    }

    /// Its `bin/` directory, without symbolic links.
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// Its major version, such as 15.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// Its version as it says it, such as `15.18 (Debian 15.18-0+deb12u1)`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A command for one of its programs, which finds its libraries and heeds no `PG…` variable of ours.
    pub fn command(&self, program: &str) -> Command {
        command(&self.bin, program, self.libraries.as_ref())
    }
}

/// The paths that match a pattern in which one name may hold one `*`, in descending order: newer versions first.
pub(crate) fn matching(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![PathBuf::from(pattern)] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or((".", before));
    let (suffix, rest) = after.split_once('/').unwrap_or((after, ""));
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| !name.starts_with('.') && name.starts_with(prefix) && name.ends_with(suffix)).collect();
    names.sort();
    names.iter().rev().map(|name| Path::new(parent).join(name).join(rest)).collect()
}

fn command(bin: &Path, program: &str, libraries: Option<&OsString>) -> Command {
    let mut command = Command::new(bin.join(program));
    let ours = std::env::vars_os().map(|(name, _)| name).filter(|name| name.as_encoded_bytes().starts_with(b"PG"));
    for name in ours {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C").current_dir("/");
    libraries.map(|libraries| command.env("LD_LIBRARY_PATH", libraries));
    command
}

/// Runs both programs as the server's user and returns the version; `initdb` needs a library that `postgres` does not.
fn version(bin: &Path, libraries: Option<&OsString>) -> Result<String> {
    let account = Account::for_servers()?;
    let ask = |program: &str| {
        let mut command = command(bin, program, libraries);
        account.as_ref().map(|account| account.apply(&mut command));
        command::output(command.arg("--version"), ANSWER_WITHIN)
    };
    ask("initdb")?;
    let said = ask("postgres")?;
    Ok(said.trim().trim_start_matches("postgres (PostgreSQL) ").to_owned())
}

/// The major of a version such as `15.18 (Debian …)`, `18beta1` or `19devel`.
fn major(version: &str) -> Option<u32> {
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The directories with shared libraries in an unpacked package, as the value of `LD_LIBRARY_PATH`.
fn libraries(bin: &Path) -> Option<OsString> {
    let places = bin.ancestors().skip(1).take(5).filter(|place| *place != Path::new("/"));
    let patterns = ["lib", "lib/*-linux-gnu", "*.libs"];
    let directories = places.flat_map(|place| patterns.map(|pattern| format!("{}/{pattern}", place.display())));
    let found: Vec<PathBuf> = directories.flat_map(|pattern| matching(&pattern)).filter(|path| path.is_dir()).collect();
    if found.is_empty() { None } else { std::env::join_paths(found).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_is_read_from_any_version() {
        let said = ["15.18 (Debian 15.18-0+deb12u1)", "18.6", "18beta1", "19devel", "next"];
        assert_eq!(said.map(major), [Some(15), Some(18), Some(18), Some(19), None]);
    }

    #[test]
    fn a_star_stands_for_one_name_and_newer_ones_come_first() {
        let place = tempfile::tempdir().unwrap();
        for name in ["pgsql-16/bin", "pgsql-17/bin", "other/bin", ".pgsql-18/bin"] {
            fs::create_dir_all(place.path().join(name)).unwrap();
        }
        let found = matching(&format!("{}/pgsql-*/bin", place.path().display()));
        assert_eq!(found, [place.path().join("pgsql-17/bin"), place.path().join("pgsql-16/bin")]);
    }

    #[test]
    fn a_directory_without_a_server_is_refused_by_name() {
        let place = tempfile::tempdir().unwrap();
        let error = Installation::at(place.path()).unwrap_err().to_string();
        assert!(error.contains("has no postgres"), "{error}");
    }
}
