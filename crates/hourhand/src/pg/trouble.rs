//! What an error of the driver means, by SQLSTATE and type, never by text.

use hourhand_core::protocol::{Trouble, TroubleKind};
use tokio_postgres::error::{DbError, SqlState};

/// An error of the driver, or a row that is not as it should be, on its way to the node.
pub(crate) fn trouble(error: &tokio_postgres::Error) -> Trouble {
    match error.as_db_error() {
        Some(said) => Trouble { kind: kind_of(said.code()), text: text_of(said) },
        None => {
            let cause = std::error::Error::source(error);
            let text = cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
            let kind = if error.is_closed() || cause.is_some_and(|cause| cause.is::<std::io::Error>()) {
                TroubleKind::Unreachable
            } else {
                TroubleKind::Other
            };
            Trouble { kind, text }
        }
    }
}

/// Message and code, nothing of the row: details may hold values.
fn text_of(said: &DbError) -> String {
    format!("{} ({})", said.message(), said.code().code())
}

fn kind_of(code: &SqlState) -> TroubleKind {
    match code.code() {
        "57014" | "55P03" | "40001" | "40P01" => TroubleKind::Cancelled,
        "53200" => TroubleKind::OutOfLocks,
        "53300" => TroubleKind::TooManyConnections,
        "42501" => TroubleKind::Forbidden,
        "42P01" | "3F000" | "42883" | "42703" => TroubleKind::NotMigrated,
        // A session of our own knows the statements that it prepared.
        "26000" => TroubleKind::Pooled,
        "28P01" | "28000" | "3D000" => TroubleKind::Refused,
        // A standby, or a primary on its way down; and every way a session is ended.
        "25006" | "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => TroubleKind::Unreachable,
        code if code.starts_with("08") => TroubleKind::Unreachable,
        _ => TroubleKind::Other,
    }
}

/// There is no session any more, or none that serves.
pub(crate) fn lost(text: impl Into<String>) -> Trouble {
    Trouble { kind: TroubleKind::Unreachable, text: text.into() }
}

/// Our own bound passed.
pub(crate) fn timed_out(what: &str, bound: std::time::Duration) -> Trouble {
    Trouble { kind: TroubleKind::TimedOut, text: format!("{what} was not answered within {bound:?}") }
}

/// The server answered something that it should not.
pub(crate) fn unexpected(text: impl Into<String>) -> Trouble {
    Trouble { kind: TroubleKind::Other, text: text.into() }
}

/// What somebody can do about it, to stand behind its text; empty where nothing but time helps.
pub(crate) fn remedy(kind: TroubleKind) -> &'static str {
    match kind {
        TroubleKind::NotMigrated => " (make the schema: `hourhand migrate`, or migrate(true) on the builder)",
        TroubleKind::Forbidden => " (`hourhand migrate --grant-to ROLE` grants what a role needs that runs jobs)",
        _ => "",
    }
}
