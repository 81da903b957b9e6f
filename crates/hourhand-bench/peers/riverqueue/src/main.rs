//! riverqueue with periodic jobs on the elected leader: a cron schedule, or an interval where it has to have seconds in it.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hourhand_bench_replica::{Book, Orders};
use riverqueue::migrate::PostgresMigrator;
use riverqueue::sqlx::PgPool;
use riverqueue::{
    BoxError, Client, CronSchedule, IntervalSchedule, Job, JobArgs, PeriodicJob, PeriodicJobOpts, QueueConfig,
    WorkContext, WorkOutcome, Workers,
};
use serde::{Deserialize, Serialize};

static BOOK: OnceLock<(Book, Duration)> = OnceLock::new();

#[derive(Clone, Debug, Deserialize, JobArgs, Serialize)]
#[river(kind = "due")]
struct Due {
    name: String,
}

async fn due(_context: WorkContext, job: Job<Due>) -> Result<WorkOutcome, BoxError> {
    let Some((book, body)) = BOOK.get() else { return Ok(WorkOutcome::Complete) };
    let scheduled_for = SystemTime::from(job.row.scheduled_at).duration_since(UNIX_EPOCH).ok();
    let _begun = book.begin(&job.args.name, scheduled_for);
    tokio::time::sleep(*body).await;
    Ok(WorkOutcome::Complete)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders = Orders::from_args();
    let book = Book::open(&orders.book)?;
    BOOK.set((book.clone(), orders.body)).ok();
    let pool = PgPool::connect(&orders.url).await?;
    PostgresMigrator::new(pool.clone()).migrate_up().await?;
    let mut workers = Workers::new();
    workers.add_fn(due)?;
    let mut client = Client::builder(pool).workers(workers).queue("default", QueueConfig::new(100));
    for name in orders.names() {
        let options = PeriodicJobOpts::new().with_id(&name);
        let args = move || Due { name: name.clone() };
        client = client.periodic_job(if orders.every < 60 {
            PeriodicJob::with_options(IntervalSchedule::new(Duration::from_secs(orders.every))?, args, options)
        } else {
            PeriodicJob::with_options(CronSchedule::parse(&orders.cron())?, args, options)
        });
    }
    let mut run = client.build()?.start()?;
    book.ready();
    run.wait().await?;
    Ok(())
}
