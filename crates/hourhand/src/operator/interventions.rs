//! What a person does by hand when things have gone wrong: move a window, end a holder, forget a job.

use hourhand_core::protocol::{Trouble, TroubleKind};
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Operator;
use super::standing::Standing;
use crate::error::Error;
use crate::pg::Param;
use crate::pg::row::{get, instant_or_none};
use crate::pg::tstz::Tstz;

/// Rows of history that one statement removes at most: it is over well within its time.
const HISTORY_ROWS_MAX: i64 = 10_000;

/// Where a job's next window begins.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct NextWindow {
    /// There: what is covered, less the lookback.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
    pub from: Timestamp,
    /// Outside data is covered up to here.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
    pub covered_until: Timestamp,
    /// How far each window reaches back, in seconds.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::seconds"))]
    pub lookback: SignedDuration,
    /// A run is under way, with a window of its own; its success moves the next one on if it joins it.
    pub running: Option<i64>,
}

/// A session that holds a job's lock.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LockHolder {
    /// The process id of its backend.
    pub pid: i32,
    /// What it calls itself.
    pub application: Option<String>,
    /// Where it comes from; none for a Unix socket, or where this role may not see it.
    pub client: Option<String>,
    /// The role that it is of.
    pub role: Option<String>,
    /// For how long it has begun no statement.
    pub silent_seconds: Option<f64>,
    /// The run that it has under way; none: it holds the lock for nothing.
    pub epoch: Option<i64>,
}

/// What became of an eviction.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Eviction {
    /// The session was told to end; the lock is free as soon as it has.
    Ended(LockHolder),
    /// Nobody holds the job's lock.
    NotHeld,
    /// The job runs under a lease, which no session holds: it runs out by itself.
    Leased {
        /// The node.
        holder: String,
        /// When, unless it is renewed.
        until: Option<Timestamp>,
    },
}

/// What became of a wish to forget a job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Forgetting {
    /// It is gone, and its history with it.
    Forgotten,
    /// It stays, for this reason.
    Refused(String),
}

/// For how long what ran may be of interest, where its definition says nothing: as history is kept.
const RETENTION: SignedDuration = SignedDuration::from_hours(14 * 24);

/// As far as the clocks of people's machines are ahead of the server's.
const AHEAD_MAX: SignedDuration = SignedDuration::from_secs(60);

impl Operator {
    /// Where the job's next window begins.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn window(&self, job: &str) -> Result<NextWindow, Error> {
        Ok(next_window(&self.standing("window", job).await?))
    }

    /// Has the job's next window begin there: to fetch a span again, or to pass one over. A run under way keeps its own window.
    /// Waits for some seconds, at most, for an open transaction that has fenced.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`]; [`Error::is_unreachable`] also when the job's row stays locked; [`Error::is_config`] if it lies ahead:
    /// nobody would cover what comes before it.
    pub async fn set_window(&self, job: &str, from: Timestamp) -> Result<NextWindow, Error> {
        let seen = self.standing("window", job).await?;
        if from.duration_since(seen.now) > AHEAD_MAX {
            let text =
                format!("window: {from} is ahead (it is {:.0}), and nobody would cover what lies before it", seen.now);
            return Err(Error::config(vec![text]));
        }
        let covered = from.checked_add(seen.length("lookback")).map_err(|error| {
            Error::config(vec![format!("window: {from} and the lookback are out of range: {error}")])
        })?;
        let (covered, from) = (Tstz(covered), Tstz(from));
        let params: [Param<'_>; 4] =
            [(&job, Type::TEXT), (&covered, Type::TIMESTAMPTZ), (&self.actor, Type::TEXT), (&from, Type::TIMESTAMPTZ)];
        let rows = self.write("window", &self.statements.window, &params).await?;
        if rows.is_empty() {
            return Err(self.unknown(job).await);
        }
        self.window(job).await
    }

    /// Who holds the job's lock; none: nobody, or a lease.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn holder(&self, job: &str) -> Result<Option<LockHolder>, Error> {
        let row = self.holder_row(job).await?;
        holder(&row).map_err(|trouble| self.failed("evict", trouble))
    }

    /// Ends the session that holds the job's lock, whatever it is: a frozen node, or a connection of somebody's pool that the lock has
    /// leaked into. A run that it has under way is lost, and taken over.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`]; [`Error::is_forbidden`], with the grant, when this role may not end it.
    pub async fn evict(&self, job: &str) -> Result<Eviction, Error> {
        let row = self.holder_row(job).await?;
        let failed = |trouble| self.failed("evict", trouble);
        let Some(holder) = holder(&row).map_err(failed)? else {
            let leased: Option<String> = get(&row, "lease_holder").map_err(failed)?;
            let until = instant_or_none(&row, "lease_until").map_err(failed)?;
            return Ok(leased.map_or(Eviction::NotHeld, |holder| Eviction::Leased { holder, until }));
        };
        let Some(start) = instant_or_none(&row, "backend_start").map_err(failed)? else {
            return Err(self.may_not_end(&holder));
        };
        let start = Tstz(start);
        let params: [Param<'_>; 4] =
            [(&job, Type::TEXT), (&holder.pid, Type::INT4), (&start, Type::TIMESTAMPTZ), (&self.actor, Type::TEXT)];
        match self.line.write(&self.statements.evict, &params).await {
            Ok(rows) if rows.is_empty() => Ok(Eviction::NotHeld),
            Ok(_) => Ok(Eviction::Ended(holder)),
            Err(trouble) if trouble.kind == TroubleKind::Forbidden => Err(self.may_not_end(&holder)),
            Err(trouble) => Err(failed(trouble)),
        }
    }

    /// Removes a job that nobody cares for any more, with its history: only one that is orphaned and that nobody holds. A process that
    /// still has it registers it anew when it starts. A job that has no schedule, and runs when somebody asks
    /// ([`Job::on_demand`](crate::Job::on_demand), `hourhand exec`), is never overdue: it can be forgotten when it has not run for 14 days.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn forget(&self, job: &str) -> Result<Forgetting, Error> {
        let seen = self.standing("forget", job).await?;
        if let Some(reason) = why_not_forgotten(&seen) {
            return Ok(Forgetting::Refused(reason));
        }
        let (handled, registered) = (Tstz(seen.facts.handled_until), seen.registered_at.map(Tstz));
        let params: [Param<'_>; 6] = [
            (&job, Type::TEXT),
            (&seen.facts.epoch, Type::INT8),
            (&handled, Type::TIMESTAMPTZ),
            (&registered, Type::TIMESTAMPTZ),
            (&HISTORY_ROWS_MAX, Type::INT8),
            (&self.actor, Type::TEXT),
        ];
        if self.write("forget", &self.statements.forget, &params).await?.is_empty() {
            let reason = "somebody holds its lock or watch, or has started or registered it in this moment";
            return Ok(Forgetting::Refused(reason.to_owned()));
        }
        let rest: [Param<'_>; 2] = [(&job, Type::TEXT), (&HISTORY_ROWS_MAX, Type::INT8)];
        while !self.write("forget", &self.statements.forget_history, &rest).await?.is_empty() {}
        Ok(Forgetting::Forgotten)
    }

    async fn holder_row(&self, job: &str) -> Result<Row, Error> {
        let params: [Param<'_>; 1] = [(&job, Type::TEXT)];
        match self.read("evict", &self.statements.holder, &params).await?.pop() {
            Some(row) => Ok(row),
            None => Err(self.unknown(job).await),
        }
    }

    fn may_not_end(&self, holder: &LockHolder) -> Error {
        let role = holder.role.as_deref().unwrap_or("another role");
        let text = format!(
            "session {} is of {role}, and this role may not end it: grant pg_signal_backend and pg_read_all_stats to it, or ask \
             somebody who has them (a superuser's session can be ended by superusers only)",
            holder.pid
        );
        Error::database("evict", Trouble { kind: TroubleKind::Forbidden, text })
    }
}

fn next_window(seen: &Standing) -> NextWindow {
    let lookback = seen.length("lookback");
    let from = seen.covered_until.checked_sub(lookback).unwrap_or(Timestamp::MIN);
    let running = seen.facts.running.then_some(seen.facts.epoch);
    NextWindow { from, covered_until: seen.covered_until, lookback, running }
}

fn holder(row: &Row) -> Result<Option<LockHolder>, Trouble> {
    let Some(pid) = get::<Option<i32>>(row, "pid")? else { return Ok(None) };
    let running = get::<Option<bool>>(row, "running")?.unwrap_or(false);
    Ok(Some(LockHolder {
        pid,
        application: get(row, "application")?,
        client: get(row, "client")?,
        role: get(row, "role")?,
        silent_seconds: get(row, "silent")?,
        epoch: if running { Some(get(row, "epoch")?) } else { None },
    }))
}

/// Why a job is not to be forgotten; none: it is orphaned.
fn why_not_forgotten(seen: &Standing) -> Option<String> {
    let facts = &seen.facts;
    if facts.running {
        let node = facts.node.as_deref().unwrap_or("some node");
        return Some(format!("run {} is under way on {node}", facts.epoch));
    }
    if let Some(holder) = &facts.holder {
        return Some(match holder.pid {
            0 => "somebody holds its lease".to_owned(),
            pid => format!("session {pid} holds its lock"),
        });
    }
    if facts.paused {
        return Some("it is paused: resume it, and it is orphaned once it has been overdue for two periods".to_owned());
    }
    if seen.body.is_null() {
        return why_still_asked_for(seen);
    }
    let Some(definition) = seen.definition() else {
        return Some("its definition was written by a version that this one cannot read".to_owned());
    };
    if seen.is_orphaned() {
        return None;
    }
    if definition.schedule.is_continuous() {
        return Some(
            "it is continuous, which no process need have registered lately to be alive: pause it instead".to_owned(),
        );
    }
    let last = [seen.registered_at, facts.started_at, facts.known_at].into_iter().flatten().max();
    let last = last.map(|at| format!(" (last at {at:.0})")).unwrap_or_default();
    let period = definition.schedule.period_at(seen.now);
    let spans = period.map_or(String::new(), |period| format!(", which are {:#}", period + period));
    Some(format!(
        "it is not orphaned: that takes two periods of its schedule{spans}, overdue, and no process \
         that has registered it, run it or seen it wait{last}"
    ))
}

/// A job without a schedule is run by whoever asks, and nothing tells whether somebody will again. What is known is its last run: for as
/// long as history is kept, it may be wanted.
fn why_still_asked_for(seen: &Standing) -> Option<String> {
    let last = seen.facts.started_at?;
    let until = last.checked_add(RETENTION).ok().filter(|until| *until > seen.now)?;
    Some(format!(
        "it has no schedule, so nothing tells whether somebody will run it again, and it ran at {last:.0}: it can be forgotten when \
         it has not run for {} days, from {until:.0}",
        RETENTION.as_hours() / 24
    ))
}
