//! The scheduler in the serving process: on, or off and why.

use std::sync::Arc;

use hourhand::Scheduler;
use tokio_util::sync::CancellationToken;

use crate::job::OrderSync;
use crate::options::{ServeOptions, Switch};
use crate::store::Store;

/// Starts the scheduler, if it is switched on and has all it needs; says so if not. The service serves either way.
///
/// # Errors
///
/// What is configured is wrong. That is worth not starting for; a database or a feed that is away is not.
pub async fn start(
    options: &ServeOptions,
    store: &Store,
    shutdown: CancellationToken,
) -> anyhow::Result<Option<Scheduler>> {
    if options.scheduler == Switch::Off {
        tracing::info!("ORDER_SYNC_SCHEDULER=off: serving without the scheduler");
        return Ok(None);
    }
    let Some(feed_url) = options.job.feed_url() else {
        tracing::warn!("FEED_URL is not set: serving without the scheduler");
        return Ok(None);
    };
    let sync = Arc::new(OrderSync::new(feed_url, store.clone(), options.job.clone())?);
    let job = OrderSync::job(&options.job, move |run| {
        let sync = sync.clone();
        async move { sync.run(run).await }
    });
    let scheduler = Scheduler::builder(&options.job.database.database_url)
        .job(job)
        .node(&options.job.node)
        .ttl(options.job.ttl)
        .start_delay(options.start_delay)
        .shutdown_on(shutdown.cancelled_owned())
        .start()
        .await?;
    Ok(Some(scheduler))
}
