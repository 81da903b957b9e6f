//! The demo's own look into the database: who runs, what became of it, and what it all came to.

use super::place::connect;
use anyhow::{Context, Result};
use postgres::{Client, Row};
use std::time::{Duration, SystemTime};

/// The newest start of the job.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) epoch: i64,
    pub(crate) node: Option<String>,
    pub(crate) started_at: Option<SystemTime>,
    pub(crate) occurrence: Option<SystemTime>,
    pub(crate) running: bool,
    /// `started_at`, for a person.
    pub(crate) since: Option<String>,
    pub(crate) now: SystemTime,
}

/// A run whose end is recorded.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) epoch: i64,
    pub(crate) node: String,
    pub(crate) trigger: String,
    /// None for a manual run.
    pub(crate) occurrence: Option<SystemTime>,
    pub(crate) started_at: SystemTime,
    pub(crate) ended_at: SystemTime,
    pub(crate) outcome: String,
    pub(crate) takeover: i32,
    pub(crate) window_until: SystemTime,
    pub(crate) output: String,
    pub(crate) error: String,
    /// Occurrences before this one that nobody had run, and that this run stands for as well.
    pub(crate) missed: i64,
}

impl Run {
    pub(crate) fn succeeded(&self) -> bool {
        self.outcome == "succeeded"
    }

    pub(crate) fn length(&self) -> Duration {
        self.ended_at.duration_since(self.started_at).unwrap_or_default()
    }
}

/// What `audit.sql` counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Audit {
    pub(crate) orders: i64,
    pub(crate) occurrences: i64,
    pub(crate) manual_runs: i64,
    pub(crate) catch_ups: i64,
    pub(crate) takeovers: i64,
    pub(crate) lost_runs: i64,
    pub(crate) overlaps: i64,
    pub(crate) repeated: i64,
    pub(crate) lost_updates: i64,
    /// Runs without an end on record.
    pub(crate) open_runs: i64,
}

/// A session of the demo's own. All instants are the server's.
pub(crate) struct Book(pub(super) Client);

impl Book {
    /// Opens a session, and lays the trigger that counts lost updates.
    pub(crate) fn open(url: &str) -> Result<Self> {
        let mut client = connect(url).context("the demo's own session")?;
        client.batch_execute(include_str!("sql/watch_updates.sql")).context("the trigger on the orders")?;
        Ok(Self(client))
    }

    pub(crate) fn now(&mut self) -> Result<SystemTime> {
        Ok(self.0.query_one("select clock_timestamp()", &[])?.try_get(0)?)
    }

    /// None: it has not been registered yet.
    pub(crate) fn job(&mut self) -> Result<Option<Job>> {
        let row = self.0.query_opt(include_str!("sql/job.sql"), &[])?;
        row.map(|row| job(&row)).transpose()
    }

    /// The newest ends and skips, oldest first, a line each.
    pub(crate) fn lately(&mut self, lines_max: i64) -> Result<Vec<String>> {
        let rows = self.0.query(include_str!("sql/lately.sql"), &[&lines_max])?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// How many orders the local copy has.
    pub(crate) fn orders(&mut self) -> Result<i64> {
        Ok(self.0.query_one("select count(*) from orders where deleted_at is null", &[])?.try_get(0)?)
    }

    /// The epoch of the newest start; 0: there was none.
    pub(crate) fn epoch(&mut self) -> Result<i64> {
        Ok(self.job()?.map_or(0, |job| job.epoch))
    }

    pub(crate) fn runs_after(&mut self, epoch: i64) -> Result<Vec<Run>> {
        self.0.query(include_str!("sql/runs.sql"), &[&epoch])?.iter().map(run).collect()
    }

    /// What the whole story came to, told which runs were `killed` and when, and which were catch-ups.
    pub(crate) fn audit(&mut self, killed: &[(i64, SystemTime)], catch_ups: &[i64]) -> Result<Audit> {
        let (epochs, instants): (Vec<i64>, Vec<SystemTime>) = killed.iter().copied().unzip();
        let row = self.0.query_one(include_str!("sql/audit.sql"), &[&epochs, &instants, &catch_ups])?;
        Ok(Audit {
            orders: row.try_get("orders")?,
            occurrences: row.try_get("occurrences")?,
            manual_runs: row.try_get("manual_runs")?,
            catch_ups: row.try_get("catch_ups")?,
            takeovers: row.try_get("takeovers")?,
            lost_runs: row.try_get("lost_runs")?,
            overlaps: row.try_get("overlaps")?,
            repeated: row.try_get("repeated")?,
            lost_updates: row.try_get("lost_updates")?,
            open_runs: row.try_get("open_runs")?,
        })
    }

    /// How many rows differ between the copy and the truth (a list, as JSON).
    pub(crate) fn differing_rows(&mut self, truth: &str) -> Result<i64> {
        Ok(self.0.query_one(include_str!("sql/differing_rows.sql"), &[&truth])?.try_get(0)?)
    }

    pub(crate) fn newest_change(&mut self, truth: &str) -> Result<SystemTime> {
        let row = self.0.query_one(include_str!("sql/newest_change.sql"), &[&truth])?;
        row.try_get::<_, Option<SystemTime>>(0)?.context("the feed has no orders")
    }
}

fn job(row: &Row) -> Result<Job> {
    Ok(Job {
        epoch: row.try_get("epoch")?,
        node: row.try_get("node")?,
        started_at: row.try_get("started_at")?,
        occurrence: row.try_get("scheduled_for")?,
        running: row.try_get("running")?,
        since: row.try_get("since")?,
        now: row.try_get("now")?,
    })
}

fn run(row: &Row) -> Result<Run> {
    Ok(Run {
        epoch: row.try_get("epoch")?,
        node: row.try_get("node")?,
        trigger: row.try_get("trigger")?,
        occurrence: row.try_get("scheduled_for")?,
        started_at: row.try_get("started_at")?,
        ended_at: row.try_get("ended_at")?,
        outcome: row.try_get("outcome")?,
        takeover: row.try_get("takeover")?,
        window_until: row.try_get("window_until")?,
        output: row.try_get("output")?,
        error: row.try_get("error")?,
        missed: row.try_get("missed")?,
    })
}
