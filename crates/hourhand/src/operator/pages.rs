//! What pages about jobs show beyond their status: each by one statement that reads about as much as it shows.

use hourhand_core::protocol::Trouble;
use hourhand_core::schedule::Schedule;
use jiff::Timestamp;
use serde_json::Value;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Operator;
use super::history::{HistoryEntry, entry};
use super::standing::Standing;
use crate::error::Error;
use crate::pg::Param;
use crate::pg::row::{get, instant_or_none};
use crate::run::Window;
use crate::status::JobStatus;

/// A job with all that a page of its own shows.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct JobDetail {
    /// How it stands.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub status: JobStatus,
    /// Its schedule in words.
    pub description: String,
    /// Its lock's key.
    pub key: i64,
    /// The definition that is registered: what differs from the defaults.
    pub definition: Value,
    /// When that was registered.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub registered_at: Option<Timestamp>,
    /// Somebody holds its lock without a run of it: the process id and what the session calls itself.
    pub held_by: Option<(i32, String)>,
    /// A try that failed is repeated then.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub retry_at: Option<Timestamp>,
    /// Occurrences up to here need no run.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
    pub handled_until: Timestamp,
    /// Outside data is covered up to here.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
    pub covered_until: Timestamp,
    /// When all this was so, by the server's clock.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
    pub now: Timestamp,
    /// Its schedule; none if this version can't read it.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub schedule: Option<Schedule>,
}

/// A run whose end is not recorded: under way, or lost and not noticed yet.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct OpenRun {
    /// Its fencing token.
    pub epoch: i64,
    /// What made it start.
    pub trigger: Option<String>,
    /// Which attempt at its occurrence it is, from 1.
    pub attempt: Option<i32>,
    /// How many runs of the occurrence had died before.
    pub takeover: Option<i32>,
    /// Its occurrence; none for a run by hand.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub scheduled_for: Option<Timestamp>,
    /// When it started, by the server's clock.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub started_at: Option<Timestamp>,
    /// The span of outside data that it has to cover.
    pub window: Option<Window>,
    /// The node.
    pub node: Option<String>,
    /// The process id of the session it was started by.
    pub pid: Option<i32>,
}

/// A session that calls itself hourhand's. A node at rest has none.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ConnectedNode {
    /// The node; of a session that is no scheduler's, what it calls itself.
    pub node: String,
    /// It is a scheduler's, with this ttl in seconds.
    pub ttl_seconds: Option<u32>,
    /// The process id of its backend.
    pub pid: i32,
    /// Its role, where visible.
    pub role: Option<String>,
    /// Where it comes from, where visible; none for a Unix socket.
    pub client: Option<String>,
    /// Since when, where visible.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub connected_at: Option<Timestamp>,
    /// `active`, `idle`, …, where visible.
    pub state: Option<String>,
    /// For how long it has been in that state.
    pub state_seconds: Option<f64>,
    /// The jobs whose locks it holds.
    pub holds: Vec<String>,
    /// The jobs that it waits to take over.
    pub watches: Vec<String>,
}

impl Operator {
    /// All jobs, or the one, with what their pages show; by the same statement as [`status`](Operator::status).
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn details(&self, job: Option<&str>) -> Result<Vec<JobDetail>, Error> {
        let jobs = self.standings("status", job).await?;
        Ok(jobs.iter().map(detail).collect())
    }

    /// The newest entries of history of each of these jobs, newest first within a job: with the beginnings of errors, without
    /// outputs. What is read is what is returned, however long the history is.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`]; a job that is not there has no entries.
    pub async fn recent(&self, jobs: &[&str], of_each: u32) -> Result<Vec<HistoryEntry>, Error> {
        let params: [Param<'_>; 2] = [(&jobs, Type::TEXT_ARRAY), (&i64::from(of_each), Type::INT8)];
        self.entries(&self.pages.recent, &params).await
    }

    /// The run and up to so many entries of its job's history on either side, oldest first, without outputs. Empty: its end is not
    /// on record.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn neighbours(&self, job: &str, epoch: i64, on_either_side: u32) -> Result<Vec<HistoryEntry>, Error> {
        let params: [Param<'_>; 3] =
            [(&job, Type::TEXT), (&epoch, Type::INT8), (&i64::from(on_either_side), Type::INT8)];
        self.entries(&self.pages.neighbours, &params).await
    }

    /// How many entries the history of a job has, counted up to `count_max` and no further.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`]; a job that is not there has none.
    pub async fn history_count(&self, job: &str, count_max: u32) -> Result<u32, Error> {
        let params: [Param<'_>; 2] = [(&job, Type::TEXT), (&i64::from(count_max), Type::INT8)];
        let rows = self.read("history", &self.pages.count_history, &params).await?;
        let counted = rows.first().map_or(Ok(0), |row| get::<i64>(row, "entries"));
        counted
            .map(|count| u32::try_from(count).unwrap_or(count_max))
            .map_err(|trouble| self.failed("history", trouble))
    }

    /// The job's run whose end is not recorded.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`]; a job that is not there has none.
    pub async fn open_run(&self, job: &str) -> Result<Option<OpenRun>, Error> {
        let params: [Param<'_>; 1] = [(&job, Type::TEXT)];
        let rows = self.read("status", &self.pages.open_run, &params).await?;
        rows.first().map(open_run).transpose().map_err(|trouble| self.failed("status", trouble))
    }

    /// The sessions that are connected to this database now and call themselves hourhand's.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn nodes(&self) -> Result<Vec<ConnectedNode>, Error> {
        let rows = self.read("nodes", &self.pages.sessions, &[]).await?;
        rows.iter().map(node).collect::<Result<_, _>>().map_err(|trouble| self.failed("nodes", trouble))
    }

    async fn entries(&self, statement: &str, params: &[Param<'_>]) -> Result<Vec<HistoryEntry>, Error> {
        let rows = self.read("history", statement, params).await?;
        rows.iter().map(entry).collect::<Result<_, _>>().map_err(|trouble| self.failed("history", trouble))
    }
}

fn detail(seen: &Standing) -> JobDetail {
    let schedule = seen.definition().map(|definition| definition.schedule.clone());
    let facts = &seen.facts;
    let held_by = facts.holder.as_ref().filter(|holder| !facts.running && holder.pid != 0);
    JobDetail {
        status: seen.status(),
        description: schedule.as_ref().map_or_else(String::new, Schedule::describe),
        key: seen.key.value(),
        definition: seen.body.clone(),
        registered_at: seen.registered_at,
        held_by: held_by.map(|holder| (holder.pid, holder.application.clone().unwrap_or_default())),
        retry_at: facts.not_before.filter(|at| *at > seen.now),
        handled_until: facts.floor(),
        covered_until: seen.covered_until,
        now: seen.now,
        schedule,
    }
}

fn open_run(row: &Row) -> Result<OpenRun, Trouble> {
    let window = instant_or_none(row, "window_from")?.zip(instant_or_none(row, "window_until")?);
    Ok(OpenRun {
        epoch: get(row, "epoch")?,
        trigger: get(row, "trigger")?,
        attempt: get(row, "attempt")?,
        takeover: get(row, "takeover")?,
        scheduled_for: instant_or_none(row, "scheduled_for")?,
        started_at: instant_or_none(row, "started_at")?,
        window: window.map(|(from, until)| Window { from, until }),
        node: get(row, "node")?,
        pid: get(row, "pid")?,
    })
}

fn node(row: &Row) -> Result<ConnectedNode, Trouble> {
    let application: String = get(row, "application")?;
    // `hourhand/15 web-1`: the name that a scheduler's session has.
    let named = application.strip_prefix("hourhand/").and_then(|rest| rest.split_once(' '));
    let named = named.and_then(|(ttl, node)| Some((ttl.parse().ok()?, node.to_owned())));
    let (ttl_seconds, node) = named.map_or((None, application), |(ttl, node)| (Some(ttl), node));
    Ok(ConnectedNode {
        node,
        ttl_seconds,
        pid: get(row, "pid")?,
        role: get(row, "role")?,
        client: get(row, "client")?,
        connected_at: instant_or_none(row, "backend_start")?,
        state: get(row, "state")?,
        state_seconds: get(row, "in_state")?,
        holds: get(row, "holds")?,
        watches: get(row, "watches")?,
    })
}
