//! The project of `tests/django`, and the Python that runs it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use rustix::process::Pid;

/// One at a time makes the environment; other processes see it whole or not at all.
static MAKING: Mutex<()> = Mutex::new(());

/// Where the project's files stand.
pub fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/django")
}

/// Kept in the target directory, one for each text of `requirements.txt`.
fn environment() -> PathBuf {
    let wanted = fs::read_to_string(source().join("requirements.txt")).unwrap();
    let name: String = wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("django-{}", name.trim_matches('-')))
}

/// The environment's Python, not yet run.
pub fn python() -> Command {
    Command::new(environment().join("bin/python"))
}

/// A `PATH` on which its programs come first.
pub fn path() -> OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(environment().join("bin")).chain(std::env::split_paths(&rest).collect::<Vec<_>>());
    std::env::join_paths(all).unwrap()
}

/// A copy of the project for one test.
pub struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    /// With an environment to run it in, or why there is none.
    pub fn ready() -> Result<Project, String> {
        make_environment()?;
        let directory = tempfile::tempdir().unwrap();
        copy(&source(), directory.path());
        quicken(&directory.path().join("hourhand.toml"));
        Ok(Project { directory })
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

/// The guide's file, in a hurry: due every other second, and at once.
fn quicken(file: &Path) {
    let mut text = fs::read_to_string(file).unwrap();
    for (slow, quick) in [("\"@hourly\"", "\"every 2s\""), ("start_delay = \"90s\"", "ttl = \"5s\"")] {
        assert_eq!(text.matches(slow).count(), 1, "{slow} in {text}");
        text = text.replace(slow, quick);
    }
    fs::write(file, text).unwrap();
}

/// A marker, written last, says that it is whole.
fn make_environment() -> Result<(), String> {
    let _one = MAKING.lock().unwrap();
    let (place, wanted) = (environment(), source().join("requirements.txt"));
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let lock = fs::File::create(place.with_extension("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    if place.join("whole").exists() {
        return Ok(());
    }
    let _ = fs::remove_dir_all(&place);
    does(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "15"];
    does(python().args(pip).arg("--requirement").arg(wanted))?;
    fs::write(place.join("whole"), "").map_err(|error| error.to_string())
}

fn does(command: &mut Command) -> Result<(), String> {
    let name = format!("{command:?}");
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{name}: {}", said.trim())) }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let (entry, target) = (entry.as_ref().unwrap().path(), to.join(entry.as_ref().unwrap().file_name()));
        if entry.is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry, &target);
        } else {
            fs::copy(&entry, &target).unwrap();
        }
    }
}

/// The process that has started this one.
pub fn parent(pid: Pid) -> Pid {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    Pid::from_raw(rest.split(' ').nth(1).unwrap().parse().unwrap()).unwrap()
}
