//! underway: a job with a schedule is a queue with a worker and a scheduler of its own.

use std::time::Duration;

use hourhand_bench_replica::{Book, Orders, refuse};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use underway::{Job, To, ZonedSchedule};

/// Each queue keeps connections of its own, so that many jobs want more than a server has.
const JOBS_MAX: usize = 10;

#[derive(Clone)]
struct Told {
    name: String,
    book: Book,
    body: Duration,
}

#[derive(Deserialize, Serialize)]
struct Due;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders = Orders::from_args();
    if orders.jobs > JOBS_MAX {
        refuse("each scheduled job is a queue that keeps connections of its own");
    }
    let book = Book::open(&orders.book)?;
    let pool = PgPool::connect(&orders.url).await?;
    underway::run_migrations(&pool).await?;
    let schedule = ZonedSchedule::new(&orders.cron_with_seconds(), "UTC")?;
    let mut handles = Vec::new();
    for name in orders.names() {
        let told = Told { name: name.clone(), book: book.clone(), body: orders.body };
        let job = Job::<Due, Told>::builder()
            .state(told)
            .step(|context, Due| async move {
                let _begun = context.state.book.begin(&context.state.name, None);
                tokio::time::sleep(context.state.body).await;
                To::done()
            })
            .name(name)
            .pool(pool.clone())
            .build()
            .await?;
        job.schedule(&schedule, &Due).await?;
        handles.push(job.start());
    }
    book.ready();
    for handle in handles {
        handle.await??;
    }
    Ok(())
}
