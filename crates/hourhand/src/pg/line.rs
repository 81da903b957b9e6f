//! A plain connection, for people and tools: it runs no job, holds no lock, leaves no setting behind.
//!
//! Each statement goes in a transaction of its own that carries its bounds (`set local`), its three parts sent together, so the
//! line may go through any pooler. Nothing moves the connection's bytes between calls: whoever waits for an answer does. Callers
//! at one time share it; a session that has ended meanwhile is replaced at the next call.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use hourhand_core::protocol::{Trouble, TroubleKind};
use tokio::sync::{Mutex, mpsc};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::ask::{Param, in_transaction};
use super::conninfo::{Conninfo, connect};
use super::ear::Ear;
use super::row::get;
use super::session::{Driving, ended, refused, serves};
use super::sql;
use super::trouble::{lost, timed_out, trouble, unexpected};

/// All servers of the connection string together have this long.
const CONNECT_BOUND: Duration = Duration::from_secs(5);
/// One statement, by the server's clock.
pub(crate) const STATEMENT_BOUND: Duration = Duration::from_millis(9500);
/// So much longer it is waited for here: what we gave up has ended there.
const LONGER_HERE: Duration = Duration::from_millis(500);
/// The beginning of a transaction that writes, with the server's bounds. Nobody's row is waited for longer than a person would.
const WRITING: &str = "begin isolation level read committed read write; set local statement_timeout = 9500; \
                       set local lock_timeout = 2000; set local synchronous_commit = on";

/// The line to the database; opened by its first use.
pub(crate) struct Line {
    conninfo: Arc<Conninfo>,
    application_name: String,
    open: Mutex<Option<Arc<Open>>>,
}

struct Open {
    client: Client,
    /// None: the session has ended.
    driving: Mutex<Option<Driving>>,
    standby: bool,
}

impl Line {
    pub(crate) fn new(conninfo: Arc<Conninfo>, application_name: impl Into<String>) -> Line {
        Line { conninfo, application_name: application_name.into(), open: Mutex::new(None) }
    }

    /// Connects, if it is not connected.
    pub(crate) async fn connect(&self) -> Result<(), Trouble> {
        self.session().await.map(drop)
    }

    /// Another connection by the same way, that listens.
    pub(crate) async fn listen(&self) -> Result<Ear, Trouble> {
        Ear::open(&self.conninfo, &self.application_name).await
    }

    /// Whether the server is a standby: it shows no locks of the primary's, and takes no writes.
    pub(crate) async fn is_standby(&self) -> Result<bool, Trouble> {
        Ok(self.session().await?.standby)
    }

    /// The rows of a statement that changes nothing, if the server has them within a bound.
    pub(crate) async fn read(
        &self,
        statement: &str,
        params: &[Param<'_>],
        within: Duration,
    ) -> Result<Vec<Row>, Trouble> {
        let bound = within.as_millis();
        // What reads a few rows of a large table may be taken for much work: to compile it, or to start helpers for it, takes longer than
        // all the rest, and looking is to cost the server one process.
        let begin = format!(
            "begin isolation level read committed read only; set local statement_timeout = {bound}; set local jit = off; \
             set local max_parallel_workers_per_gather = 0"
        );
        self.carry_out((&begin, within), statement, params).await
    }

    /// The rows of a statement that may change something: all of it or nothing.
    pub(crate) async fn write(&self, statement: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Trouble> {
        self.carry_out((WRITING, STATEMENT_BOUND), statement, params).await
    }

    async fn carry_out(
        &self,
        (begin, within): (&str, Duration),
        statement: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Trouble> {
        let open = self.session().await?;
        let bound = within + LONGER_HERE;
        tokio::select! {
            biased;
            answer = tokio::time::timeout(bound, open.rows(begin, statement, params)) => match answer {
                Ok(answer) => answer,
                Err(_) => Err(timed_out("the statement", bound)),
            },
            ended = open.drive() => Err(ended),
        }
    }

    async fn session(&self) -> Result<Arc<Open>, Trouble> {
        let mut slot = self.open.lock().await;
        if let Some(open) = slot.as_ref().filter(|open| open.is_alive()) {
            return Ok(open.clone());
        }
        let bound = CONNECT_BOUND + STATEMENT_BOUND;
        let opened = tokio::time::timeout(bound, self.open()).await;
        let opened = opened
            .unwrap_or_else(|_| Err(Trouble { kind: TroubleKind::Unreachable, ..timed_out("connect", bound) }))?;
        Ok(slot.insert(Arc::new(opened)).clone())
    }

    async fn open(&self) -> Result<Open, Trouble> {
        let (client, driver) =
            connect(&self.conninfo, &self.application_name, CONNECT_BOUND).await.map_err(|error| refused(&error))?;
        let (sender, _notifications) = mpsc::channel(1);
        let mut driving: Driving = Box::pin(async move { ended(driver.run(sender).await) });
        let first = tokio::select! {
            biased;
            rows = client.query_typed(sql::OPEN, &[(&"", Type::TEXT), (&true, Type::BOOL)]) => {
                rows.map_err(|error| trouble(&error))
            }
            ended = &mut driving => Err(ended),
        }?;
        let row = first.first().ok_or_else(|| unexpected("the first statement returned no row"))?;
        serves(get(row, "version_number")?, get(row, "version")?)?;
        let standby = get(row, "standby")?;
        Ok(Open { client, driving: Mutex::new(Some(driving)), standby })
    }
}

impl Open {
    /// One statement in a transaction of its own.
    async fn rows(&self, begin: &str, statement: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Trouble> {
        in_transaction(&self.client, begin, statement, params).await
    }

    /// Moves the bytes until the session ends, and says why it did. One caller at a time does it for all.
    async fn drive(&self) -> Trouble {
        let mut driving = self.driving.lock().await;
        let Some(running) = driving.as_mut() else { return lost("the session has ended") };
        let trouble = running.await;
        *driving = None;
        trouble
    }

    /// Looks whether the session has ended while nobody asked anything.
    fn is_alive(&self) -> bool {
        let Ok(mut driving) = self.driving.try_lock() else { return true };
        let ended = driving.as_mut().is_none_or(|running| running.now_or_never().is_some());
        if ended {
            *driving = None;
        }
        !ended && !self.client.is_closed()
    }
}
