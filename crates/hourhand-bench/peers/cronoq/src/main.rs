//! cronoq: a scheduler in memory, one to a process.

use std::sync::Arc;
use std::time::Duration;

use cronoq::{Pool, Recurring, Scheduler, Task, TaskError};
use hourhand_bench_replica::{Book, Orders};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders = Orders::from_args();
    let book = Book::open(&orders.book)?;
    let (bodies, body) = (book.clone(), orders.body);
    let pool = Pool::fixed("default", 256).executor_fn(move |_context, name: Arc<String>| {
        let bodies = bodies.clone();
        async move {
            let _begun = bodies.begin(&name, None);
            tokio::time::sleep(body).await;
            Ok::<_, TaskError>(())
        }
    });
    let scheduler = Scheduler::<String, ()>::builder().pool(pool).build().await?;
    for name in orders.names() {
        let due = Recurring::new(name.clone(), orders.cron_with_seconds(), Task::new(name));
        scheduler.add_recurring(due).await?;
    }
    book.ready();
    scheduler.stopped().await;
    scheduler.shutdown(Duration::from_secs(1)).await?;
    Ok(())
}
