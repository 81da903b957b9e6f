//! A connection that only listens: to hear at once what a look would show a little later.
//!
//! Behind a transaction pooler a LISTEN would stay on a connection that is somebody else's, so it is said only on a connection that
//! the probe has found to be ours alone. Whoever gets no ear looks more often.

use std::sync::Arc;
use std::time::Duration;

use hourhand_core::protocol::Trouble;
use tokio::sync::mpsc;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Notification};

use super::conninfo::{Conninfo, connect};
use super::probe::probe;
use super::session::{Driving, ended, refused};
use super::sql;
use super::trouble::{lost, timed_out, trouble};

/// Two connections and a dozen small statements.
const OPEN_BOUND: Duration = Duration::from_secs(5);
/// Notices are hints: beyond these they are dropped.
const NOTIFICATIONS_MAX: usize = 64;

pub(crate) struct Ear {
    /// The session ends with it.
    _client: Client,
    driving: Driving,
    notifications: mpsc::Receiver<Notification>,
}

impl Ear {
    /// Listens from now on.
    pub(crate) async fn open(conninfo: &Arc<Conninfo>, application_name: &str) -> Result<Ear, Trouble> {
        match tokio::time::timeout(OPEN_BOUND, Ear::open_unbounded(conninfo, application_name)).await {
            Ok(opened) => opened,
            Err(_) => Err(timed_out("listen", OPEN_BOUND)),
        }
    }

    async fn open_unbounded(conninfo: &Arc<Conninfo>, application_name: &str) -> Result<Ear, Trouble> {
        let dial = || connect(conninfo, application_name, OPEN_BOUND);
        let (client, driver) = dial().await.map_err(|error| refused(&error))?;
        let (sender, notifications) = mpsc::channel(NOTIFICATIONS_MAX);
        let mut driving: Driving = Box::pin(async move { ended(driver.run(sender).await) });
        let (other, other_driver) = dial().await.map_err(|error| refused(&error))?;
        let (unheard, _notifications) = mpsc::channel(1);
        let mark = uuid::Uuid::new_v4().to_string();
        let listening = async {
            let params: [super::ask::Param<'_>; 2] = [(&mark, Type::TEXT), (&false, Type::BOOL)];
            client.query_typed(sql::OPEN, &params).await.map_err(|error| trouble(&error))?;
            probe(&client, &mark, &other).await?;
            client.batch_execute("listen hourhand").await.map_err(|error| trouble(&error))
        };
        tokio::select! {
            biased;
            listening = listening => listening?,
            ended = &mut driving => return Err(ended),
            end = other_driver.run(unheard) => return Err(ended(end)),
        }
        Ok(Ear { _client: client, driving, notifications })
    }

    /// What somebody says next: `free KEY`, `look KEY`, ….
    pub(crate) async fn hear(&mut self) -> Result<String, Trouble> {
        tokio::select! {
            biased;
            Some(notification) = self.notifications.recv() => Ok(notification.payload().to_owned()),
            ended = &mut self.driving => {
                // Polled again, it would panic.
                self.driving = Box::pin(std::future::ready(lost("the session has ended")));
                Err(ended)
            }
        }
    }
}
