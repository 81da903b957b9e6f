//! apalis with apalis-cron piped into apalis-postgres, as the persistence part of apalis-cron's documentation shows: one worker a
//! job, each with a queue of its own.

use std::str::FromStr;
use std::time::Duration;

use apalis::prelude::*;
use apalis_cron::{CronScheduler, Tick};
use apalis_postgres::{Config, PgPool, PostgresStorage};
use cron::Schedule;
use hourhand_bench_replica::{Book, Orders};

#[derive(Clone)]
struct Told {
    name: String,
    book: Book,
    body: Duration,
}

async fn tick(tick: Tick, told: Data<Told>) -> Result<(), BoxDynError> {
    let _begun = told.book.begin(&told.name, Some(Duration::from_secs(tick.get_timestamp())));
    tokio::time::sleep(told.body).await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxDynError> {
    let orders = Orders::from_args();
    let book = Book::open(&orders.book)?;
    let schedule = Schedule::from_str(&orders.cron_with_seconds())?;
    let pool = PgPool::connect(&orders.url).await?;
    PostgresStorage::setup(&pool).await?;
    let mut workers = tokio::task::JoinSet::new();
    for name in orders.names() {
        let storage = PostgresStorage::new(&pool).with_config(Config::default().queue(&name));
        let told = Told { name: name.clone(), book: book.clone(), body: orders.body };
        let worker = WorkerBuilder::new(format!("{name}-{}", std::process::id()))
            .backend(CronScheduler::new(schedule.clone()).pipe_to(storage))
            .data(told)
            .build(tick);
        workers.spawn(async move { worker.run().await.map_err(|error| error.to_string()) });
    }
    book.ready();
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(())
}
