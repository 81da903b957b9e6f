//! How a job stands: its row, its locks and the definition that is registered for it.

use std::sync::Arc;
use std::time::Duration;

use hourhand_core::facts::Facts;
use hourhand_core::job::Definition;
use hourhand_core::key::Key;
use hourhand_core::occurrence::{orphaned, overdue};
use hourhand_core::protocol::Trouble;
use hourhand_core::schedule::Schedule;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Operator;
use crate::error::Error;
use crate::pg::row::{facts, get, instant, instant_or_none};
use crate::pg::{Param, definition};
use crate::status::{JobStatus, Paused, shown};

/// What is overdue is so after this long at least.
const OVERDUE_AFTER_MIN: SignedDuration = SignedDuration::from_secs(60);
/// A definition that says nothing of its node's ttl has the default one.
const TTL: SignedDuration = SignedDuration::from_secs(15);

/// One job at one moment.
pub(crate) struct Standing {
    pub(crate) name: String,
    pub(crate) key: Key,
    pub(crate) facts: Facts,
    /// By the server's clock.
    pub(crate) now: Timestamp,
    pub(crate) covered_until: Timestamp,
    /// What is registered, as it stands there.
    pub(crate) body: Value,
    pub(crate) registered_at: Option<Timestamp>,
    /// The same, as it is understood: read once, for it is asked for several times and there may be thousands of jobs.
    definition: Option<Arc<Definition>>,
    paused: Paused,
}

impl Operator {
    /// All jobs, or the one.
    pub(crate) async fn standings(&self, attempted: &'static str, job: Option<&str>) -> Result<Vec<Standing>, Error> {
        let failed = |trouble| self.failed(attempted, trouble);
        if self.line.is_standby().await.map_err(failed)? {
            let text = "the server is a standby, which does not see who runs what: ask the primary";
            return Err(failed(crate::pg::lost(text)));
        }
        let params: [Param<'_>; 1] = [(&job, Type::TEXT)];
        let rows = self.read(attempted, &self.statements.status, &params).await?;
        match job {
            Some(job) if rows.is_empty() => Err(self.unknown(job).await),
            _ => rows.iter().map(standing).collect::<Result<_, Trouble>>().map_err(failed),
        }
    }

    /// The one job.
    pub(crate) async fn standing(&self, attempted: &'static str, job: &str) -> Result<Standing, Error> {
        match self.standings(attempted, Some(job)).await?.pop() {
            Some(standing) => Ok(standing),
            None => Err(self.unknown(job).await),
        }
    }
}

fn standing(row: &Row) -> Result<Standing, Trouble> {
    let body: Option<String> = get(row, "body")?;
    let (name, key): (String, Key) = (get(row, "name")?, Key(get(row, "key")?));
    Ok(Standing {
        definition: body.as_deref().and_then(|body| definition::read(&name, key, 0, body).definition),
        name,
        key,
        facts: facts(row)?,
        now: instant(row, "now")?,
        covered_until: instant(row, "covered_until")?,
        body: body.and_then(|body| serde_json::from_str(&body).ok()).unwrap_or(Value::Null),
        registered_at: instant_or_none(row, "registered_at")?,
        paused: Paused {
            until: instant_or_none(row, "paused_until")?,
            reason: get(row, "paused_reason")?,
            actor: get(row, "paused_actor")?,
        },
    })
}

impl Standing {
    pub(crate) fn status(&self) -> JobStatus {
        let paused = self.facts.paused.then(|| self.paused.clone());
        let Some(definition) = self.definition() else {
            // Written by a version whose schedules this one can't read: shown as it stands.
            let word = |name| self.body[name].as_str().unwrap_or_default().to_owned();
            let known = shown(&Schedule::continuous(), self.now, &self.facts);
            let (schedule, time_zone) = (word("schedule"), word("time_zone"));
            return JobStatus { job: self.name.clone(), schedule, time_zone, paused, ..known };
        };
        JobStatus {
            job: self.name.clone(),
            paused,
            overdue: overdue(&definition, &self.facts, self.now, self.overdue_bound()),
            orphaned: self.is_orphaned(),
            ..shown(&definition.schedule, self.now, &self.facts)
        }
    }

    /// What is registered; none if this version can't read it.
    pub(crate) fn definition(&self) -> Option<Arc<Definition>> {
        self.definition.clone()
    }

    /// How long its history is kept.
    pub(crate) fn retention(&self) -> Option<SignedDuration> {
        Some(self.definition()?.retention)
    }

    /// Nobody seems to care for it any more.
    pub(crate) fn is_orphaned(&self) -> bool {
        let Some((definition, registered_at)) = self.definition().zip(self.registered_at) else { return false };
        orphaned(&definition, &self.facts, registered_at, self.now, self.overdue_bound())
    }

    /// A length of the definition, in seconds there; zero if it has none.
    pub(crate) fn length(&self, policy: &str) -> SignedDuration {
        let seconds = self.body[policy].as_f64().unwrap_or(0.0);
        Duration::try_from_secs_f64(seconds).ok().and_then(|length| length.try_into().ok()).unwrap_or_default()
    }

    fn overdue_bound(&self) -> SignedDuration {
        let ttl = self.length("ttl");
        let ttl = if ttl.is_zero() { TTL } else { ttl };
        OVERDUE_AFTER_MIN.max(self.length("start_delay") + ttl + ttl)
    }
}
