//! Pause, resume, cancel: the same statements that a scheduler sends for its own jobs, for any job of the schema.

use hourhand_core::protocol::Trouble;
use jiff::Timestamp;
use tokio_postgres::types::Type;

use super::Operator;
use crate::error::Error;
use crate::pg::Param;
use crate::pg::row::get;
use crate::pg::tstz::Tstz;
use crate::scheduler::pause_is_over;

/// A reason is shown in a line of every table.
const REASON_CHARS_MAX: usize = 500;

/// Before anything is changed.
fn reason_is_short(reason: Option<&str>) -> Result<(), Error> {
    match reason.map_or(0, |reason| reason.chars().count()) {
        long if long > REASON_CHARS_MAX => {
            Err(Error::config(vec![format!("reason: {long} characters; at most {REASON_CHARS_MAX}")]))
        }
        _ => Ok(()),
    }
}

/// What became of a wish to cancel: nothing of all this, if nothing runs, or another run than was meant, and nothing was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cancelled {
    /// The run that is under way, and is told to stop.
    pub told: Option<i64>,
    /// The run that would be under way, but is lost: its process is gone, so there is nobody to tell. Its occurrence is run again,
    /// unless the job is paused.
    pub lost: Option<i64>,
    /// So many requests for a run, or the rest of a backfill, are taken back.
    pub withdrawn: u64,
}

impl Operator {
    /// Pauses a job on the whole fleet: no run of it starts until it is resumed, or until `until`. A run under way goes on; its
    /// epoch is the answer.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`]; [`Error::is_config`] when `until` is over by the server's clock.
    pub async fn pause(&self, job: &str, until: Option<Timestamp>, reason: Option<&str>) -> Result<Option<i64>, Error> {
        reason_is_short(reason)?;
        let ends = until.map(Tstz);
        let params: [Param<'_>; 4] =
            [(&job, Type::TEXT), (&ends, Type::TIMESTAMPTZ), (&reason, Type::TEXT), (&self.actor, Type::TEXT)];
        let rows = self.write("pause", &self.statements.pause, &params).await?;
        let Some(row) = rows.first() else { return Err(self.unknown(job).await) };
        let read = || Ok::<(bool, bool, i64), Trouble>((get(row, "paused")?, get(row, "open")?, get(row, "epoch")?));
        match read().map_err(|trouble| self.failed("pause", trouble))? {
            (true, open, epoch) => Ok(open.then_some(epoch)),
            (false, ..) => Err(pause_is_over(job, until)),
        }
    }

    /// Resumes a paused job: with its next occurrence, or with `catch_up` as if it had been missed. False: it was not paused.
    ///
    /// Without `catch_up` all that lies before counts as handled: what came due during the pause, and what an occurrence from before it
    /// had left of its retries.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn resume(&self, job: &str, catch_up: bool) -> Result<bool, Error> {
        let params: [Param<'_>; 3] = [(&job, Type::TEXT), (&catch_up, Type::BOOL), (&self.actor, Type::TEXT)];
        let rows = self.write("resume", &self.statements.resume, &params).await?;
        if rows.is_empty() {
            self.standing("resume", job).await?;
        }
        Ok(!rows.is_empty())
    }

    /// Asks for the run under way, wherever it is, to be cancelled: it is told to stop, and its occurrence is handled. `epoch` means
    /// that run only. What is asked for and has not begun is withdrawn, and with a run of a backfill the rest of it.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn cancel(&self, job: &str, epoch: Option<i64>) -> Result<Cancelled, Error> {
        let params: [Param<'_>; 3] = [(&job, Type::TEXT), (&epoch, Type::INT8), (&self.actor, Type::TEXT)];
        let rows = self.write("cancel", &self.statements.cancel, &params).await?;
        let Some(row) = rows.first() else {
            self.standing("cancel", job).await?;
            return Ok(Cancelled { told: None, lost: None, withdrawn: 0 });
        };
        let read = || {
            let (epoch, running): (Option<i64>, bool) = (get(row, "epoch")?, get(row, "running")?);
            let withdrawn = u64::try_from(get::<i64>(row, "withdrawn")?).unwrap_or(0);
            Ok(Cancelled { told: epoch.filter(|_| running), lost: epoch.filter(|_| !running), withdrawn })
        };
        read().map_err(|trouble: Trouble| self.failed("cancel", trouble))
    }
}
