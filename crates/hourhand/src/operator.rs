//! Seeing and acting from outside: what the command, the dashboard and a service's own tools use.

mod builder;
mod changes;
mod examine;
mod history;
mod interventions;
mod locks;
mod open_requests;
mod orders;
mod pages;
mod requests;
mod standing;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use hourhand_core::name::Namespace;
use hourhand_core::protocol::{Trouble, TroubleKind};
use jiff::SignedDuration;
use tokio_postgres::Row;

use crate::error::{Error, hint};
use crate::pg::conninfo::Conninfo;
use crate::pg::row::get;
use crate::pg::{Line, OperatorStatements, PageStatements, Param, Schema};
use crate::status::JobStatus;

pub use builder::OperatorBuilder;
pub use changes::Changes;
pub use examine::{Finding, Fixed, Severity};
pub use history::{AuditEntry, AuditQuery, HistoryEntry, HistoryQuery};
pub use interventions::{Eviction, Forgetting, LockHolder, NextWindow};
pub use locks::AdvisoryLock;
pub use open_requests::OpenRequest;
pub use orders::Cancelled;
pub use pages::{ConnectedNode, JobDetail, OpenRun};
pub use requests::Asked;
pub use wait::RunEnd;

/// Sees all jobs of a schema and acts on them, from any process that reaches the database: it needs no scheduler of its own.
///
/// One plain connection, which may go through any pooler. It runs no job, holds no lock and leaves no setting behind; a
/// connection that is lost is made anew by the next call. What it does is written to the audit trail by the same statement,
/// in the name of its actor.
///
/// ```no_run
/// # async fn example() -> Result<(), hourhand::Error> {
/// use hourhand::Operator;
///
/// let operator = Operator::builder("postgres://app@db/app").actor("ann@desk").connect().await?;
/// for job in operator.status(None).await? {
///     println!("{}: {:?}", job.job, job.last_outcome);
/// }
/// operator.pause("order-sync", None, Some("the order service is moved")).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Operator {
    pub(crate) line: Arc<Line>,
    pub(crate) statements: Arc<OperatorStatements>,
    pub(crate) pages: Arc<PageStatements>,
    pub(crate) schema: Schema,
    pub(crate) namespace: Option<Namespace>,
    /// Where schedulers have their sessions.
    session: Arc<Conninfo>,
    /// Schedulers take leases, and have no session of their own.
    leases: bool,
    /// For tests.
    clock_ahead: SignedDuration,
    pub(crate) actor: String,
    /// How long a question may take.
    pub(crate) within: Duration,
}

impl Operator {
    /// The same operator over the same connection, acting in somebody else's name: for a service that knows who asks.
    #[must_use]
    pub fn acting_as(&self, actor: impl Into<String>) -> Operator {
        Operator { actor: actor.into(), ..self.clone() }
    }

    /// The same operator over the same connection, whose questions the server gives up after so long; 9.5 s if nothing is said. For
    /// pages, which somebody waits for, and which must not become load where the database is slow already. Acts keep their own bound.
    #[must_use]
    pub fn answering_within(&self, bound: Duration) -> Operator {
        Operator { within: bound, ..self.clone() }
    }

    /// How jobs stand, read from rows and locks by one statement: all of the schema, in the order of their names, or the one.
    ///
    /// # Errors
    ///
    /// [`Error::is_unknown_job`] with the near names; [`Error::is_not_migrated`] without the schema; [`Error::is_unreachable`] when the
    /// database could not be asked, or is a standby, which does not see the locks.
    pub async fn status(&self, job: Option<&str>) -> Result<Vec<JobStatus>, Error> {
        let jobs = self.standings("status", job).await?;
        Ok(jobs.iter().map(standing::Standing::status).collect())
    }

    /// The rows of a statement that only looks.
    pub(crate) async fn read(
        &self,
        attempted: &'static str,
        statement: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Error> {
        self.line.read(statement, params, self.within).await.map_err(|trouble| self.failed(attempted, trouble))
    }

    /// The rows of a statement that acts.
    pub(crate) async fn write(
        &self,
        attempted: &'static str,
        statement: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Error> {
        self.line.write(statement, params).await.map_err(|trouble| self.failed(attempted, trouble))
    }

    /// The trouble as an error, with what to do about it where that is known.
    pub(crate) fn failed(&self, attempted: &'static str, trouble: Trouble) -> Error {
        let schema = &self.schema;
        let text = match trouble.kind {
            TroubleKind::NotMigrated => format!(
                "the schema {schema} is not there, or older than this version: run `hourhand migrate` (the server said: {})",
                trouble.text
            ),
            TroubleKind::Forbidden => format!(
                "this role may not do that in the schema {schema}: `hourhand migrate --grant-to ROLE`, as the \
                 schema's owner, grants what a role needs that runs jobs (the server said: {})",
                trouble.text
            ),
            _ => trouble.text,
        };
        Error::database(attempted, Trouble { text, ..trouble })
    }

    /// What to say of a job that is not there; asks for the names that are.
    pub(crate) async fn unknown(&self, job: &str) -> Error {
        let rows = match self.read("look for the job", &self.statements.job_names, &[]).await {
            Ok(rows) => rows,
            Err(error) => return error,
        };
        let names: Vec<String> = rows.iter().filter_map(|row| get(row, "name").ok()).collect();
        let hint = hint(job, names.iter().map(String::as_str), "no job has ever been registered there");
        Error::unknown_job(format!("no job {job:?} in schema {}: {hint}", self.schema))
    }
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (schema, actor) = (self.schema.as_str(), &self.actor);
        f.debug_struct("Operator").field("schema", &schema).field("actor", actor).finish_non_exhaustive()
    }
}
