//! Peers in Python and Node: each is installed by its own package client into a directory of its own, with exactly the versions that its
//! list says, and gets a launcher that looks like the program of any other peer.
//!
//! Where there is no interpreter, or the installation fails, there is no launcher, and the table says so.

use crate::foreground;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What all of them share, beside the peers' directory.
const CONTRACT: &str = "../replica";

/// What was installed, written when it was.
const DONE: &str = "installed";

/// A peer that is installed, not built.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Peer {
    /// Its package.
    pub(crate) name: String,
    home: PathBuf,
    language: Language,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Language {
    Python,
    Node,
}

impl Language {
    const ALL: [Self; 2] = [Self::Python, Self::Node];

    fn interpreter(self) -> &'static str {
        match self {
            Self::Python => "python3",
            Self::Node => "node",
        }
    }

    /// The list of all that is installed, by version.
    fn list(self) -> &'static str {
        match self {
            Self::Python => "requirements.txt",
            Self::Node => "package-lock.json",
        }
    }

    fn contract(self) -> &'static str {
        match self {
            Self::Python => "replica.py",
            Self::Node => "replica.js",
        }
    }
}

/// All of them: a list of packages says in which language a peer is.
pub(crate) fn known(peers: &Path) -> Result<Vec<Peer>> {
    let mut known = Vec::new();
    for entry in fs::read_dir(peers).with_context(|| format!("could not list {}", peers.display()))? {
        let (home, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let found = Language::ALL.into_iter().find(|language| home.join(language.list()).is_file());
        let name = name.to_string_lossy().into_owned();
        known.extend(found.map(|language| Peer { name, home, language }));
    }
    known.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(known)
}

/// Installs them under that place, each with a launcher in `release`, where cargo puts the others.
pub(crate) fn install(peers: &[Peer], place: &Path) -> Result<()> {
    for peer in peers {
        let launcher = place.join("release").join(format!("bench-peer-{}", peer.name));
        if launcher.exists() {
            fs::remove_file(&launcher)?;
        }
        if !is_there(peer.language.interpreter()) {
            eprintln!("── {} is not installed: no {} on this machine", peer.name, peer.language.interpreter());
            continue;
        }
        if let Err(error) = install_one(peer, &place.join("installed").join(&peer.name), &launcher) {
            ensure!(foreground::signal_received() == 0, "{error:#}");
            eprintln!("── {} is not installed: {error:#}", peer.name);
        }
    }
    Ok(())
}

fn install_one(peer: &Peer, place: &Path, launcher: &Path) -> Result<()> {
    let list = fs::read_to_string(peer.home.join(peer.language.list()))?;
    let done = place.join(DONE);
    if fs::read_to_string(&done).is_ok_and(|done| done == list) {
        copy_sources(peer, place)?;
    } else {
        eprintln!("── installing {}", peer.name);
        if place.exists() {
            fs::remove_dir_all(place)?;
        }
        fs::create_dir_all(place)?;
        copy_sources(peer, place)?;
        fetch(peer.language, place)?;
        fs::write(&done, list)?;
    }
    let words = match peer.language {
        Language::Python => [place.join("venv/bin/python"), place.join("main.py")],
        Language::Node => ["node".into(), place.join("main.js")],
    };
    write_launcher(launcher, &words)
}

fn fetch(language: Language, place: &Path) -> Result<()> {
    if language == Language::Node {
        return foreground::run(&mut program("npm", &["ci", "--no-audit", "--no-fund", "--silent"], place));
    }
    foreground::run(&mut program("python3", &["-m", "venv", "venv"], place))?;
    let pip = ["install", "--quiet", "--disable-pip-version-check", "--requirement", "requirements.txt"];
    foreground::run(&mut program(&place.join("venv/bin/pip").to_string_lossy(), &pip, place))
}

fn program(name: &str, arguments: &[&str], place: &Path) -> Command {
    let mut program = Command::new(name);
    program.args(arguments).current_dir(place);
    program
}

/// The peer's own files, and the contract of a replica in its language.
fn copy_sources(peer: &Peer, place: &Path) -> Result<()> {
    for entry in fs::read_dir(&peer.home)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), place.join(entry.file_name()))?;
        }
    }
    let peers = peer.home.parent().unwrap_or(&peer.home);
    let contract = peer.language.contract();
    let from = peers.join(CONTRACT).join(contract);
    fs::copy(&from, place.join(contract)).with_context(|| format!("could not copy {}", from.display()))?;
    Ok(())
}

/// It becomes the interpreter, so that the process that is measured is the one that was started.
fn write_launcher(launcher: &Path, words: &[PathBuf]) -> Result<()> {
    let quoted = |word: &PathBuf| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
    let words: Vec<String> = words.iter().map(quoted).collect();
    if let Some(place) = launcher.parent() {
        fs::create_dir_all(place)?;
    }
    fs::write(launcher, format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" ")))?;
    let all_may_run = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    Ok(fs::set_permissions(launcher, all_may_run)?)
}

fn is_there(program: &str) -> bool {
    let said = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    said.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peers_that_are_installed_are_those_with_a_list_of_packages() {
        let known = known(&crate::cargo::root().join(super::super::PEERS)).unwrap();
        let names: Vec<(&str, Language)> = known.iter().map(|peer| (peer.name.as_str(), peer.language)).collect();
        let (python, node) = (Language::Python, Language::Node);
        let wanted = [("apscheduler", python), ("graphile-worker", node), ("pg-boss", node), ("procrastinate", python)];
        assert_eq!(names, wanted);
    }

    #[test]
    fn a_launcher_becomes_its_interpreter_and_passes_on_every_word() {
        let place = tempfile::tempdir().unwrap();
        let (launcher, script) = (place.path().join("release/bench-peer-x"), place.path().join("it's a script"));
        fs::write(&script, "echo $$ \"$1|$2\"\n").unwrap();
        write_launcher(&launcher, &["sh".into(), script]).unwrap();
        let child = Command::new(&launcher).args(["a b", "c"]).stdout(Stdio::piped()).spawn().unwrap();
        let id = child.id();
        let said = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), format!("{id} a b|c\n"));
    }

    #[test]
    fn what_was_installed_from_the_same_list_is_not_installed_again_but_its_files_are_new() {
        let place = tempfile::tempdir().unwrap();
        let peers = place.path().join("bench/peers");
        let home = peers.join("pg-boss");
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(peers.join(CONTRACT)).unwrap();
        fs::write(peers.join(CONTRACT).join("replica.js"), "contract").unwrap();
        fs::write(home.join("package-lock.json"), "the list").unwrap();
        fs::write(home.join("main.js"), "new").unwrap();
        let (to, launcher) = (place.path().join("installed"), place.path().join("launcher"));
        fs::create_dir_all(&to).unwrap();
        fs::write(to.join(DONE), "the list").unwrap();
        fs::write(to.join("main.js"), "old").unwrap();
        let peer = known(&peers).unwrap().remove(0);
        install_one(&peer, &to, &launcher).unwrap();
        let read = |name: &str| fs::read_to_string(to.join(name)).unwrap();
        assert_eq!((read("main.js"), read("replica.js")), ("new".to_owned(), "contract".to_owned()));
        assert!(fs::read_to_string(launcher).unwrap().contains("main.js"));
    }
}
