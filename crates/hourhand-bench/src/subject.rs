//! Who is measured.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::figure::{Figure, Shown};
use crate::machine;

/// One scheduler: its replica's program.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Who it is.
    pub(crate) peer: Peer,
    /// The replica.
    pub(crate) program: PathBuf,
}

/// A scheduler that we know, installed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Its package.
    pub(crate) name: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// In what it is written.
    pub(crate) language: Language,
    /// Whether its schedules know seconds: if not, it has nothing to show where a job is due every second.
    pub(crate) seconds: bool,
}

/// What a replica is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// Compiled beforehand.
    Rust,
    /// Run by `python3`.
    Python,
    /// Run by `node`.
    Node,
}

/// hourhand itself.
pub(crate) const HOURHAND: Peer =
    Peer { name: "hourhand", version: env!("CARGO_PKG_VERSION"), language: Language::Rust, seconds: true };

/// The peers: package, the version that their manifests ask for, and whether they know seconds.
const PEERS: [Peer; 10] = [
    rust("tokio-cron-scheduler", "0.15.1", true),
    rust("graphile_worker", "0.14.1", false),
    rust("apalis", "1.0.0", true),
    rust("underway", "0.2.0", true),
    rust("cronoq", "0.2.1", true),
    rust("riverqueue", "0.5.0", true),
    Peer { name: "apscheduler", version: "3.11.3", language: Language::Python, seconds: true },
    Peer { name: "procrastinate", version: "3.10.0", language: Language::Python, seconds: true },
    Peer { name: "pg-boss", version: "10.4.2", language: Language::Node, seconds: false },
    Peer { name: "graphile-worker", version: "0.17.3", language: Language::Node, seconds: false },
];

const fn rust(name: &'static str, version: &'static str, seconds: bool) -> Peer {
    Peer { name, version, language: Language::Rust, seconds }
}

impl Language {
    /// What it is run by, if by anything.
    pub(crate) fn interpreter(self) -> Option<&'static str> {
        match self {
            Self::Rust => None,
            Self::Python => Some("python3"),
            Self::Node => Some("node"),
        }
    }
}

impl Peer {
    /// Its column, empty.
    pub(crate) fn shown(self, figures: Vec<Figure>) -> Shown {
        let language = match self.language {
            Language::Rust => None,
            Language::Python => Some("Python"),
            Language::Node => Some("Node"),
        };
        Shown { subject: self.name, version: self.version, language, figures }
    }

    /// The name of its replica's program.
    fn program(self) -> String {
        if self == HOURHAND { "bench-hourhand".to_owned() } else { format!("bench-peer-{}", self.name) }
    }

    /// Why there is no program of it.
    fn absence(self, has: impl Fn(&str) -> bool) -> String {
        match self.language.interpreter() {
            Some(interpreter) if !has(interpreter) => format!("no {interpreter} on this machine"),
            Some(_) => "it was not installed".to_owned(),
            None => "it was not built".to_owned(),
        }
    }
}

/// Everybody that was asked for (all of them by default), hourhand first.
///
/// # Errors
///
/// If a name is nobody's.
pub(crate) fn named(only: &[String]) -> Result<Vec<Peer>> {
    let all = || std::iter::once(HOURHAND).chain(PEERS);
    for name in only {
        let names: Vec<&str> = all().map(|peer| peer.name).collect();
        ensure!(names.contains(&name.as_str()), "{name} is not measured; {} are", names.join(", "));
    }
    Ok(all().filter(|peer| only.is_empty() || only.iter().any(|name| name == peer.name)).collect())
}

/// Those of them whose programs are there, and the columns of those whose are not.
///
/// # Errors
///
/// If hourhand's own replica is not there.
pub(crate) fn present(wanted: &[Peer], own: &Path, peers: Option<&Path>) -> Result<(Vec<Subject>, Vec<Shown>)> {
    let (mut subjects, mut absent) = (Vec::new(), Vec::new());
    for peer in wanted {
        let place = if *peer == HOURHAND { own } else { peers.unwrap_or(own) };
        let program = place.join(peer.program());
        if program.is_file() {
            subjects.push(Subject { peer: *peer, program });
            continue;
        }
        ensure!(*peer != HOURHAND, "{} is not there: build it first", program.display());
        let why = peer.absence(|interpreter| machine::version_of(interpreter).is_some());
        eprintln!("── {} is not measured: {why}", peer.name);
        absent.push(peer.shown(vec![Figure::not_measured("its replica", why)]));
    }
    Ok((subjects, absent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::table;

    fn peer(name: &str) -> Peer {
        named(&[name.to_owned()]).unwrap()[0]
    }

    #[test]
    fn everybody_is_measured_by_default_and_hourhand_stands_first() {
        let all = named(&[]).unwrap();
        assert_eq!((all.len(), all[0]), (PEERS.len() + 1, HOURHAND));
        let some = named(&["pg-boss".to_owned(), "hourhand".to_owned()]).unwrap();
        assert_eq!(some.iter().map(|peer| peer.name).collect::<Vec<_>>(), ["hourhand", "pg-boss"]);
    }

    #[test]
    fn a_name_that_is_nobodys_is_refused_with_the_names_that_are() {
        let error = named(&["apalis".to_owned(), "quartz".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("quartz is not measured; hourhand, "), "{error}");
        assert!(error.contains(" graphile-worker are"), "{error}");
    }

    #[test]
    fn who_is_not_there_has_a_column_that_says_why() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("bench-hourhand"), "").unwrap();
        std::fs::write(place.path().join("bench-peer-pg-boss"), "").unwrap();
        let wanted = [HOURHAND, peer("apalis"), peer("pg-boss")];
        let (subjects, absent) = present(&wanted, place.path(), None).unwrap();
        assert_eq!(subjects.iter().map(|one| one.peer.name).collect::<Vec<_>>(), ["hourhand", "pg-boss"]);
        let table = table(&absent);
        assert!(table.contains("| | apalis 1.0.0 |"), "{table}");
        assert!(table.contains("| its replica | not measured: it was not built |"), "{table}");
    }

    #[test]
    fn without_hourhand_nothing_begins() {
        let empty = tempfile::tempdir().unwrap();
        let error = present(&[HOURHAND], empty.path(), None).unwrap_err().to_string();
        assert!(error.ends_with("bench-hourhand is not there: build it first"), "{error}");
    }

    #[test]
    fn a_missing_interpreter_is_told_from_a_missing_installation() {
        assert_eq!(peer("pg-boss").absence(|_| false), "no node on this machine");
        assert_eq!(peer("procrastinate").absence(|_| false), "no python3 on this machine");
        assert_eq!(peer("procrastinate").absence(|_| true), "it was not installed");
    }

    #[test]
    fn each_version_is_the_one_that_the_manifest_asks_for() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        for Peer { name, version, language, .. } in PEERS {
            let (file, line) = match language {
                Language::Rust => ("Cargo.toml", format!("{name} = \"={version}\"")),
                Language::Python => ("requirements.txt", format!("{name}=={version}")),
                Language::Node => ("package.json", format!("\"{name}\": \"{version}\"")),
            };
            let text = std::fs::read_to_string(own.join(name).join(file)).unwrap();
            assert!(text.to_lowercase().contains(&line), "{name}: {file} does not say {line}");
        }
    }

    #[test]
    fn no_manifest_and_no_lock_of_a_peer_names_a_place_in_the_network_to_load_from() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        for peer in PEERS.iter().filter(|peer| peer.language != Language::Rust) {
            for file in ["requirements.txt", "package.json", "package-lock.json", ".npmrc"] {
                let text = std::fs::read_to_string(own.join(peer.name).join(file)).unwrap_or_default();
                assert!(!text.contains("://"), "{}: {file}", peer.name);
            }
        }
    }
}
