//! `order-sync serve`

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::options::ServeOptions;
use crate::store::Store;
use crate::{dashboard, scheduler, signal, web};

/// Serves until it is asked to end; then lets requests finish and a run stop where it is.
///
/// # Errors
///
/// The configuration is wrong or the address taken. A database that is away is no reason not to start.
pub async fn serve(options: ServeOptions) -> anyhow::Result<()> {
    let shutdown = CancellationToken::new();
    tokio::spawn({
        let shutdown = shutdown.clone();
        async move {
            signal::shutdown().await;
            shutdown.cancel();
        }
    });
    let store = Store::lazy(&options.job.database.database_url, options.pool_size)?;
    let listener =
        TcpListener::bind(options.listen).await.with_context(|| format!("can't listen on {}", options.listen))?;
    let scheduler = scheduler::start(&options, &store, shutdown.clone()).await?;
    let address = listener.local_addr()?;
    println!("listening on http://{address}");

    let mut router = web::router(store.clone(), scheduler.clone(), options.job.node.clone());
    if let Some(dashboard) = dashboard::router(&options, (address, scheduler.as_ref()), shutdown.clone())? {
        router = router.nest_service("/jobs", dashboard);
    }
    axum::serve(listener, router).with_graceful_shutdown(shutdown.cancelled_owned()).await?;
    if let Some(scheduler) = scheduler {
        scheduler.shutdown().await;
    }
    store.close().await;
    Ok(())
}
