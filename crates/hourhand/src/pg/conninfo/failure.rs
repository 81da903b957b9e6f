//! Why no connection came about, and whose move it is.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio_postgres::error::DbError;

use super::target::{Kind, Target};
use crate::pg::tls::{HandshakeError, TlsError};

/// Why none of the servers could be connected to: what happened at each, in the order of trying.
///
/// The last one decides which of the three predicates holds; exactly one does. Passwords are in neither `Display` nor
/// `Debug`.
#[derive(Debug)]
pub(crate) struct ConnectError {
    failures: Vec<Failure>,
}

impl ConnectError {
    pub(super) fn new(failures: Vec<Failure>) -> ConnectError {
        ConnectError { failures }
    }

    /// Whether it may work later without anybody doing anything: the server is away, starting, full or too slow, or no
    /// server is what `target_session_attrs` asks for.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.blame() == Some(Blame::Server)
    }

    /// Whether the server knows us not or lets us not in: password, role, database, `pg_hba.conf`.
    pub(crate) fn is_denied(&self) -> bool {
        self.blame() == Some(Blame::Access)
    }

    /// Whether what was asked for does not fit the server, above all in TLS.
    pub(crate) fn is_config(&self) -> bool {
        !self.is_unreachable() && !self.is_denied()
    }

    /// The server's last word, if it had one: for its SQLSTATE.
    pub(crate) fn db_error(&self) -> Option<&DbError> {
        match &self.failures.last()?.reason {
            Reason::Refused(error) => Some(error),
            _ => None,
        }
    }

    fn blame(&self) -> Option<Blame> {
        self.failures.last().map(|failure| failure.reason.blame())
    }
}

impl std::error::Error for ConnectError {}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot connect")?;
        for (at, failure) in self.failures.iter().enumerate() {
            let separator = if at == 0 { "" } else { ";" };
            write!(f, "{separator} to {}: {}", failure.server, failure.reason)?;
            if let Some(hint) = &failure.hint {
                write!(f, " ({hint})")?;
            }
        }
        Ok(())
    }
}

/// What happened at one server.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) server: String,
    pub(super) reason: Reason,
    /// What is worth knowing about the password.
    pub(super) hint: Option<String>,
}

/// Whose move it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// The server's or the network's: to wait helps.
    Server,
    /// Of whoever gives access.
    Access,
    /// Of whoever wrote the connection string.
    Config,
}

/// Why one server could not be connected to.
#[derive(Debug, thiserror::Error)]
pub(super) enum Reason {
    #[error("its name cannot be looked up: {0}")]
    NoAddress(io::Error),
    #[error("{}{}", broken(.0), .0)]
    Io(io::Error),
    #[error("the server closed the connection")]
    Closed,
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    #[error("{}: {} ({})", .0.severity().to_ascii_lowercase(), .0.message(), .0.code().code())]
    Refused(Box<DbError>),
    #[error("it is {is}, and target_session_attrs={wanted} asks for another")]
    WrongKind { is: Kind, wanted: Target },
    #[error("the server speaks no tls, which the sslmode asks for")]
    NoTls,
    #[error("{0}")]
    Handshake(HandshakeError),
    #[error("{0}")]
    TlsSetup(TlsError),
    #[error("{0}")]
    Authentication(String),
    #[error("what it answers is not what a postgresql server says ({0})")]
    Talk(String),
}

/// The system's own words stand for themselves; those of readers ("failed to fill whole buffer") do not.
fn broken(error: &io::Error) -> &'static str {
    if error.raw_os_error().is_none() { "the connection broke off: " } else { "" }
}

impl Reason {
    /// What an error of tokio-postgres means, told by its types.
    ///
    /// `tls_begun` is whether the server had agreed to TLS, `tls_required` whether nothing could have been sent without.
    pub(super) fn of(error: tokio_postgres::Error, tls_begun: bool, tls_required: bool) -> Reason {
        if error.is_closed() {
            return Reason::Closed;
        }
        let words = error.to_string();
        let Some(cause) = error.into_source() else { return Reason::Talk(words) };
        let cause = match cause.downcast::<DbError>() {
            Ok(error) => return Reason::Refused(error),
            Err(cause) => cause,
        };
        let cause = match cause.downcast::<HandshakeError>() {
            Ok(error) => return Reason::Handshake(*error),
            Err(cause) => cause,
        };
        match cause.downcast::<io::Error>() {
            // Messages that cannot be made sense of come as an io error of these kinds, not the network's.
            Ok(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                Reason::Talk(error.to_string())
            }
            Ok(error) => Reason::Io(*error),
            Err(_) if tls_required && !tls_begun => Reason::NoTls,
            Err(cause) => Reason::Authentication(cause.to_string()),
        }
    }

    pub(super) fn blame(&self) -> Blame {
        match self {
            Reason::NoAddress(_) | Reason::Io(_) | Reason::Closed | Reason::TimedOut(_) | Reason::WrongKind { .. } => {
                Blame::Server
            }
            Reason::Handshake(error) if error.is_io() => Blame::Server,
            Reason::Handshake(_) | Reason::NoTls | Reason::TlsSetup(_) | Reason::Talk(_) => Blame::Config,
            Reason::Authentication(_) => Blame::Access,
            Reason::Refused(error) => blame_by_code(error.code().code()),
        }
    }

    /// Whether the password, or that there is none, may be what this is about.
    pub(super) fn is_about_password(&self) -> bool {
        match self {
            Reason::Authentication(_) => true,
            Reason::Refused(error) => error.code().code() == "28P01",
            _ => false,
        }
    }

    /// Whether the other way, with or without encryption, may be let in: the server's rules for access refused this
    /// one, or the handshake failed. A wrong password is no such reason: it would be sent a second time, in the open.
    pub(super) fn hopes_for_other_encryption(&self) -> bool {
        match self {
            Reason::Handshake(_) => true,
            Reason::Refused(error) => error.code().code() == "28000",
            _ => false,
        }
    }
}

/// Whose move it is when the server answered with this SQLSTATE.
fn blame_by_code(code: &str) -> Blame {
    match code {
        // No such database; no right to connect to it; it takes no connections.
        "3D000" | "42501" | "55000" => Blame::Access,
        _ => match code.get(..2) {
            // Poolers say 08P01 for servers that are away as well as for parameters they refuse: the former passes.
            Some("08" | "53" | "57" | "58" | "XX") => Blame::Server,
            Some("28") => Blame::Access,
            _ => Blame::Config,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sqlstate_says_whose_move_it_is() {
        for (code, blame) in [
            ("57P03", Blame::Server),
            ("53300", Blame::Server),
            ("57P01", Blame::Server),
            ("08P01", Blame::Server),
            ("28P01", Blame::Access),
            ("28000", Blame::Access),
            ("3D000", Blame::Access),
            ("42501", Blame::Access),
            ("22023", Blame::Config),
            ("", Blame::Config),
        ] {
            assert_eq!(blame_by_code(code), blame, "{code}");
        }
    }
}
