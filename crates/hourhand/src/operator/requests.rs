//! Asking for runs from anywhere: the request is a row, which a start takes; a notice tells whoever is connected.

use std::time::Duration;

use hourhand_core::occurrence::{forsaken, next_visit};
use hourhand_core::protocol::Trouble;
use hourhand_core::request::backfill_runs;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::types::Type;

use super::Operator;
use super::standing::Standing;
use crate::error::Error;
use crate::pg::Param;
use crate::pg::row::{get, instant};
use crate::pg::tstz::Tstz;
use crate::scheduler::Backfill;

/// A connected node takes a request within this, or nobody is connected: so long it is looked for, in these steps.
const LOOKS: [u64; 14] = [10, 15, 25, 50, 100, 100, 150, 150, 200, 200, 250, 250, 250, 250];
/// A lock that nobody's run explains is looked at again so often: a start or an end may be under way.
const RECHECKS: u32 = 10;
const RECHECK_EVERY: Duration = Duration::from_millis(100);
/// Who waits for the next visit looks so often.
const TAKEN_LOOK_EVERY: Duration = Duration::from_secs(1);
/// A request is void after so long, unless it is told.
const EXPIRES_AFTER: SignedDuration = SignedDuration::from_secs(60 * 60);
/// The nodes at rest have so long after their visit at the latest.
const AFTER_VISIT: SignedDuration = SignedDuration::from_secs(60);

/// What became of a run that was asked for.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "answer", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Asked {
    /// A manual run has started.
    Started {
        /// Its fencing token.
        epoch: i64,
        /// The node that runs it.
        node: Option<String>,
    },
    /// The job runs already; nothing is asked for.
    AlreadyRunning {
        /// The node, where known; else whoever holds the lock.
        node: Option<String>,
        /// Since when, by the server's clock.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
        since: Option<Timestamp>,
        /// The fencing token of that run, where known.
        epoch: Option<i64>,
    },
    /// The job is paused; nothing is asked for.
    Paused,
    /// It is recorded, and no connected node took it within two seconds: the next visit will.
    Requested {
        /// Its number: what [`Operator::taken`] asks about.
        request: i64,
        /// The latest instant of that visit, by the server's clock; none if this version can't read the job's schedule.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
        by: Option<Timestamp>,
        /// From then on the request is void.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant"))]
        expires_at: Timestamp,
    },
    /// No node took it, and none has registered, started or run the job within the last two periods of its schedule: nothing is
    /// asked for.
    Nobody,
    /// Somebody cancelled the job meanwhile, and with it what was asked for.
    Withdrawn,
}

/// A request that stands in its row.
struct Recorded {
    id: i64,
    expires_at: Timestamp,
}

/// What has become of it.
enum State {
    Open,
    Taken {
        epoch: i64,
        node: Option<String>,
    },
    Withdrawn,
    /// It has expired.
    Void,
    /// Somebody who asked for the same has taken it back.
    Gone,
}

impl Operator {
    /// Asks for a run of a job, now, on whichever node has it: a connected one takes it at once (see
    /// [`resident`](crate::SchedulerBuilder::resident)), one at rest at its next visit. It is run once, whoever dies on the way, and by
    /// a node that has the registered definition. Answered within about two seconds; [`Operator::wait`] waits for the run's end.
    ///
    /// A manual run never moves or eats an occurrence. Who asks for what somebody has asked for already joins that request. It is void
    /// after `expires`: by default after an hour, or a minute after the next visit, if that is later.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn trigger(&self, job: &str, expires: Option<Duration>) -> Result<Asked, Error> {
        loop {
            let standing = match self.free("trigger", job).await? {
                Ok(standing) => standing,
                Err(answer) => return Ok(answer),
            };
            let by = standing.definition().and_then(|definition| next_visit(&definition, standing.now));
            let Some(request) = self.record(job, expires.unwrap_or_else(|| lasts(by, standing.now))).await? else {
                // Paused, or forgotten, in this very moment.
                continue;
            };
            if let Some(answer) = self.follow(job, &request, by).await? {
                return Ok(answer);
            }
        }
    }

    /// Waits until a node has taken what is [requested](Asked::Requested), and answers with the run's epoch, for
    /// [`Operator::wait`]; none: it was withdrawn, or is void by now. Looks once a second.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn taken(&self, request: i64) -> Result<Option<i64>, Error> {
        loop {
            match self.state(request).await? {
                State::Taken { epoch, .. } => return Ok(Some(epoch)),
                State::Withdrawn | State::Void | State::Gone => return Ok(None),
                State::Open => tokio::time::sleep(TAKEN_LOOK_EVERY).await,
            }
        }
    }

    /// Runs the occurrences of `[from, until)` again, oldest first, one after another: see
    /// [`Scheduler::backfill`](crate::Scheduler::backfill).
    ///
    /// # Errors
    ///
    /// As [`Operator::status`]; [`Error::is_config`] for a span without an occurrence or with too many.
    pub async fn backfill(&self, job: &str, from: Timestamp, until: Timestamp) -> Result<Backfill, Error> {
        let standing = self.standing("backfill", job).await?;
        let wrong = |what: String| Error::config(vec![format!("backfill of {job:?}: {what}")]);
        if standing.body.is_null() {
            return Err(wrong("it has no schedule, and so no occurrences to run again".to_owned()));
        }
        let Some(definition) = standing.definition() else {
            return Err(wrong("the registered definition is of a version that this one can't read".to_owned()));
        };
        let until = until.min(standing.now);
        let runs = backfill_runs(&definition.schedule, from, until).map_err(|error| wrong(error.to_string()))?;
        let rows = self.ask(job, "backfill", None, Some((from, until))).await?;
        Ok(if rows.is_some() { Backfill::Accepted { runs } } else { Backfill::UnderWay })
    }

    /// How a job stands that can be run now; else the answer.
    async fn free(&self, attempted: &'static str, job: &str) -> Result<Result<Standing, Asked>, Error> {
        let mut rechecks = 0;
        loop {
            let standing = self.standing(attempted, job).await?;
            let facts = &standing.facts;
            if facts.paused {
                return Ok(Err(Asked::Paused));
            }
            let Some(holder) = &facts.holder else { return Ok(Ok(standing)) };
            if facts.running {
                return Ok(Err(running(&standing)));
            }
            if rechecks == RECHECKS {
                let node = Some(format!("{} (pid {})", holder.application.as_deref().unwrap_or("unknown"), holder.pid));
                return Ok(Err(Asked::AlreadyRunning { node, since: None, epoch: None }));
            }
            rechecks += 1;
            tokio::time::sleep(RECHECK_EVERY).await;
        }
    }

    async fn record(&self, job: &str, lasts: Duration) -> Result<Option<Recorded>, Error> {
        self.ask(job, "trigger", Some(lasts.as_secs_f64()), None).await
    }

    async fn ask(
        &self,
        job: &str,
        kind: &'static str,
        seconds: Option<f64>,
        span: Option<(Timestamp, Timestamp)>,
    ) -> Result<Option<Recorded>, Error> {
        let (from, until) = span.map(|(from, until)| (Tstz(from), Tstz(until))).unzip();
        let params: [Param<'_>; 6] = [
            (&job, Type::TEXT),
            (&kind, Type::TEXT),
            (&self.actor, Type::TEXT),
            (&seconds, Type::FLOAT8),
            (&from, Type::TIMESTAMPTZ),
            (&until, Type::TIMESTAMPTZ),
        ];
        let rows = self.write(kind, &self.statements.request, &params).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        // A backfill has no end of its own (infinity is no instant).
        let expires_at = if span.is_some() { Ok(Timestamp::MAX) } else { instant(row, "expires_at") };
        let recorded = get(row, "id").and_then(|id| Ok(Recorded { id, expires_at: expires_at? }));
        recorded.map(Some).map_err(|trouble| self.failed(kind, trouble))
    }

    /// Looks what becomes of a request, for as long as a connected node may take. None: it is gone, and to be asked anew.
    async fn follow(&self, job: &str, request: &Recorded, by: Option<Timestamp>) -> Result<Option<Asked>, Error> {
        for wait in LOOKS {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            // In this order: a run that it shows before the request is taken is another one.
            let standing = self.standing("trigger", job).await?;
            match self.state(request.id).await? {
                State::Taken { epoch, node } => return Ok(Some(Asked::Started { epoch, node })),
                State::Withdrawn => return Ok(Some(Asked::Withdrawn)),
                State::Gone => return Ok(None),
                State::Open if standing.facts.running => return self.instead(request, running(&standing)).await,
                State::Open | State::Void => {}
            }
        }
        let standing = self.standing("trigger", job).await?;
        let registered = standing.definition().zip(standing.registered_at);
        let nobody = registered.is_some_and(|(definition, registered_at)| {
            forsaken(&definition, &standing.facts, registered_at, standing.now)
        });
        if nobody {
            return self.instead(request, Asked::Nobody).await;
        }
        Ok(Some(Asked::Requested { request: request.id, by, expires_at: request.expires_at }))
    }

    /// Takes the request back and gives this answer, unless a node was quicker.
    async fn instead(&self, request: &Recorded, answer: Asked) -> Result<Option<Asked>, Error> {
        let rows = self.write("trigger", &self.statements.take_back, &[(&request.id, Type::INT8)]).await?;
        if !rows.is_empty() {
            return Ok(Some(answer));
        }
        Ok(match self.state(request.id).await? {
            State::Taken { epoch, node } => Some(Asked::Started { epoch, node }),
            State::Withdrawn => Some(Asked::Withdrawn),
            State::Gone | State::Open | State::Void => None,
        })
    }

    async fn state(&self, request: i64) -> Result<State, Error> {
        let rows = self.read("trigger", &self.statements.request_state, &[(&request, Type::INT8)]).await?;
        let Some(row) = rows.first() else { return Ok(State::Gone) };
        let read = || -> Result<State, Trouble> {
            Ok(match (get::<bool>(row, "answered")?, get::<Option<i64>>(row, "epoch")?) {
                (false, _) if get(row, "void")? => State::Void,
                (false, _) => State::Open,
                (true, Some(epoch)) => State::Taken { epoch, node: get(row, "node")? },
                (true, None) => State::Withdrawn,
            })
        };
        read().map_err(|trouble| self.failed("trigger", trouble))
    }
}

fn running(standing: &Standing) -> Asked {
    let facts = &standing.facts;
    Asked::AlreadyRunning { node: facts.node.clone(), since: facts.started_at, epoch: Some(facts.epoch) }
}

/// How long a request lasts that is taken at a visit `by` then at the latest.
fn lasts(by: Option<Timestamp>, now: Timestamp) -> Duration {
    let visit = by.map_or(SignedDuration::ZERO, |by| by.duration_since(now).saturating_add(AFTER_VISIT));
    visit.max(EXPIRES_AFTER).unsigned_abs()
}
