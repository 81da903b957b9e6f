//! The scheduler's own trouble. A job's failure is data, and an expected answer is an enum: neither is an error.

use std::fmt;

use hourhand_core::near::near;
use hourhand_core::protocol::{Trouble, TroubleKind};

/// More names are no help.
const NAMES_LISTED_MAX: usize = 10;

/// What went wrong, as far as the caller can do something about it: ask the predicates, do not read the text.
pub struct Error(Box<Kind>);

#[derive(Debug)]
enum Kind {
    /// Everything that is wrong with what the caller asked for, all at once.
    Config(Vec<String>),
    Database {
        attempted: &'static str,
        trouble: Trouble,
    },
    Superseded {
        job: String,
        epoch: i64,
    },
    Transaction {
        attempted: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    UnknownJob(String),
    Stopped,
}

impl Error {
    pub(crate) fn config(complaints: Vec<String>) -> Error {
        Error(Box::new(Kind::Config(complaints)))
    }

    pub(crate) fn database(attempted: &'static str, trouble: Trouble) -> Error {
        Error(Box::new(Kind::Database { attempted, trouble }))
    }

    #[cfg(any(feature = "sqlx", feature = "tokio-postgres"))]
    pub(crate) fn superseded(job: &str, epoch: i64) -> Error {
        Error(Box::new(Kind::Superseded { job: job.to_owned(), epoch }))
    }

    #[cfg(any(feature = "sqlx", feature = "tokio-postgres"))]
    pub(crate) fn transaction(
        attempted: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        Error(Box::new(Kind::Transaction { attempted, source: source.into() }))
    }

    /// A job that is not in the schema, in words that name the near ones.
    pub(crate) fn unknown_job(text: String) -> Error {
        Error(Box::new(Kind::UnknownJob(text)))
    }

    pub(crate) fn stopped() -> Error {
        Error(Box::new(Kind::Stopped))
    }

    /// What was asked for can never work as it is: a bad schedule, two jobs with one name, an unreadable URL.
    pub fn is_config(&self) -> bool {
        matches!(*self.0, Kind::Config(_))
    }

    /// The database could not be asked; asking again later may help.
    pub fn is_unreachable(&self) -> bool {
        match &*self.0 {
            Kind::Database { trouble, .. } => {
                !matches!(trouble.kind, TroubleKind::Incompatible | TroubleKind::NotMigrated | TroubleKind::Forbidden)
            }
            Kind::Config(_)
            | Kind::Superseded { .. }
            | Kind::Transaction { .. }
            | Kind::UnknownJob(_)
            | Kind::Stopped => false,
        }
    }

    /// The database was too slow: the statement was given up, there or here. Also [`is_unreachable`](Error::is_unreachable).
    pub fn is_too_slow(&self) -> bool {
        let slow = |kind| matches!(kind, TroubleKind::Cancelled | TroubleKind::TimedOut);
        matches!(&*self.0, Kind::Database { trouble, .. } if slow(trouble.kind))
    }

    /// hourhand's schema is not there, or older than this version needs: migrate.
    pub fn is_not_migrated(&self) -> bool {
        matches!(&*self.0, Kind::Database { trouble, .. } if trouble.kind == TroubleKind::NotMigrated)
    }

    /// The role may not do that; the text says what it would take.
    pub fn is_forbidden(&self) -> bool {
        matches!(&*self.0, Kind::Database { trouble, .. } if trouble.kind == TroubleKind::Forbidden)
    }

    /// The schema, or the scheduler, has no such job; the text says what may be meant.
    pub fn is_unknown_job(&self) -> bool {
        matches!(*self.0, Kind::UnknownJob(_))
    }

    /// The server can never serve: too old, or of another kind.
    pub fn is_incompatible(&self) -> bool {
        matches!(&*self.0, Kind::Database { trouble, .. } if trouble.kind == TroubleKind::Incompatible)
    }

    /// The fence said no: a later run has started, or the end of this one is recorded. Roll back and return.
    pub fn is_superseded(&self) -> bool {
        matches!(*self.0, Kind::Superseded { .. })
    }

    /// The scheduler has shut down.
    pub fn is_stopped(&self) -> bool {
        matches!(*self.0, Kind::Stopped)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Config(complaints) => f.write_str(&complaints.join("\n")),
            Kind::Database { attempted, trouble } => match deed(attempted, trouble.kind) {
                Some(deed) => write!(f, "could not {deed}: {}", trouble.text),
                None => f.write_str(&trouble.text),
            },
            Kind::Superseded { job, epoch } => write!(f, "run {epoch} of job {job} is no longer the current one"),
            Kind::Transaction { attempted, .. } => f.write_str(attempted),
            Kind::UnknownJob(text) => f.write_str(text),
            Kind::Stopped => f.write_str("the scheduler has shut down"),
        }
    }
}

/// What may have been meant by the name of a job that is not among these.
pub(crate) fn hint<'a>(job: &str, names: impl Iterator<Item = &'a str>, without: &str) -> String {
    let names: Vec<&str> = names.collect();
    let quoted = |names: &[&str]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    match near(job, names.iter().copied()) {
        near if !near.is_empty() => format!("is {} meant?", quoted(&near)),
        _ if names.is_empty() => without.to_owned(),
        _ if names.len() > NAMES_LISTED_MAX => format!("none of its {} jobs has a name near to it", names.len()),
        _ => format!("it has {}", quoted(&names)),
    }
}

/// What was attempted, in words for whoever is told that it failed; none where the trouble says all there is to say.
fn deed(attempted: &'static str, kind: TroubleKind) -> Option<&'static str> {
    if attempted == "connect" || matches!(kind, TroubleKind::NotMigrated | TroubleKind::Incompatible) {
        return None;
    }
    Some(match attempted {
        "audit" => "read who did what",
        "backfill" => "ask for a backfill",
        "cancel" => "cancel the run",
        "evict" => "end the session",
        "examine" => "look for what is wrong",
        "fix" => "mend what is safe to mend",
        "forget" => "forget the job",
        "grant" => "grant what the role needs",
        "history" => "read the history",
        "listen" => "listen for changes",
        "locks" => "list the locks",
        "migrate" => "make or upgrade the schema",
        "nodes" => "list the nodes",
        "pause" => "pause the job",
        "requests" => "list what is asked for",
        "resume" => "resume the job",
        "run" => "run the job",
        "status" => "see how the jobs stand",
        "trigger" => "ask for a run",
        "wait" => "wait for the end of the run",
        "window" => "see or set the window",
        other => other,
    })
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a `main` that ends with `?` shows: as people should read it, with its cause.
        fmt::Display::fmt(self, f)?;
        match std::error::Error::source(self) {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Kind::Transaction { source, .. } => Some(&**source),
            Kind::Config(_) | Kind::Database { .. } | Kind::Superseded { .. } | Kind::UnknownJob(_) | Kind::Stopped => {
                None
            }
        }
    }
}

/// What was read, or a complaint about `what` (empty: the error says it by itself) beside the others: who builds something is told all
/// that is wrong at once.
pub(crate) fn keep<T, E: fmt::Display>(result: Result<T, E>, what: &str, complaints: &mut Vec<String>) -> Option<T> {
    let separator = if what.is_empty() { "" } else { ": " };
    result.map_err(|error| complaints.push(format!("{what}{separator}{error}"))).ok()
}
