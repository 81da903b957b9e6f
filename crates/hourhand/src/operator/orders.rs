//! Pause, resume, cancel: the same statements that a scheduler sends for its own jobs, for any job of the schema.

use hourhand_core::protocol::Trouble;
use jiff::Timestamp;
use tokio_postgres::types::Type;

use super::Operator;
use crate::error::Error;
use crate::pg::Param;
use crate::pg::row::get;
use crate::pg::tstz::Tstz;

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

impl Operator {
    /// Pauses a job on the whole fleet: no run of it starts until it is resumed, or until `until`. A run under way goes on; its
    /// epoch is the answer.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn pause(&self, job: &str, until: Option<Timestamp>, reason: Option<&str>) -> Result<Option<i64>, Error> {
        reason_is_short(reason)?;
        let until = until.map(Tstz);
        let params: [Param<'_>; 4] =
            [(&job, Type::TEXT), (&until, Type::TIMESTAMPTZ), (&reason, Type::TEXT), (&self.actor, Type::TEXT)];
        let rows = self.write("pause", &self.statements.pause, &params).await?;
        let Some(row) = rows.first() else { return Err(self.unknown(job).await) };
        let running = (|| Ok::<(bool, i64), Trouble>((get(row, "open")?, get(row, "epoch")?)))();
        let (open, epoch) = running.map_err(|trouble| self.failed("pause", trouble))?;
        Ok(open.then_some(epoch))
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
    /// that run only. The answer is the run that has been asked to stop; `None`: nothing runs, or not that run. What is asked for and
    /// has not begun is withdrawn, and with a run of a backfill the rest of it.
    ///
    /// # Errors
    ///
    /// As [`Operator::status`].
    pub async fn cancel(&self, job: &str, epoch: Option<i64>) -> Result<Option<i64>, Error> {
        let params: [Param<'_>; 3] = [(&job, Type::TEXT), (&epoch, Type::INT8), (&self.actor, Type::TEXT)];
        let rows = self.write("cancel", &self.statements.cancel, &params).await?;
        let Some(row) = rows.first() else {
            self.standing("cancel", job).await?;
            return Ok(None);
        };
        get(row, "epoch").map_err(|trouble| self.failed("cancel", trouble))
    }
}
