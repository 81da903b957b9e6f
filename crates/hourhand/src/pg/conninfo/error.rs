//! What can be wrong with a connection string, in words that may be printed anywhere.
//!
//! Invariant: an error is made of our own words, names of parameters, positions and paths of files. It never repeats a
//! value and never the text itself: a password with an unencoded `/` or an unquoted blank turns up wherever the parser
//! happened to cut, so no piece of the text is known to be harmless.

use std::fmt;
use std::path::PathBuf;

use crate::pg::tls::TlsError;

/// Why a connection string, or what it refers to, cannot be used. Nothing was sent anywhere.
///
/// Trying again does not help until a person has changed something. Both `Display` and `Debug` are free of secrets.
#[derive(Debug, thiserror::Error)]
#[error("{place} {problem}")]
pub(crate) struct ConninfoError {
    /// Where the offending words stand, so that people look there and not elsewhere.
    pub(super) place: Place,
    /// What is wrong and what would be right; reads on from the place.
    pub(super) problem: Box<Problem>,
}

impl ConninfoError {
    pub(super) fn new(place: Place, problem: Problem) -> ConninfoError {
        ConninfoError { place, problem: Box::new(problem) }
    }

    /// An error of the text that was passed in.
    pub(super) fn text(problem: Problem) -> ConninfoError {
        ConninfoError::new(Place::Text, problem)
    }

    /// An error in one part of the URL that was passed in.
    pub(super) fn part(part: &'static str, problem: Problem) -> ConninfoError {
        ConninfoError::new(Place::Part(part), problem)
    }
}

/// Where a setting was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The connection string.
    Text,
    /// A part of a connection URL: `password`, `host`.
    Part(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A service file, and the line in it.
    ServiceFile(PathBuf, usize),
    /// Nowhere: it is what holds when nothing is said.
    Default,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Text => f.write_str("the connection string"),
            Place::Part(part) => write!(f, "the {part} of the connection URL"),
            Place::Variable(name) => write!(f, "the environment variable {name}"),
            Place::ServiceFile(path, line) => write!(f, "the service file {}, line {line},", path.display()),
            Place::Default => f.write_str("the connection"),
        }
    }
}

/// What is wrong. Every message goes on after the name of a [`Place`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("begins with a scheme that is not PostgreSQL's: {0}")]
    Scheme(&'static str),
    #[error(
        "is neither a URL (postgresql://user@host/database) nor made of name=value pairs; \
         a database alone is written dbname=NAME"
    )]
    NoForm,
    #[error(
        "has a % that no two hexadecimal digits follow; a % itself is written %25 \
         (and / ? # @ : as %2F %3F %23 %40 %3A)"
    )]
    PercentEncoding,
    #[error("has a zero byte (%00), which no connection setting can hold")]
    Zero,
    #[error("is not UTF-8")]
    NotUtf8,
    #[error(
        "cannot be told apart from the rest: an unencoded @ stands behind the place where the host begins. \
         A user name or password with / ? # @ : % in it is written with %2F %3F %23 %40 %3A %25 \
         (so is an @ in the database's name or in a parameter)"
    )]
    StrayAt,
    #[error("has a [ without its ]; an IPv6 address is written [::1]")]
    UnclosedBracket,
    #[error("has empty brackets; an IPv6 address is written [::1]")]
    EmptyBracket,
    #[error("has something other than a port, a path, a query or a comma behind the ]")]
    AfterBracket,
    #[error("has no = in parameter {nth}; parameters are written name=value")]
    NoEquals { nth: usize },
    #[error("has a second = in parameter {nth}; inside a value it is written %3D")]
    SecondEquals { nth: usize },
    #[error("has something that is no setting behind the password; {advice}{}", or_is(.nearest))]
    BehindPassword { advice: &'static str, nearest: Option<&'static str> },
    #[error("has a quoted value without its closing '; inside quotes ' is written \\' and \\ is written \\\\")]
    UnclosedQuote,
    #[error("has the unknown parameter {name}{}", hint(.nearest))]
    UnknownParameter { name: String, nearest: Option<&'static str> },
    #[error("has the parameter {name}, which is {owner} and not known to PostgreSQL: leave it out here")]
    ForeignParameter { name: &'static str, owner: &'static str },
    #[error("sets {name}, which hourhand cannot honour: {reason}")]
    Unsupported { name: &'static str, reason: &'static str },
    #[error("has something else than {expected} as {name}")]
    Value { name: &'static str, expected: String },
    #[error("has something else than a number from 1 to 65535 as port{}", encoding_hint(*.in_url))]
    Port { in_url: bool },
    #[error("has something else than numeric addresses as hostaddr; a name belongs into host")]
    Address,
    #[error("names {hosts} hosts and {others} {what}: give one for each host{}", one_for_all(.what))]
    Counts { hosts: usize, others: usize, what: &'static str },
    #[error("names a service inside a service, which is not possible")]
    NestedService,
    #[error("is not of the form name=value")]
    ServiceSyntax,
    #[error("names a service that is defined in none of: {}", list(.0))]
    NoService(Vec<PathBuf>),
    #[error("leads to the file {}, which cannot be read: {error}", .path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("gives no user, and the user of this process has no name to stand in: set user or PGUSER")]
    NoUser,
    #[error("asks for tls that cannot be set up: {0}")]
    Tls(TlsError),
}

fn hint(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(nearest) => format!("; is {nearest} meant?"),
        None => String::from("; the names are those of PostgreSQL's libpq"),
    }
}

fn or_is(nearest: &Option<&'static str>) -> String {
    nearest.map(|nearest| format!(" (or is the setting {nearest} meant?)")).unwrap_or_default()
}

fn encoding_hint(in_url: bool) -> &'static str {
    if in_url { "; where / ? # @ : % belong to a password, they are written %2F %3F %23 %40 %3A %25" } else { "" }
}

fn one_for_all(what: &str) -> &'static str {
    if what == "ports" { ", or one port for all" } else { "" }
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
