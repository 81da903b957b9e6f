//! `order-sync sync --once`: the same sync from cron or a shell.
//!
//! It is the job itself, triggered by hand in a scheduler of this process: so it takes the same lock, has an epoch, is
//! fenced, keeps the window and stands in the history. Calling the pull without all that would be shorter, and would one
//! day run beside the hourly one: two callers of a feed that allows one.
//!
//! This scheduler runs nothing else. Its start delay is longer than it lives, so what is due stays with the serving
//! processes; and the job is defined by the same options as theirs, so it is no other definition of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, bail};
use hourhand::{Scheduler, Triggered};
use tokio::sync::oneshot;

use crate::job::{NAME, OrderSync};
use crate::options::SyncOptions;
use crate::signal;
use crate::store::Store;

/// Longer than any run, and short enough for a clock to add.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Once {
    /// Synced.
    Done,
    /// It failed; hourhand has said why.
    Failed,
    /// Somebody else is at it: who and since when, as far as is known.
    AlreadyRunning(String),
}

/// Syncs once, now, unless somebody else is at it.
///
/// # Errors
///
/// It could not even be tried.
pub async fn once(options: SyncOptions) -> anyhow::Result<Once> {
    let options = options.job;
    let feed_url = options.feed_url().context("FEED_URL is not set: there is nothing to sync from")?;
    let store = Store::lazy(&options.database.database_url, 2)?;
    let sync = Arc::new(OrderSync::new(feed_url, store.clone(), options.clone())?);

    let (sender, ended) = oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let job = OrderSync::job(&options, move |run| {
        let (sync, sender) = (sync.clone(), sender.lock().ok().and_then(|mut sender| sender.take()));
        async move {
            let result = sync.run(run).await;
            // A panic on the way here drops the sender, and says "failed" that way.
            sender.map(|sender| sender.send(result.is_ok()));
            result
        }
    });
    let scheduler = Scheduler::builder(&options.database.database_url)
        .job(job)
        .node(&options.node)
        .ttl(options.ttl)
        .start_delay(NEVER)
        .shutdown_on(signal::shutdown())
        .start()
        .await?;

    let once = match scheduler.trigger(NAME).await? {
        Triggered::Started { .. } => match ended.await {
            Ok(true) => Once::Done,
            Ok(false) | Err(_) => Once::Failed,
        },
        Triggered::AlreadyRunning { node, since, .. } => {
            let node = node.unwrap_or_else(|| "another process".to_owned());
            let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
            Once::AlreadyRunning(format!("{node} is at it{since}"))
        }
        refused => bail!("not started: {refused:?}"),
    };
    // Returns once the run's end is recorded.
    scheduler.shutdown().await;
    store.close().await;
    Ok(once)
}
