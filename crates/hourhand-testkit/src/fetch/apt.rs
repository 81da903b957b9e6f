//! Debian's own packages, downloaded and unpacked into a directory instead of installed.
//!
//! The server finds its files relative to itself; of the libraries it needs, those that the machine lacks come along,
//! and `LD_LIBRARY_PATH` leads to them.

use super::run;
use anyhow::{Context, Result};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;

pub(super) fn unpack(majors: &RangeInclusive<u32>, into: &Path) -> Result<()> {
    let apt = Apt { options: Vec::new() };
    match apt.unpack(majors, into) {
        Ok(()) => Ok(()),
        // A fresh image has no package lists, and a stale list names files that are gone: with lists of our own, then.
        Err(_) => Apt::with_own_lists(into)?.unpack(majors, into),
    }
}

struct Apt {
    options: Vec<String>,
}

impl Apt {
    /// Package lists in a directory of ours, which needs no root and changes nothing of the system's.
    fn with_own_lists(place: &Path) -> Result<Self> {
        let state = place.join("apt");
        fs::create_dir_all(state.join("lists/partial"))?;
        fs::create_dir_all(state.join("cache/archives/partial"))?;
        let set = |name: &str, path: &str| format!("{name}={}", state.join(path).display());
        let sandbox = "APT::Sandbox::User=root".to_owned();
        let options = vec![set("Dir::State::lists", "lists"), set("Dir::Cache", "cache"), sandbox];
        let apt = Self { options };
        run(&mut apt.command("apt-get", &["update", "--quiet=2"]))?;
        Ok(apt)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C");
        for option in &self.options {
            command.args(["-o", option]);
        }
        command.args(arguments);
        command
    }

    fn unpack(&self, majors: &RangeInclusive<u32>, into: &Path) -> Result<()> {
        let listed = run(&mut self.command("apt-cache", &["search", "--names-only", "^postgresql-[0-9]+$"]))?;
        let major = newest(&listed, majors).context("the package lists have no such version")?;
        let server = format!("postgresql-{major}");
        let plan = ["install", "--simulate", "--no-install-recommends", &server, "libpq5"];
        let plan = run(&mut self.command("apt-get", &plan))?;
        let mut packages = missing_libraries(&plan);
        packages.extend([server.as_str(), "libpq5"]);
        let archives = tempfile::tempdir_in(into)?;
        let mut download = self.command("apt-get", &["download", "--quiet=2"]);
        run(download.args(packages).current_dir(archives.path()))?;
        for archive in fs::read_dir(archives.path())? {
            run(Command::new("dpkg-deb").arg("--extract").arg(archive?.path()).arg(into.join("root")))?;
        }
        Ok(())
    }
}

/// The newest of those majors in lines such as `postgresql-15 - The World's Most Advanced …`.
fn newest(listed: &str, majors: &RangeInclusive<u32>) -> Option<u32> {
    let found = listed.lines().filter_map(|line| line.split(' ').next()?.strip_prefix("postgresql-")?.parse().ok());
    found.filter(|major| majors.contains(major)).max()
}

/// The libraries that apt-get would install, from lines such as `Inst libxslt1.1 (1.1.35-1 …)`, without those that the
/// server does without: LLVM, 100 MB for compiling queries, and Perl's.
fn missing_libraries(plan: &str) -> Vec<&str> {
    let names = plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
    names
        .filter(|name| name.starts_with("lib") && !name.starts_with("libllvm") && !name.ends_with("-perl"))
        .filter(|name| *name != "libpq5")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_listed_major_is_taken() {
        let listed =
            "postgresql-15 - The World's Most Advanced Open Source Relational Database\npostgresql-17 - same\n";
        assert_eq!(newest(listed, &(14..=99)), Some(17));
        assert_eq!(newest(listed, &(16..=16)), None);
    }

    #[test]
    fn only_libraries_that_the_machine_lacks_come_along() {
        let plan = "Inst libllvm14 (1:14)\nInst libxslt1.1 (1.1.35)\nInst libjson-perl (4)\nInst libpq5 (15.20)\n\
                    Inst postgresql-common (248)\nConf libxslt1.1 (1.1.35)\n";
        assert_eq!(missing_libraries(plan), ["libxslt1.1"]);
    }
}
