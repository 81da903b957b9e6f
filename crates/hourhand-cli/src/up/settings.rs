//! What holds for the whole process: the command line before the file, the file before the environment.
//!
//! What is nearest to the person counts most. Read again when the file changes: if anything here differs but the address to listen at (and the
//! zone, which jobs have by then), it takes another scheduler, for a session, its locks and its ttl belong to the one that has them.

use std::net::SocketAddr;
use std::time::Duration;

use hourhand::{Exclusion, Operator, Scheduler, SchedulerBuilder};

use super::Orders;
use crate::config::{Secret, Top};
use crate::refusal::Refusal;

/// Everything that a scheduler is built from, but for its jobs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    database_url: Secret,
    session_url: Option<Secret>,
    schema: String,
    namespace: Option<String>,
    exclusion: Exclusion,
    pub(super) listen: Option<SocketAddr>,
    /// The rest is only said in the file.
    top: Top,
}

impl Settings {
    pub(super) fn of(orders: &Orders, top: &Top) -> Result<Settings, Refusal> {
        let globals = &orders.globals;
        let from_file = top.database_url.as_ref().map(|url| url.reveal().to_owned());
        let database_url = match globals.database_given()?.or(from_file) {
            Some(url) => url,
            None => globals.database_url()?,
        };
        let session_url = globals.session_url()?.map(Secret::new).or_else(|| top.session_url.clone());
        Ok(Settings {
            database_url: Secret::new(database_url),
            session_url,
            schema: globals.schema_given().or(top.schema.as_deref()).unwrap_or(globals.schema()).to_owned(),
            namespace: globals.namespace()?.map(|name| name.to_string()).or_else(|| top.namespace.clone()),
            exclusion: globals.exclusion_given().or(top.exclusion).unwrap_or(globals.exclusion()),
            listen: orders.listen.or(top.listen),
            top: top.clone(),
        })
    }

    /// Whether a scheduler built from these is like one built from the others.
    pub(super) fn build_alike(&self, others: &Settings) -> bool {
        let kept = |settings: &Settings| {
            // Jobs have their zones already, and the address is not the scheduler's.
            let top = Top { time_zone: None, listen: None, ..settings.top.clone() };
            Settings { listen: None, top, ..settings.clone() }
        };
        kept(self) == kept(others)
    }

    /// The key in the file that a complaint of the library's is about.
    pub(super) fn key_of(&self, complaint: &str) -> &'static str {
        match complaint.split([' ', ':']).next() {
            Some("session_url") => "session_url",
            Some("database") => "database_url",
            Some("schema") => "schema",
            Some(_) | None => "",
        }
    }

    /// Whether a dashboard of these shows what one of the others shows.
    pub(super) fn lead_to_the_same(&self, others: &Settings) -> bool {
        let way = |settings: &Settings| {
            let Settings { database_url, session_url, schema, namespace, exclusion, .. } = settings.clone();
            (database_url, session_url, schema, namespace, exclusion)
        };
        way(self) == way(others)
    }

    /// The operator behind the dashboard.
    pub(super) fn operator(&self) -> Result<Operator, Refusal> {
        let mut builder = Operator::builder(self.database_url.reveal()).schema(&self.schema).exclusion(self.exclusion);
        if let Some(url) = &self.session_url {
            builder = builder.session_url(url.reveal());
        }
        if let Some(namespace) = &self.namespace {
            builder = builder.namespace(namespace);
        }
        Ok(builder.connect_lazily()?)
    }

    /// A scheduler in a process of this age: what is left of the start delay is the new one's.
    pub(super) fn builder(&self, age: Duration) -> SchedulerBuilder {
        let top = &self.top;
        let mut builder = Scheduler::builder(self.database_url.reveal())
            .schema(&self.schema)
            .exclusion(self.exclusion)
            .resident(top.resident.unwrap_or(true));
        if let Some(url) = &self.session_url {
            builder = builder.session_url(url.reveal());
        }
        if let Some(namespace) = &self.namespace {
            builder = builder.namespace(namespace);
        }
        if let Some(ttl) = top.ttl {
            builder = builder.ttl(ttl);
        }
        if let Some(delay) = top.start_delay {
            builder = builder.start_delay(Duration::try_from(delay).unwrap_or_default().saturating_sub(age));
        }
        if let Some(grace) = top.shutdown_grace {
            builder = builder.shutdown_grace(grace);
        }
        if let Some(idle) = top.evict_foreign_idle_after {
            builder = builder.evict_foreign_idle_after(idle);
        }
        match top.runs_max {
            Some(runs) => builder.runs_max(usize::try_from(runs).unwrap_or(usize::MAX)),
            None => builder,
        }
    }
}
