//! The fence, in the user's own transaction: a superseded run never commits.
//!
//! `select hourhand.fence(job, epoch)` takes the job's row, so that no later run can start until the transaction ends, and
//! raises `HH001` if one has. It belongs last, just before COMMIT: what is written after it is covered too, but the longer the
//! row is held, the longer a successor waits. Not inside a savepoint that may be rolled back: that lets the row go.

use jiff::Timestamp;

use crate::error::Error;
use crate::run::Run;

/// A transaction of the user's own in which a run can be fenced: one of sqlx (feature `sqlx`) or of tokio-postgres (feature
/// `tokio-postgres`).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a transaction that hourhand can fence",
    note = "for sqlx: hourhand's feature `sqlx`, and sqlx 0.9; for tokio-postgres: its own `Transaction`"
)]
pub trait FencedTransaction: sealed::Sealed {}

impl<T: sealed::Sealed> FencedTransaction for T {}

pub(crate) mod sealed {
    use jiff::Timestamp;

    use crate::error::Error;

    /// One call of a SQL function of ours.
    pub struct Call<'a> {
        pub(crate) attempted: &'static str,
        pub(crate) statement: String,
        pub(crate) job: &'a str,
        pub(crate) epoch: i64,
        pub(crate) until: Option<Timestamp>,
    }

    /// What a client has to be able to do.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not a transaction that hourhand can fence",
        note = "for sqlx: hourhand's feature `sqlx`, and sqlx 0.9; for tokio-postgres: its own `Transaction`"
    )]
    pub trait Sealed: Sized {
        /// Calls the function inside the transaction.
        fn call(&mut self, call: Call<'_>) -> impl Future<Output = Result<(), Error>> + Send;
        /// Commits.
        fn commit(self) -> impl Future<Output = Result<(), Error>> + Send;
    }
}

use sealed::Call;

impl Run {
    /// Lets the caller's transaction commit only while this run is the current one. Call it last, just before the commit, at
    /// the transaction's top level.
    ///
    /// # Errors
    ///
    /// [`Error::is_superseded`] when a later run has started or the end of this one is recorded: roll back and return. Any
    /// other error is the database's; the transaction is to be rolled back as well.
    pub async fn fence<T: FencedTransaction + Send>(&self, transaction: &mut T) -> Result<(), Error> {
        transaction.call(self.function("fence", None)).await
    }

    /// Fences and commits in one go.
    ///
    /// # Errors
    ///
    /// As [`Run::fence`]; the transaction is rolled back. An error of the commit itself leaves open whether it was done.
    pub async fn commit<T: FencedTransaction + Send>(&self, mut transaction: T) -> Result<(), Error> {
        self.fence(&mut transaction).await?;
        transaction.commit().await
    }

    /// Records the success of this run in the caller's transaction, with the data it writes: both are committed, or neither.
    /// A run whose body called this succeeds if and only if that is committed.
    ///
    /// # Errors
    ///
    /// As [`Run::fence`]; also when the occurrence has a success already.
    pub async fn complete<T: FencedTransaction + Send>(&self, transaction: &mut T) -> Result<(), Error> {
        self.begin_completing();
        transaction.call(self.function("complete", None)).await
    }

    /// Records the success and commits in one go.
    ///
    /// # Errors
    ///
    /// As [`Run::complete`] and [`Run::commit`].
    pub async fn complete_and_commit<T: FencedTransaction + Send>(&self, mut transaction: T) -> Result<(), Error> {
        self.complete(&mut transaction).await?;
        transaction.commit().await
    }

    /// A checkpoint: everything before `until` is covered, together with the data that this transaction writes. The next
    /// window begins there (less the lookback), even if this run fails later. Never moves back, nor past this run's own
    /// window. Fences as well.
    ///
    /// # Errors
    ///
    /// As [`Run::fence`].
    pub async fn advance<T: FencedTransaction + Send>(
        &self,
        transaction: &mut T,
        until: Timestamp,
    ) -> Result<(), Error> {
        // The server knows microseconds and would round up: never beyond what the caller has covered.
        let until = Timestamp::from_microsecond(until.as_microsecond()).unwrap_or(until);
        transaction.call(self.function("advance", Some(until))).await
    }

    fn function(&self, name: &'static str, until: Option<Timestamp>) -> Call<'_> {
        let more = if until.is_some() { ", $3::text::timestamptz" } else { "" };
        let statement = self.schema().put_into(&format!("select {{schema}}.{name}($1::text, $2::bigint{more})"));
        Call { attempted: name, statement, job: self.job(), epoch: self.epoch(), until }
    }
}

/// The fence's own refusal: `HH001`, or a serialization failure where the transaction's snapshot is older than the later run.
fn refused(call: &Call<'_>, code: Option<&str>, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    match code {
        Some("HH001" | "40001") => Error::superseded(call.job, call.epoch),
        Some(_) | None => Error::transaction(call.attempted, error),
    }
}

#[cfg(feature = "sqlx")]
mod with_sqlx {
    use sqlx::{Postgres, Transaction};

    use super::sealed::{Call, Sealed};
    use super::{Error, refused};

    impl Sealed for Transaction<'_, Postgres> {
        async fn call(&mut self, call: Call<'_>) -> Result<(), Error> {
            // Unnamed: a named statement would be lost behind a transaction pooler.
            let query = sqlx::query(sqlx::AssertSqlSafe(call.statement.clone())).persistent(false);
            let query = query.bind(call.job).bind(call.epoch);
            let query = match call.until {
                Some(until) => query.bind(until.to_string()),
                None => query,
            };
            match query.execute(&mut **self).await {
                Ok(_) => Ok(()),
                Err(error) => {
                    let code = error.as_database_error().and_then(|said| said.code()).map(|code| code.into_owned());
                    Err(refused(&call, code.as_deref(), error))
                }
            }
        }

        async fn commit(self) -> Result<(), Error> {
            Transaction::commit(self).await.map_err(|error| Error::transaction("commit", error))
        }
    }
}

#[cfg(feature = "tokio-postgres")]
mod with_tokio_postgres {
    use tokio_postgres::Transaction;
    use tokio_postgres::types::{ToSql, Type};

    use super::sealed::{Call, Sealed};
    use super::{Error, refused};

    impl Sealed for Transaction<'_> {
        async fn call(&mut self, call: Call<'_>) -> Result<(), Error> {
            let until = call.until.map(|until| until.to_string());
            let mut params: Vec<(&(dyn ToSql + Sync), Type)> = vec![(&call.job, Type::TEXT), (&call.epoch, Type::INT8)];
            if let Some(until) = &until {
                params.push((until, Type::TEXT));
            }
            match self.query_typed(&call.statement, &params).await {
                Ok(_) => Ok(()),
                Err(error) => {
                    let code = error.code().map(|code| code.code().to_owned());
                    Err(refused(&call, code.as_deref(), error))
                }
            }
        }

        async fn commit(self) -> Result<(), Error> {
            Transaction::commit(self).await.map_err(|error| Error::transaction("commit", error))
        }
    }
}
