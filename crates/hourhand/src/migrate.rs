//! Making the schema without a scheduler.

use std::sync::Arc;
use std::time::Duration;

use hourhand_core::protocol::Trouble;
use uuid::Uuid;

use crate::error::Error;
use crate::pg::conninfo::{Conninfo, Environment};
use crate::pg::{self, Schema, SessionSettings, Signature, Statements};

/// How long another session's migration is waited for.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// What [`migrate`] does, as SQL for psql: for those who let nobody but a person change a schema.
///
/// Everything later than version `after` (0: all of it), in one transaction. With a `role` it ends with the grants that
/// this role needs to run jobs: it may then read and write the tables and call the functions, and change nothing of the schema.
///
/// # Errors
///
/// [`Error::is_config`] for a bad schema name.
pub fn migration_sql(schema: &str, after: i32, role: Option<&str>) -> Result<String, Error> {
    let schema = Schema::parse(schema).map_err(|error| Error::config(vec![error.to_string()]))?;
    Ok(pg::migrate::printed(&schema, after, role))
}

/// What [`migrate`] found and left: for whoever tells a person what has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migrated {
    /// The version that was there; 0: no schema.
    pub from: i32,
    /// The version that is there now. A schema newer than this program stays as it is.
    pub to: i32,
}

/// Makes or upgrades hourhand's schema, and starts no scheduler: for a service's own migration command.
///
/// Needs the right to create the schema, or a schema that is there and belongs to the role. May be called by many processes at
/// once: one does it, the others find it done.
///
/// # Errors
///
/// [`Error::is_config`] for an unreadable URL or a bad schema name, [`Error::is_incompatible`] for a server older than PostgreSQL
/// 14, else what the database said.
pub async fn migrate(database_url: &str, schema: &str) -> Result<Migrated, Error> {
    let opened = settings(database_url, schema)?.open(Uuid::new_v4().to_string(), false, None).await.map_err(failed)?;
    let work = async {
        loop {
            if let Some(from) = opened.session.upgrade().await? {
                return Ok(Migrated { from, to: from.max(pg::migrate::NEWEST) });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::select! {
        done = tokio::time::timeout(WAIT_MAX, work) => match done {
            Ok(done) => done.map_err(failed),
            Err(_) => Err(failed(pg::lost(format!("another session has been migrating for {WAIT_MAX:?}")))),
        },
        ended = opened.driving => Err(failed(ended)),
    }
}

/// Gives a role what it needs to run jobs, fence its writes and be asked about all of it, and no right to change anything of the
/// schema, which has to be there: what [`migration_sql`] ends with when it is given a role. Doing it again changes nothing.
///
/// # Errors
///
/// [`Error::is_config`] for a role that is not there; [`Error::is_forbidden`] unless the schema is one's own; otherwise as [`migrate`].
pub async fn grant(database_url: &str, schema: &str, role: &str) -> Result<(), Error> {
    let failed = |trouble| Error::database("grant", trouble);
    let opened = settings(database_url, schema)?.open(Uuid::new_v4().to_string(), false, None).await.map_err(failed)?;
    let known = tokio::select! {
        known = opened.session.grant(role) => known.map_err(failed)?,
        ended = opened.driving => return Err(failed(ended)),
    };
    let unknown =
        || Error::config(vec![format!("there is no role {role:?} in this server: create role \"{role}\" login")]);
    if known { Ok(()) } else { Err(unknown()) }
}

fn failed(trouble: Trouble) -> Error {
    Error::database("migrate", trouble)
}

/// A connection that leaves no setting behind, so it may go through a pooler.
fn settings(database_url: &str, schema: &str) -> Result<SessionSettings, Error> {
    let config = |error: String| Error::config(vec![error]);
    let conninfo =
        Conninfo::parse(database_url, &Environment::of_process()).map_err(|error| config(error.to_string()))?;
    let schema = Schema::parse(schema).map_err(|error| config(error.to_string()))?;
    Ok(SessionSettings {
        conninfo: Arc::new(conninfo),
        statements: Arc::new(Statements::of(&schema)),
        schema,
        ttl: Duration::from_secs(15),
        evict_foreign_idle_after: None,
        signature: Some(Signature::new(Uuid::new_v4().to_string(), Duration::from_secs(60), Duration::from_secs(1))),
        application_name: "hourhand migrate".to_owned(),
    })
}
