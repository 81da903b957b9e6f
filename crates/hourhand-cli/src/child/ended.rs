//! How a command ended, in words for people.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use hourhand::Failure;

use super::output::Kept;
use crate::guardian::words::Status;

/// EX_TEMPFAIL of sysexits.h: try again later.
const TEMPORARY: i32 = 75;

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It ended like this.
    With(Status),
    /// It could not be started.
    NotStarted {
        /// The system's reason.
        errno: i32,
        /// In words.
        why: String,
    },
    /// Its guardian was killed, and the command with it.
    GuardianKilled,
}

impl Ended {
    /// As the end of a run.
    ///
    /// # Errors
    ///
    /// Anything but exit status 0.
    pub(crate) fn verdict(&self, kept: &Kept) -> Result<(), Failure> {
        let status = match self {
            Ended::With(status) => *status,
            Ended::NotStarted { why, .. } => return Err(Failure::unexpected(why)),
            Ended::GuardianKilled => {
                return Err(Failure::unexpected("the command's guardian was killed, and the command with it"));
            }
        };
        let message = format!("{status}{}", kept.last_words().unwrap_or_default());
        match status {
            Status::Exited(0) => Ok(()),
            Status::Exited(TEMPORARY) => Err(Failure::transient(message)),
            Status::Exited(_) | Status::Killed(_) => Err(Failure::unexpected(message)),
        }
    }
}

impl Ended {
    /// As a shell says it: 127 for a command that is not there, 126 for one that may not be executed, 128 and its number for a signal.
    pub(crate) fn code(&self) -> i32 {
        match self {
            Ended::With(status) => status.code(),
            Ended::NotStarted { errno, .. }
                if io::Error::from_raw_os_error(*errno).kind() == io::ErrorKind::NotFound =>
            {
                127
            }
            Ended::NotStarted { .. } => 126,
            Ended::GuardianKilled => 128 + 9,
        }
    }
}

/// Why a command could not be started, from the system's reason.
pub(crate) fn why_not_started(program: &OsStr, errno: i32) -> String {
    let error = io::Error::from_raw_os_error(errno);
    let program = program.display();
    let path = Path::new(program.to_string().as_str()).to_owned();
    match error.kind() {
        io::ErrorKind::NotFound if path.components().count() > 1 && path.exists() => {
            format!("could not start {program}: the program named in its first line (#!) is not there")
        }
        io::ErrorKind::NotFound if path.components().count() > 1 => format!("could not start {program}: no such file"),
        io::ErrorKind::NotFound => {
            let places = std::env::var("PATH").unwrap_or_default();
            format!("could not start {program}: no such command in PATH ({places})")
        }
        io::ErrorKind::PermissionDenied => format!("could not start {program}: it may not be executed"),
        _ => format!("could not start {program}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_not_there_is_told_from_one_that_may_not_be_executed() {
        let told = |program: &str, errno| why_not_started(OsStr::new(program), errno);
        assert!(told("nonesuch", 2).starts_with("could not start nonesuch: no such command in PATH ("));
        assert_eq!(told("./nonesuch", 2), "could not start ./nonesuch: no such file");
        assert_eq!(told("/etc/passwd", 13), "could not start /etc/passwd: it may not be executed");
        assert!(told("/etc/passwd", 2).ends_with("first line (#!) is not there"));
        assert!(told("x", 7).contains("os error 7"));
    }
}
