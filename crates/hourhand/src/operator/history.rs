//! What was: ended runs and skips, and who did what.

use hourhand_core::outcome::IN_HISTORY;
use hourhand_core::protocol::Trouble;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Operator;
use crate::error::Error;
use crate::pg::Param;
use crate::pg::row::{get, instant, instant_or_none};
use crate::pg::tstz::Tstz;
use crate::run::Window;

/// A page holds so many at most, and so many unless it is told.
const PAGE_MAX: u32 = 1000;
const PAGE: u32 = 50;

/// Which ended runs and skips to show; the default is the newest 50 of all jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryQuery {
    /// Of this job only.
    pub job: Option<String>,
    /// With this outcome only: `succeeded`, `failed`, `panicked`, `timed_out`, `cancelled`, `lost`, `skipped`.
    pub outcome: Option<String>,
    /// Ended at or after this instant.
    pub since: Option<Timestamp>,
    /// This run only, with its output.
    pub epoch: Option<i64>,
    /// The page that follows the entry with this `id`: older ones only.
    pub before: Option<i64>,
    /// How many at most; 1000 at most.
    pub limit: Option<u32>,
}

/// An ended run, or occurrences that were passed over.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HistoryEntry {
    /// Its place: grows with time.
    pub id: i64,
    /// The job's name.
    pub job: String,
    /// The run's fencing token; none for a skip.
    pub epoch: Option<i64>,
    /// What made it start.
    pub trigger: Option<String>,
    /// Its occurrence; for a skip the newest that was passed over.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub scheduled_for: Option<Timestamp>,
    /// When it started, by the server's clock.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub started_at: Option<Timestamp>,
    /// When its end was recorded.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
    pub ended_at: Timestamp,
    /// Somebody saw it end. Otherwise its process died without a word: `ended_at` is when that was noticed, and how long it ran nobody
    /// knows.
    pub end_seen: bool,
    /// How it ended: the word of an [`Outcome`](crate::Outcome), or `skipped`.
    pub outcome: String,
    /// Why occurrences were skipped.
    pub reason: Option<String>,
    /// How many were skipped.
    pub count: Option<i64>,
    /// What it said when it failed.
    pub error: Option<String>,
    /// Which attempt at its occurrence it was, from 1.
    pub attempt: Option<i32>,
    /// How many runs of the occurrence had died before.
    pub takeover: Option<i32>,
    /// The span of outside data that it had to cover.
    pub window: Option<Window>,
    /// The node that ran it.
    pub node: Option<String>,
    /// Who put its end on record: its own node, another one that found it lost, or `complete`: the run itself, in its own
    /// transaction.
    pub recorded_by: Option<String>,
    /// What it wrote; only when one run was asked for.
    pub output: Option<String>,
}

/// Which acts to show; the default is the newest 50 on all jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditQuery {
    /// On this job only.
    pub job: Option<String>,
    /// The page that follows the entry with this `id`: older ones only.
    pub before: Option<i64>,
    /// How many at most; 1000 at most.
    pub limit: Option<u32>,
}

/// What somebody did.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AuditEntry {
    /// Its place: grows with time.
    pub id: i64,
    /// When, by the server's clock.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
    pub at: Timestamp,
    /// Who.
    pub actor: Option<String>,
    /// `pause`, `resume`, `cancel`, `trigger`, `backfill`, `window`, `evict` or `forget`.
    pub action: String,
    /// The job.
    pub job: Option<String>,
    /// The particulars of the act.
    pub detail: serde_json::Value,
}

impl HistoryEntry {
    /// How long it ran; none for a skip, and where nobody saw it end.
    pub fn duration(&self) -> Option<SignedDuration> {
        Some(self.ended_at.duration_since(self.started_at?)).filter(|_| self.end_seen)
    }
}

impl Operator {
    /// Ended runs and skips, newest first: a page at a time, by one statement.
    ///
    /// ```no_run
    /// # async fn example(operator: hourhand::Operator) -> Result<(), hourhand::Error> {
    /// use hourhand::HistoryQuery;
    ///
    /// let mut query = HistoryQuery { outcome: Some("failed".to_owned()), ..HistoryQuery::default() };
    /// let page = operator.history(&query).await?;
    /// query.before = page.last().map(|oldest| oldest.id);
    /// let next_page = operator.history(&query).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Operator::status`]. A job without history is an unknown job only if it has no row either; an outcome that is none is
    /// [`Error::is_config`].
    pub async fn history(&self, query: &HistoryQuery) -> Result<Vec<HistoryEntry>, Error> {
        if let Some(word) = query.outcome.as_deref().filter(|word| !IN_HISTORY.contains(word)) {
            return Err(Error::config(vec![format!(
                "outcome: no run ends as {word:?}: it is one of {}",
                IN_HISTORY.join(", ")
            )]));
        }
        let since = query.since.map(Tstz);
        let params: [Param<'_>; 6] = [
            (&query.job, Type::TEXT),
            (&query.outcome, Type::TEXT),
            (&since, Type::TIMESTAMPTZ),
            (&query.epoch, Type::INT8),
            (&query.before, Type::INT8),
            (&page(query.limit), Type::INT8),
        ];
        let rows = self.read("history", &self.statements.history, &params).await?;
        if let Some(job) = query.job.as_deref().filter(|_| rows.is_empty()) {
            self.standing("history", job).await?;
        }
        rows.iter().map(entry).collect::<Result<_, _>>().map_err(|trouble| self.failed("history", trouble))
    }

    /// Who did what, newest first: a page at a time, by one statement.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`], but a job need not be there (any more).
    pub async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>, Error> {
        let params: [Param<'_>; 3] =
            [(&query.job, Type::TEXT), (&query.before, Type::INT8), (&page(query.limit), Type::INT8)];
        let rows = self.read("audit", &self.statements.audit, &params).await?;
        rows.iter().map(act).collect::<Result<_, _>>().map_err(|trouble| self.failed("audit", trouble))
    }
}

fn page(limit: Option<u32>) -> i64 {
    limit.unwrap_or(PAGE).min(PAGE_MAX).into()
}

pub(super) fn entry(row: &Row) -> Result<HistoryEntry, Trouble> {
    let window = instant_or_none(row, "window_from")?.zip(instant_or_none(row, "window_until")?);
    Ok(HistoryEntry {
        id: get(row, "id")?,
        job: get(row, "job")?,
        epoch: get(row, "epoch")?,
        trigger: get(row, "trigger")?,
        scheduled_for: instant_or_none(row, "scheduled_for")?,
        started_at: instant_or_none(row, "started_at")?,
        ended_at: instant(row, "ended_at")?,
        end_seen: get(row, "end_seen")?,
        outcome: get(row, "outcome")?,
        reason: get(row, "reason")?,
        count: get(row, "count")?,
        error: get(row, "error")?,
        attempt: get(row, "attempt")?,
        takeover: get(row, "takeover")?,
        window: window.map(|(from, until)| Window { from, until }),
        node: get(row, "node")?,
        recorded_by: get(row, "recorded_by")?,
        output: get(row, "output")?,
    })
}

fn act(row: &Row) -> Result<AuditEntry, Trouble> {
    let detail: Option<String> = get(row, "detail")?;
    Ok(AuditEntry {
        id: get(row, "id")?,
        at: instant(row, "at")?,
        actor: get(row, "actor")?,
        action: get(row, "action")?,
        job: get(row, "job")?,
        detail: detail.and_then(|detail| serde_json::from_str(&detail).ok()).unwrap_or_default(),
    })
}
