//! What is asked for and not done yet: runs that wait for a visit, and how far backfills are.

use hourhand_core::protocol::Trouble;
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Operator;
use crate::error::Error;
use crate::pg::row::{get, instant, instant_or_none};

/// A request that no start has answered.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct OpenRequest {
    /// Its number.
    pub request: i64,
    /// The job's name.
    pub job: String,
    /// `trigger`: a run now; `backfill`: the occurrences of a span again.
    pub kind: String,
    /// Who asked.
    pub actor: Option<String>,
    /// When, by the server's clock.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
    pub asked_at: Timestamp,
    /// From then on it is void; a backfill never is.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub expires_at: Option<Timestamp>,
    /// The span of a backfill: from.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub from: Option<Timestamp>,
    /// The span of a backfill: before.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub until: Option<Timestamp>,
    /// The occurrence of a backfill that was begun last; none: it has not begun.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub position: Option<Timestamp>,
    /// The run of that occurrence.
    pub epoch: Option<i64>,
}

impl Operator {
    /// What is asked for and not done yet, oldest first: of all jobs, or of the one. A backfill is gone from here when its last run
    /// has started.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`], but a job need not be there.
    pub async fn requests(&self, job: Option<&str>) -> Result<Vec<OpenRequest>, Error> {
        let rows = self.read("requests", &self.statements.open_requests, &[(&job, Type::TEXT)]).await?;
        rows.iter().map(request).collect::<Result<_, _>>().map_err(|trouble| self.failed("requests", trouble))
    }
}

fn request(row: &Row) -> Result<OpenRequest, Trouble> {
    Ok(OpenRequest {
        request: get(row, "id")?,
        job: get(row, "job")?,
        kind: get(row, "kind")?,
        actor: get(row, "actor")?,
        asked_at: instant(row, "asked_at")?,
        expires_at: instant_or_none(row, "expires_at")?,
        from: instant_or_none(row, "span_from")?,
        until: instant_or_none(row, "span_until")?,
        position: instant_or_none(row, "position")?,
        epoch: get(row, "epoch")?,
    })
}
