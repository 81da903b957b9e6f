//! Building an operator: everything that can be wrong is said at once, before anybody is asked.

use std::sync::Arc;

use hourhand_core::name::Namespace;
use hourhand_core::node::Exclusion;
use jiff::SignedDuration;

use super::Operator;
use crate::error::{Error, keep};
use crate::pg::conninfo::{Conninfo, Environment};
use crate::pg::{Line, OperatorStatements, PageStatements, STATEMENT_BOUND, Schema};

/// An operator to be: see [`Operator::builder`].
#[must_use = "nothing is asked before connect()"]
pub struct OperatorBuilder {
    database_url: String,
    session_url: Option<String>,
    schema: String,
    namespace: Option<String>,
    actor: Option<String>,
    leases: bool,
    clock_ahead: SignedDuration,
}

impl Operator {
    /// Begins an operator on the database at `database_url`, read as [`Scheduler::builder`](crate::Scheduler::builder) reads it. It
    /// may lead through any pooler.
    pub fn builder(database_url: impl Into<String>) -> OperatorBuilder {
        OperatorBuilder {
            database_url: database_url.into(),
            session_url: None,
            schema: "hourhand".to_owned(),
            namespace: None,
            actor: None,
            leases: false,
            clock_ahead: SignedDuration::ZERO,
        }
    }
}

impl OperatorBuilder {
    /// The schema of hourhand's tables. Default `hourhand`.
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = name.into();
        self
    }

    /// The namespace of the schedulers' keys: what [`locks`](Operator::locks) computes the keys of guessed names with.
    pub fn namespace(mut self, name: impl Into<String>) -> Self {
        self.namespace = Some(name.into());
        self
    }

    /// In whose name it acts, for the audit trail. Default `user@host` of this process.
    pub fn actor(mut self, name: impl Into<String>) -> Self {
        self.actor = Some(name.into());
        self
    }

    /// Where schedulers have their sessions, if not at the database URL: [`examine`](Operator::examine) tries that way.
    pub fn session_url(mut self, url: impl Into<String>) -> Self {
        self.session_url = Some(url.into());
        self
    }

    /// How the schedulers exclude each other. With leases, [`examine`](Operator::examine) asks for no session of their own, and a
    /// transaction pooler is no fault. Default: session locks.
    pub fn exclusion(mut self, exclusion: Exclusion) -> Self {
        self.leases = exclusion == Exclusion::Lease;
        self
    }

    /// As if this machine's clock were ahead by so much. For tests.
    #[doc(hidden)]
    pub fn clock_ahead(mut self, length: SignedDuration) -> Self {
        self.clock_ahead = length;
        self
    }

    /// Connects, within some seconds. hourhand's schema need not be there: what needs it says so.
    ///
    /// # Errors
    ///
    /// [`Error::is_config`] for what can never work, all of it at once; [`Error::is_unreachable`] when no server let us in;
    /// [`Error::is_incompatible`] for one older than PostgreSQL 14.
    pub async fn connect(self) -> Result<Operator, Error> {
        let operator = self.connect_lazily()?;
        operator.line.connect().await.map_err(|trouble| Error::database("connect", trouble))?;
        Ok(operator)
    }

    /// An operator that connects at its first call: for a process that starts whether or not the database answers.
    ///
    /// # Errors
    ///
    /// [`Error::is_config`] for what can never work, all of it at once.
    pub fn connect_lazily(self) -> Result<Operator, Error> {
        let environment = Environment::of_process();
        let mut complaints = Vec::new();
        let mut read = |url: &str, what: &str| keep(Conninfo::parse(url, &environment), what, &mut complaints);
        let conninfo = read(&self.database_url, "database");
        let session = self.session_url.as_deref().and_then(|url| read(url, "session_url"));
        let schema = keep(Schema::parse(&self.schema), "", &mut complaints);
        let namespace = self.namespace.as_deref().map(Namespace::parse).transpose();
        let namespace = keep(namespace, "namespace", &mut complaints).flatten();
        let Some((conninfo, schema)) = conninfo.zip(schema).filter(|_| complaints.is_empty()) else {
            return Err(Error::config(complaints));
        };
        let conninfo = Arc::new(conninfo);
        Ok(Operator {
            line: Arc::new(Line::new(conninfo.clone(), "hourhand operator")),
            statements: Arc::new(OperatorStatements::of(&schema)),
            pages: Arc::new(PageStatements::of(&schema)),
            schema,
            namespace,
            session: session.map_or(conninfo, Arc::new),
            leases: self.leases,
            clock_ahead: self.clock_ahead,
            actor: self.actor.unwrap_or_else(user_at_host),
            within: STATEMENT_BOUND,
        })
    }
}

/// Who runs this process, where.
fn user_at_host() -> String {
    let user = whoami::username().unwrap_or_else(|_| "unknown".to_owned());
    format!("{user}@{}", rustix::system::uname().nodename().to_string_lossy())
}
