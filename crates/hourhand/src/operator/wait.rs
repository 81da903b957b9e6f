//! Waiting for the end of a run: by ear, and by looking in between.

use std::time::Duration;

use jiff::Timestamp;

use super::{HistoryQuery, Operator};
use crate::error::Error;
use crate::pg::Ear;

/// With an ear a look in between finds what was not heard; without one it is all there is.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const LOOK_EVERY_WITHOUT_EAR: Duration = Duration::from_millis(250);
/// A run without lock and without end is seen so for this long before it is said to be lost: its node may be about to say how it ended.
const LOST_AFTER: Duration = Duration::from_secs(1);

/// How a run ended that somebody waited for.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RunEnd {
    /// The job's name.
    pub job: String,
    /// The run.
    pub epoch: i64,
    /// How it ended: the word of an [`Outcome`](crate::Outcome). `lost` also if nobody has recorded that yet.
    pub outcome: String,
    /// What it said when it failed.
    pub error: Option<String>,
    /// When its end was recorded.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::json::instant_or_null"))]
    pub ended_at: Option<Timestamp>,
}

/// What a look shows of the run.
enum Seen {
    Ended(RunEnd),
    GoesOn,
    /// It has no end, and nobody holds its lock.
    Silent,
}

impl Operator {
    /// Waits until a run has ended, however long that takes: also a run whose process dies without a word. Drop the future to stop
    /// waiting.
    ///
    /// It listens on a connection of its own, and looks every two seconds; behind a transaction pooler, where nobody can
    /// listen, it looks four times a second.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`]; [`Error::is_config`] for a run that the job never had.
    pub async fn wait(&self, job: &str, epoch: i64) -> Result<RunEnd, Error> {
        let mut ear = None;
        let mut silent = false;
        loop {
            let every = match self.seen(job, epoch).await? {
                Seen::Ended(end) => return Ok(end),
                Seen::Silent if silent => return Ok(lost(job, epoch)),
                Seen::Silent => {
                    silent = true;
                    LOST_AFTER
                }
                Seen::GoesOn => {
                    silent = false;
                    if ear.is_none() {
                        // What ends between that look and now is found by the next.
                        ear = Some(self.line.listen().await.ok());
                        continue;
                    }
                    if ear.as_ref().is_some_and(Option::is_some) { LOOK_EVERY } else { LOOK_EVERY_WITHOUT_EAR }
                }
            };
            if silent {
                tokio::time::sleep(every).await;
            } else {
                hear(&mut ear, every).await;
            }
        }
    }

    async fn seen(&self, job: &str, epoch: i64) -> Result<Seen, Error> {
        let facts = self.standing("wait", job).await?.facts;
        if facts.epoch < epoch {
            return Err(Error::config(vec![format!(
                "job {job:?} never had a run {epoch}: its newest is {}",
                facts.epoch
            )]));
        }
        if facts.epoch == epoch && facts.ended_epoch < epoch {
            return Ok(if facts.running { Seen::GoesOn } else { Seen::Silent });
        }
        let query = HistoryQuery { job: Some(job.to_owned()), epoch: Some(epoch), ..HistoryQuery::default() };
        let entry = self.history(&query).await?.pop();
        // Its line of history may have been refused, or removed since: then the row knows the outcome of the newest run.
        let outcome = facts.last_outcome.filter(|_| facts.ended_epoch == epoch);
        Ok(Seen::Ended(match entry {
            Some(entry) => RunEnd {
                job: entry.job,
                epoch,
                outcome: entry.outcome,
                error: entry.error,
                ended_at: Some(entry.ended_at),
            },
            None => RunEnd { outcome: outcome.unwrap_or_else(|| "lost".to_owned()), ..lost(job, epoch) },
        }))
    }
}

/// Returns when somebody has said something, or after that long.
async fn hear(ear: &mut Option<Option<Ear>>, most: Duration) {
    let Some(Some(listening)) = ear else { return tokio::time::sleep(most).await };
    match tokio::time::timeout(most, listening.hear()).await {
        Ok(Ok(_)) | Err(_) => {}
        // Deaf from now on; the next look says whether the server is there at all.
        Ok(Err(_)) => *ear = Some(None),
    }
}

fn lost(job: &str, epoch: i64) -> RunEnd {
    RunEnd { job: job.to_owned(), epoch, outcome: "lost".to_owned(), error: None, ended_at: None }
}
