//! Hearing that something has changed, instead of asking again and again.

use std::time::Duration;

use hourhand_core::protocol::TroubleKind;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::Operator;
use crate::error::Error;
use crate::pg::{Ear, Param};

/// A hint that has not come back to its sender within this time does not come at all.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// Hints that a job has started, ended, been paused or resumed: from [`Operator::listen`].
///
/// They are hints, not facts: a process that dies gives none, and one may be lost. Whoever shows something looks at each hint, and
/// now and then without one.
pub struct Changes {
    ear: Ear,
}

impl Operator {
    /// Opens a connection that listens; none where nothing can be heard, because a transaction pooler stands between. It goes
    /// where the schedulers' sessions go ([`session_url`](crate::OperatorBuilder::session_url)), and ends when it is dropped.
    ///
    /// # Errors
    ///
    /// [`Error::is_unreachable`] when the database could not be reached.
    pub async fn listen(&self) -> Result<Option<Changes>, Error> {
        let failed = |trouble| self.failed("listen", trouble);
        let ear = match Ear::open(&self.session, "hourhand dashboard").await {
            Ok(ear) => ear,
            Err(trouble) if trouble.kind == TroubleKind::Pooled => return Ok(None),
            Err(trouble) => return Err(failed(trouble)),
        };
        let mut changes = Changes { ear };
        let said = format!("hello {}", Uuid::new_v4());
        let params: [Param<'_>; 1] = [(&said, Type::TEXT)];
        self.write("listen", &self.pages.heard, &params).await?;
        let heard = async {
            while changes.ear.hear().await.map_err(failed)? != said {}
            Ok::<_, Error>(())
        };
        match tokio::time::timeout(HEARD_WITHIN, heard).await {
            Ok(heard) => heard.map(|()| Some(changes)),
            Err(_) => Ok(None),
        }
    }
}

impl Changes {
    /// Waits for the next hint. May be dropped at any moment.
    ///
    /// # Errors
    ///
    /// [`Error::is_unreachable`]: the connection has ended; open another.
    pub async fn next(&mut self) -> Result<(), Error> {
        loop {
            let hint = self.ear.hear().await.map_err(|trouble| Error::database("listen", trouble))?;
            if ["start ", "free ", "look "].iter().any(|word| hint.starts_with(word)) {
                return Ok(());
            }
        }
    }
}
