//! The session: the process's one dedicated connection, never from a pool, and the only thing that holds locks.
//!
//! It is opened in a fixed order: the mark by which it is recognised, who answers, the probe for a pooler, then the settings, sent as
//! statements (poolers refuse start-up options), then their values read back. From then on each statement is bounded twice: by the server
//! (`statement_timeout`) and, a little later, by us, so that what we gave up has ended there.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hourhand_core::claim::Spans;
use hourhand_core::protocol::{Trouble, TroubleKind};
use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Notification};

use super::conninfo::{ConnectError, Conninfo, connect};
use super::lease::Signature;
use super::probe::probe;
use super::ready::Ready;
use super::row::{get, instant, instant_or_none};
use super::sql::{self, Schema, Statements};
use super::trouble::{timed_out, trouble, unexpected};
use super::tstz::Tstz;

/// All servers of the connection string together have this long.
const CONNECT_BOUND: Duration = Duration::from_secs(5);
/// Notifications are hints: beyond these they are dropped.
const NOTIFICATIONS_MAX: usize = 256;
/// The oldest server that serves (`server_version_num`).
const VERSION_MIN: i32 = 140_000;

/// What is needed to open a session.
#[derive(Clone)]
pub(crate) struct SessionSettings {
    pub(crate) conninfo: Arc<Conninfo>,
    pub(crate) schema: Schema,
    pub(crate) statements: Arc<Statements>,
    pub(crate) ttl: Duration,
    /// An idle session that is not hourhand's and holds a job's lock is ended after this long.
    pub(crate) evict_foreign_idle_after: Option<Duration>,
    /// Takes leases instead of session locks.
    pub(crate) signature: Option<Signature>,
    /// Shown in `pg_stat_activity`; begins with `hourhand`, plain characters only.
    pub(crate) application_name: String,
}

/// A backend of ours that may still be there: its pid and start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Former {
    pub(crate) pid: i32,
    pub(crate) backend_start: Timestamp,
}

/// What a node has a use for. A thousand runs a second say two thousand words, on every session that listens; most are not for nodes,
/// or are this session's own, and none of those may push out what somebody asks for.
fn hearing(sender: mpsc::Sender<Notification>, own_pid: Arc<OnceLock<i32>>) -> impl Fn(Notification) {
    move |notification| {
        let said = notification.payload();
        // For those who show what runs.
        let started = said.starts_with("start ");
        // Whoever watches a lock tries it each second, heard or not.
        let freed = said.starts_with("free ");
        let own = own_pid.get() == Some(&notification.process_id());
        let crowded = sender.capacity() < NOTIFICATIONS_MAX / 2;
        if !(started || freed && (own || crowded)) {
            // The reader sees that there was no more room.
            drop(sender.try_send(notification));
        }
    }
}

/// An open session: statements go through it, one at a time.
pub(crate) struct Session {
    pub(super) client: Client,
    pub(super) mark: String,
    pub(super) schema: Schema,
    pub(super) statements: Arc<Statements>,
    pub(super) statement_bound: Duration,
    pub(super) ttl: Duration,
    pub(super) evict_foreign_idle_after: Option<Duration>,
    pub(super) signature: Option<Signature>,
    /// The statements of a visit, once they are prepared.
    pub(super) ready: OnceLock<Ready>,
}

/// The half of a session that moves its bytes.
pub(crate) type Driving = Pin<Box<dyn Future<Output = Trouble> + Send>>;

/// A session just opened.
pub(crate) struct Opened {
    pub(crate) session: Session,
    /// Moves the bytes; ends when the session ends, and says why.
    pub(crate) driving: Driving,
    /// What other sessions say on our channel.
    pub(crate) notifications: mpsc::Receiver<Notification>,
    pub(crate) now: Timestamp,
    pub(crate) backend: Former,
    /// Settings that the server did not take, as `name = value instead of value`.
    pub(crate) unmet: Vec<String>,
}

impl SessionSettings {
    /// The bound on one statement, ours.
    fn statement_bound(&self) -> Duration {
        self.ttl / 5
    }

    /// Opens the session, or says why not, within ttl. `probe`: find out whether it is shared. `former`, if given, is ended on the
    /// server.
    ///
    /// The connection is driven here until everything is set, because nothing is answered otherwise.
    pub(crate) async fn open(&self, mark: String, probe: bool, former: Option<Former>) -> Result<Opened, Trouble> {
        let bound = self.ttl.min(Duration::from_secs(10));
        match tokio::time::timeout(bound, self.open_unbounded(mark, probe, former)).await {
            Ok(opened) => opened,
            Err(_) => Err(Trouble { kind: TroubleKind::Unreachable, ..timed_out("connect", bound) }),
        }
    }

    async fn open_unbounded(&self, mark: String, probe: bool, former: Option<Former>) -> Result<Opened, Trouble> {
        let (client, driver) =
            connect(&self.conninfo, &self.application_name, CONNECT_BOUND).await.map_err(|error| refused(&error))?;
        let (sender, notifications) = mpsc::channel(NOTIFICATIONS_MAX);
        let own_pid = Arc::new(OnceLock::new());
        let hear = hearing(sender, own_pid.clone());
        let mut driving: Driving = Box::pin(async move { ended(driver.run_and_hear(hear).await) });
        let session = Session {
            client,
            mark,
            schema: self.schema.clone(),
            statements: self.statements.clone(),
            statement_bound: self.statement_bound(),
            ttl: self.ttl,
            evict_foreign_idle_after: self.evict_foreign_idle_after,
            signature: self.signature.clone(),
            ready: OnceLock::new(),
        };
        let set_up = tokio::select! {
            set_up = self.set_up(&session, probe, former) => set_up,
            ended = &mut driving => Err(ended),
        };
        let (now, backend, unmet) = set_up?;
        let _ = own_pid.set(backend.pid);
        Ok(Opened { session, driving, notifications, now, backend, unmet })
    }

    async fn set_up(
        &self,
        session: &Session,
        probe: bool,
        former: Option<Former>,
    ) -> Result<(Timestamp, Former, Vec<String>), Trouble> {
        let leases = self.signature.is_some();
        let rows = session.rows(sql::OPEN, &[(&session.mark, Type::TEXT), (&leases, Type::BOOL)]).await?;
        let row = rows.first().ok_or_else(|| unexpected("the first statement returned no row"))?;
        let (version, number): (String, i32) = (get(row, "version")?, get(row, "version_number")?);
        serves(number, &version)?;
        if get(row, "standby")? {
            let text = "the server is a standby: locks and writes need the primary".to_owned();
            return Err(Trouble { kind: TroubleKind::Unreachable, text });
        }
        let pid: i32 = get(row, "pid")?;
        let backend_start = instant_or_none(row, "backend_start")?.unwrap_or(Timestamp::UNIX_EPOCH);
        let now = instant(row, "now")?;
        if leases {
            // Nothing of the connection is ours: no mark to probe with, no setting that would stay where we put it.
            return Ok((now, Former { pid, backend_start }, Vec::new()));
        }
        if probe {
            self.probe(session).await?;
        }
        let unmet = self.set(session, number).await?;
        if let Some(former) = former {
            let params: [super::ask::Param<'_>; 2] =
                [(&former.pid, Type::INT4), (&Tstz(former.backend_start), Type::TIMESTAMPTZ)];
            session.rows(sql::END_FORMER, &params).await?;
        }
        Ok((now, Former { pid, backend_start }, unmet))
    }

    /// Compares the session with a second connection, opened for this alone.
    async fn probe(&self, session: &Session) -> Result<(), Trouble> {
        let (other, driver) =
            connect(&self.conninfo, &self.application_name, CONNECT_BOUND).await.map_err(|error| refused(&error))?;
        let (sender, _notifications) = mpsc::channel(1);
        tokio::select! {
            probed = probe(&session.client, &session.mark, &other) => probed,
            end = driver.run(sender) => Err(ended(end)),
        }
    }

    /// Sends the settings, reads them back, and listens.
    async fn set(&self, session: &Session, version_number: i32) -> Result<Vec<String>, Trouble> {
        let wanted = self.wanted(version_number);
        let mut batch: String = wanted.iter().map(|(name, value)| format!("set {name} = '{value}';")).collect();
        let (name, schema) = (&self.application_name, &self.schema);
        batch.push_str(&format!(
            "set application_name = '{name}'; set search_path = \"{schema}\", pg_temp; listen hourhand"
        ));
        session.client.batch_execute(&batch).await.map_err(|error| trouble(&error))?;
        let names: Vec<&str> = wanted.iter().map(|(name, _)| *name).collect();
        let rows = session.rows(sql::READ_BACK, &[(&names, Type::TEXT_ARRAY)]).await?;
        let mut unmet = Vec::new();
        for row in &rows {
            let (name, value): (String, String) = (get(row, "name")?, get(row, "setting")?);
            let asked = wanted.iter().find(|(wanted, _)| *wanted == name).map(|(_, value)| value.as_str());
            // A Unix socket has no TCP settings: 0 is right there.
            let without_tcp = name.starts_with("tcp_") && value == "0";
            if asked.is_some_and(|asked| asked != value) && !without_tcp {
                unmet.push(format!("{name} = {value} instead of {}", asked.unwrap_or_default()));
            }
            // It alone ends the server's probing of a silent client.
            if let ("tcp_user_timeout", Ok(millis @ 1..)) = (name.as_str(), value.parse()) {
                unmet.extend(Spans::of(self.ttl).check_order(Duration::from_millis(millis)).err());
            }
        }
        Ok(unmet)
    }

    /// The settings of the protocol, in the units that `pg_settings` shows. The server's limits are shorter than ours, and the
    /// server's patience with a silent client is ttl.
    fn wanted(&self, version_number: i32) -> Vec<(&'static str, String)> {
        let ttl = self.ttl.as_secs();
        let ttl_ms = ttl * 1000;
        let beat = (ttl / 5).max(1);
        let mut wanted = vec![
            ("statement_timeout", (ttl_ms / 5 - 200).to_string()),
            ("lock_timeout", (ttl_ms / 15).to_string()),
            ("idle_in_transaction_session_timeout", ttl_ms.to_string()),
            ("idle_session_timeout", "0".to_owned()),
            ("synchronous_commit", "on".to_owned()),
            ("default_transaction_isolation", "read committed".to_owned()),
            ("default_transaction_read_only", "off".to_owned()),
            ("tcp_user_timeout", ttl_ms.to_string()),
            ("tcp_keepalives_idle", (3 * ttl / 5).to_string()),
            ("tcp_keepalives_interval", beat.to_string()),
            ("tcp_keepalives_count", "3".to_owned()),
            ("client_connection_check_interval", (beat * 1000).to_string()),
        ];
        if version_number >= 170_000 {
            wanted.push(("transaction_timeout", "0".to_owned()));
        }
        wanted
    }
}

/// Older servers lack what the protocol rests on.
pub(super) fn serves(number: i32, version: &str) -> Result<(), Trouble> {
    if number >= VERSION_MIN {
        return Ok(());
    }
    let text = format!("PostgreSQL {version} found, 14 or newer needed");
    Err(Trouble { kind: TroubleKind::Incompatible, text })
}

/// The session ended: with an error by the server or the network, without by ourselves.
pub(super) fn ended(result: Result<(), tokio_postgres::Error>) -> Trouble {
    let text = match &result {
        Ok(()) => "the session was closed".to_owned(),
        Err(error) => trouble(error).text,
    };
    Trouble { kind: TroubleKind::Unreachable, text }
}

pub(super) fn refused(error: &ConnectError) -> Trouble {
    let kind = if error.is_config() {
        TroubleKind::Incompatible
    } else if error.is_denied() {
        TroubleKind::Refused
    } else if error.db_error().is_some_and(|said| said.code().code() == "53300") {
        TroubleKind::TooManyConnections
    } else {
        TroubleKind::Unreachable
    };
    Trouble { kind, text: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_older_than_14_is_refused_with_the_version_found() {
        let trouble = serves(130_014, "13.14 (Debian 13.14-1)").unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::Incompatible);
        assert_eq!(trouble.text, "PostgreSQL 13.14 (Debian 13.14-1) found, 14 or newer needed");
        assert_eq!(serves(140_000, "14.0"), Ok(()));
        assert_eq!(serves(180_006, "18.6"), Ok(()));
    }
}
