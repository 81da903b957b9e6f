//! hourhand's own replica: the scheduler with the library's defaults.
//!
//! Beside the words of the contract it may be told `--offset-ms N`, by which its instants are moved, `--prefix NAME` for the names of
//! its jobs, and `--resident yes`.

use std::time::Duration;

use anyhow::{Context, Result};
use hourhand::{Job, Schedule, Scheduler};
use hourhand_bench_replica::{Book, Orders};
use jiff::{SignedDuration, Timestamp};

#[tokio::main]
async fn main() -> Result<()> {
    let orders = Orders::from_args();
    let book = Book::open(&orders.book)?;
    let prefix = orders.more.get("prefix").cloned().unwrap_or_default();
    let resident = orders.more.contains_key("resident");
    let jobs = orders.names().map(|name| job(format!("{prefix}{name}"), &orders, &book)).collect::<Result<Vec<_>>>()?;
    let builder = Scheduler::builder(&orders.url).migrate(true).resident(resident);
    let scheduler = jobs.into_iter().fold(builder, |builder, job| builder.job(job)).start().await?;
    book.ready();
    std::future::pending::<()>().await;
    drop(scheduler);
    Ok(())
}

fn job(name: String, orders: &Orders, book: &Book) -> Result<Job> {
    let offset = orders.more.get("offset-ms").map_or(Ok(0), |text| text.parse::<i64>());
    let anchor = Timestamp::from_millisecond(offset.context("--offset-ms is not a number")?)?;
    let every = SignedDuration::from_secs(i64::try_from(orders.every)?);
    let (book, body, own) = (book.clone(), orders.body, name.clone());
    Ok(Job::new(name, Schedule::every_from(every, anchor), move |run| {
        let scheduled_for = run.scheduled_for().and_then(|at| u64::try_from(at.as_nanosecond()).ok());
        let begun = book.begin(&own, scheduled_for.map(Duration::from_nanos));
        async move {
            let _begun = begun;
            if !body.is_zero() {
                // A body that is told to stop and does not is aborted: it is to be as long as it was told, or as it may be.
                tokio::time::sleep(body).await;
            }
            Ok::<_, anyhow::Error>(())
        }
    }))
}
