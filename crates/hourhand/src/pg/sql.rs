//! The statements, one a file, with the schema's name put in.

use std::fmt;
use std::sync::Arc;

/// The name of the schema that holds hourhand's tables: a plain identifier, so that it can be put into statements and logs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Schema(Arc<str>);

/// A name that is not one.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "schema {0:?} is not a plain name: use up to 40 lower-case letters, digits and _, not beginning with a digit or pg_"
)]
pub(crate) struct SchemaError(String);

impl Schema {
    pub(crate) fn parse(name: &str) -> Result<Schema, SchemaError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && !name.starts_with("pg_");
        if begins && name.len() <= 40 && name.chars().all(plain) {
            Ok(Schema(name.into()))
        } else {
            Err(SchemaError(name.to_owned()))
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// A statement with the schema's quoted name for `{schema}`.
    pub(crate) fn put_into(&self, statement: &str) -> String {
        statement.replace("{schema}", &format!("\"{}\"", self.0))
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// All statements of a session, made once for its schema.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) register: String,
    pub(crate) stand_up: String,
    pub(crate) look: String,
    pub(crate) settle: String,
    pub(crate) settle_lost: String,
    pub(crate) pass_over: String,
    pub(crate) late: String,
    pub(crate) known: String,
    pub(crate) take_over: String,
    pub(crate) prune: String,
    pub(crate) pause: String,
    pub(crate) resume: String,
    pub(crate) cancel: String,
    pub(crate) request: String,
    pub(crate) close_request: String,
    pub(crate) try_grouped: String,
    pub(crate) start: String,
    pub(crate) start_alone: String,
    pub(crate) ping: String,
    pub(crate) end: String,
    pub(crate) end_alone: String,
    pub(crate) unblock: String,
    pub(crate) take_leases: String,
    pub(crate) renew_leases: String,
    pub(crate) release_leases: String,
    pub(crate) reconcile_leases: String,
}

pub(crate) const OPEN: &str = include_str!("sql/open.sql");
pub(crate) const READ_BACK: &str = include_str!("sql/read_back.sql");
pub(crate) const END_FORMER: &str = include_str!("sql/end_former.sql");
pub(crate) const IDENTITY: &str = include_str!("sql/identity.sql");
pub(crate) const UNMARK: &str = include_str!("sql/unmark.sql");
pub(crate) const MAINTAIN: &str = include_str!("sql/maintain.sql");
pub(crate) const TRY_LOCKS: &str = include_str!("sql/try_locks.sql");
pub(crate) const TRY_WATCHES: &str = include_str!("sql/try_watches.sql");
pub(crate) const UNLOCK: &str = include_str!("sql/unlock.sql");
pub(crate) const UNLOCK_WATCHES: &str = include_str!("sql/unlock_watches.sql");
pub(crate) const OWNED: &str = include_str!("sql/owned.sql");

const PING: &str = include_str!("sql/ping.sql");
const START: &str = include_str!("sql/start.sql");
const END: &str = include_str!("sql/end.sql");

impl Statements {
    pub(crate) fn of(schema: &Schema) -> Statements {
        let put = |statement: &str| schema.put_into(statement);
        Statements {
            register: put(include_str!("sql/register.sql")),
            stand_up: put(include_str!("sql/stand_up.sql")),
            look: put(include_str!("sql/look.sql")),
            settle: put(include_str!("sql/settle.sql")),
            settle_lost: put(include_str!("sql/settle_lost.sql")),
            pass_over: put(include_str!("sql/pass_over.sql")),
            take_over: put(include_str!("sql/take_over.sql")),
            late: put(include_str!("sql/late.sql")),
            known: put(include_str!("sql/known.sql")),
            prune: put(include_str!("sql/prune.sql")),
            pause: put(include_str!("sql/pause.sql")),
            resume: put(include_str!("sql/resume.sql")),
            cancel: put(include_str!("sql/cancel.sql")),
            request: put(include_str!("sql/request.sql")),
            close_request: put(include_str!("sql/close_request.sql")),
            try_grouped: put(include_str!("sql/try_grouped.sql")),
            start: put(START),
            start_alone: put(&waiting(START)),
            ping: put(PING),
            end: put(END),
            end_alone: put(&waiting(END)),
            unblock: put(include_str!("sql/unblock.sql")),
            take_leases: put(include_str!("sql/take_leases.sql")),
            renew_leases: put(include_str!("sql/renew_leases.sql")),
            release_leases: put(include_str!("sql/release_leases.sql")),
            reconcile_leases: put(include_str!("sql/reconcile_leases.sql")),
        }
    }
}

impl Statements {
    /// For a session that holds locks and reads no row.
    pub(crate) fn of_locks_alone(schema: &Schema) -> Statements {
        Statements { ping: without_cancels(PING), ..Statements::of(schema) }
    }
}

/// The same proof without its last column, which needs a table: nobody cancels a run that is in no row.
fn without_cancels(ping: &str) -> String {
    let proof = ping.rfind("array(").map_or(ping, |last| &ping[..last]);
    format!("{proof}'{{}}'::bigint[] as cancelled")
}

/// The same statement for one row, which it waits for (within `lock_timeout`).
fn waiting(statement: &str) -> String {
    statement.replace(" skip locked", "")
}
