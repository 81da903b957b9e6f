//! Whether a scheduler could have its session: one is opened exactly as it would, probed, and closed again.

use std::sync::Arc;
use std::time::Duration;

use hourhand_core::protocol::{Trouble, TroubleKind};
use uuid::Uuid;

use super::{Finding, Severity};
use crate::operator::Operator;
use crate::pg::{SessionSettings, Statements};

impl Operator {
    pub(super) async fn session_findings(&self) -> Vec<Finding> {
        let settings = SessionSettings {
            conninfo: self.session.clone(),
            schema: self.schema.clone(),
            statements: Arc::new(Statements::of(&self.schema)),
            ttl: Duration::from_secs(15),
            evict_foreign_idle_after: None,
            signature: None,
            application_name: "hourhand doctor".to_owned(),
        };
        let probed = !self.leases;
        if !probed {
            // Leases need no session of their own; that the database can be asked is seen already.
            return Vec::new();
        }
        match settings.open(Uuid::new_v4().to_string(), true, None).await {
            Ok(opened) => opened.unmet.iter().map(|unmet| refused_setting(unmet)).collect(),
            Err(trouble) => vec![refused(&trouble)],
        }
    }
}

fn refused(trouble: &Trouble) -> Finding {
    if trouble.kind == TroubleKind::Pooled {
        return Finding::new("transaction_pooler", Severity::Error, "a transaction pooler stands between hourhand and the server")
            .why("a session lock taken through it lands on a connection that is nobody's: jobs would stop for ever, or overlap")
            .remedy("give schedulers a URL that leads past it (session_url; the pooler may stay for everything \
             else), or have them use leases (exclusion = \"lease\")");
    }
    let message = format!("a scheduler could not have its session: {}", trouble.text);
    let remedy = match trouble.kind {
        TroubleKind::TooManyConnections => "free connections, or raise the limit that was met",
        TroubleKind::Refused => "check role, password, database and pg_hba.conf for the session's URL",
        TroubleKind::Incompatible => "mend the connection string as the message says",
        _ => "lead the session's URL to a server that answers, the primary",
    };
    Finding::new("session", Severity::Error, message).why("without it no job runs").remedy(remedy)
}

/// A setting of the session that the server did not take: `name = value instead of value`.
fn refused_setting(unmet: &str) -> Finding {
    let keepalives = unmet.starts_with("tcp_") || unmet.starts_with("client_connection_check_interval");
    let (id, why, remedy) = if keepalives {
        (
            "keepalives",
            "they bound how long a holder whose machine vanished keeps its lock; without them the kernel's two hours hold",
            "connect by TCP to a server on a system that knows these settings; \
             behind a proxy that ends TCP, silent holders are evicted by their watchers instead",
        )
    } else {
        (
            "settings_refused",
            "the protocol counts on it for every statement of a scheduler's session",
            "let the role set it (nothing but a proxy or an extension forbids that), or have the session go past what stands between",
        )
    };
    Finding::new(id, Severity::Warning, format!("the session's setting was not taken: {unmet}")).why(why).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_was_not_taken_is_told_from_keepalives_that_are_not_in_force() {
        let keepalives = refused_setting("tcp_user_timeout = 60000 instead of 15000");
        assert_eq!((keepalives.id, keepalives.severity), ("keepalives", Severity::Warning));
        assert!(keepalives.message.contains("60000 instead of 15000"));
        assert_eq!(refused_setting("synchronous_commit = off instead of on").id, "settings_refused");
    }

    #[test]
    fn what_stands_between_is_told_from_what_is_not_there() {
        let trouble = |kind| Trouble { kind, text: "said".to_owned() };
        assert_eq!(refused(&trouble(TroubleKind::Pooled)).id, "transaction_pooler");
        let full = refused(&trouble(TroubleKind::TooManyConnections));
        assert!(full.id == "session" && full.remedy.contains("free connections"));
    }
}
