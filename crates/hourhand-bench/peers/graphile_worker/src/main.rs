//! graphile_worker with a crontab, a backfill of an hour, and its recovery of dead workers switched on, each with its defaults.

use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use graphile_worker::{IntoTaskHandlerResult, TaskHandler, WorkerContext, WorkerOptions, WorkerRecoveryConfig};
use hourhand_bench_replica::{Book, Orders};
use serde::{Deserialize, Serialize};

static BOOK: OnceLock<(Book, Duration)> = OnceLock::new();

#[derive(Deserialize, Serialize)]
struct Due {
    name: String,
}

impl TaskHandler for Due {
    const IDENTIFIER: &'static str = "due";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let Some((book, body)) = BOOK.get() else { return };
        let scheduled_for = std::time::SystemTime::from(*context.job().run_at());
        let _begun = book.begin(&self.name, scheduled_for.duration_since(UNIX_EPOCH).ok());
        tokio::time::sleep(*body).await;
    }
}

// The crontab as text, which its Node.js original documents; here a builder is preferred by now.
#[allow(deprecated)]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders = Orders::from_args();
    let book = Book::open(&orders.book)?;
    let cron = orders.cron();
    let line = |name: String| format!("{cron} due ?id={name}&fill=1h {{name:\"{name}\"}}");
    let crontab: Vec<String> = orders.names().map(line).collect();
    BOOK.set((book.clone(), orders.body)).ok();
    let worker = WorkerOptions::default()
        .concurrency(10)
        .database_url(&orders.url)
        .worker_recovery(WorkerRecoveryConfig::default())
        .define_job::<Due>()
        .with_crontab(&crontab.join("\n"))?
        .init()
        .await?;
    book.ready();
    worker.run().await?;
    Ok(())
}
