//! What is wrong, why it matters, and what to do about it, word for word: what the person on call asks at night.
//!
//! Looking takes a few statements, one session opened the way a scheduler opens its own, and where a lock looks odd a second
//! look after a moment. What was seen becomes findings by plain functions, one room a subject. Nothing here changes anything; what
//! [`Operator::fix`] does is only what any node would do by itself.

mod history;
mod jobs;
mod locks;
mod lost;
mod rights;
mod server;
mod session;
mod settings;

use std::time::Duration;

use hourhand_core::protocol::{Trouble, TroubleKind};

use super::Operator;
use super::locks::AdvisoryLock;
use crate::error::Error;

/// Between the two looks at a lock that looks odd: longer than a node takes from lock to start.
const SECOND_LOOK_AFTER: Duration = Duration::from_millis(1200);

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Severity {
    /// Jobs do not run, or may run wrongly.
    Error,
    /// It will hurt one day.
    Warning,
    /// Worth knowing.
    Info,
}

/// Something that [`Operator::examine`] found.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Finding {
    /// Which kind it is: one word, stable across versions.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub message: String,
    /// Why it matters.
    pub why: String,
    /// What to do, in words.
    pub remedy: String,
    /// The statements that do it, one after another, where SQL does; some want a stronger role.
    pub sql: Vec<String>,
    /// The job that it is about.
    pub job: Option<String>,
}

/// Something that [`Operator::fix`] did.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Fixed {
    /// The kind of finding.
    pub id: &'static str,
    /// What was done.
    pub message: String,
}

impl Severity {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

impl Finding {
    pub(super) fn new(id: &'static str, severity: Severity, message: impl Into<String>) -> Finding {
        let (why, remedy) = (String::new(), String::new());
        Finding { id, severity, message: message.into(), why, remedy, sql: Vec::new(), job: None }
    }

    pub(super) fn why(self, why: impl Into<String>) -> Finding {
        Finding { why: why.into(), ..self }
    }

    pub(super) fn remedy(self, remedy: impl Into<String>) -> Finding {
        Finding { remedy: remedy.into(), ..self }
    }

    pub(super) fn sql(self, statements: impl IntoIterator<Item = String>) -> Finding {
        Finding { sql: statements.into_iter().collect(), ..self }
    }

    pub(super) fn job(self, job: &str) -> Finding {
        Finding { job: Some(job.to_owned()), ..self }
    }
}

impl Operator {
    /// Looks for everything that is or will be wrong with the server, the session that schedulers need, the schema, the locks and the
    /// jobs; the worst first. Changes nothing. What this role may not see is a finding too.
    ///
    /// # Errors
    ///
    /// [`Error::is_unreachable`] when the database could not be asked.
    pub async fn examine(&self) -> Result<Vec<Finding>, Error> {
        let server = self.server().await?;
        let mut findings = server.findings(&self.schema);
        if !server.standby {
            findings.extend(self.session_findings().await);
        }
        let rights = self.rights(&server.role).await?;
        findings.extend(rights.findings);
        let locks = self.settled_locks().await?;
        findings.extend(locks::findings(&locks, &server));
        if rights.readable && !server.standby {
            findings.extend(self.job_findings().await?);
            findings.extend(self.lost_findings().await?);
            findings.extend(self.history_findings().await?);
        }
        findings.sort_by_key(|finding| finding.severity);
        Ok(findings)
    }

    /// Does what any node would do by itself: ends the sessions of frozen nodes, puts lost runs on record, removes history past its
    /// retention. Says what it did.
    ///
    /// # Errors
    ///
    /// As [`Operator::examine`]; [`Error::is_forbidden`] where this role may not.
    pub async fn fix(&self) -> Result<Vec<Fixed>, Error> {
        let mut fixed = Vec::new();
        for lock in self.locks(&[]).await? {
            if let Some(message) = self.end_silent(&lock).await? {
                fixed.push(Fixed { id: "silent_holder", message });
            }
        }
        let lost = match self.settle_lost().await {
            Err(error) if error.is_not_migrated() => return Ok(fixed),
            lost => lost?,
        };
        fixed.extend(lost.into_iter().map(|message| Fixed { id: "lost", message }));
        let rows = self.prune().await?;
        if rows > 0 {
            fixed.push(Fixed { id: "history", message: format!("removed {rows} rows past their retention") });
        }
        Ok(fixed)
    }

    /// The locks, and if one looks odd those that still do after a moment: between a lock and its start it is held for nothing.
    async fn settled_locks(&self) -> Result<Vec<AdvisoryLock>, Error> {
        let first = self.locks(&[]).await?;
        if !first.iter().any(locks::is_odd) {
            return Ok(first);
        }
        tokio::time::sleep(SECOND_LOOK_AFTER).await;
        let mut second = self.locks(&[]).await?;
        let was_odd = |lock: &AdvisoryLock| {
            first.iter().any(|other| (other.key, other.objsubid, other.pid) == (lock.key, lock.objsubid, lock.pid))
        };
        second.retain(|lock| !locks::is_odd(lock) || was_odd(lock));
        Ok(second)
    }

    /// Whether the schema cannot be asked, rather than the server.
    pub(super) fn is_about_schema(trouble: &Trouble) -> bool {
        matches!(trouble.kind, TroubleKind::NotMigrated | TroubleKind::Forbidden)
    }
}

/// A name as SQL writes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as SQL writes it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
