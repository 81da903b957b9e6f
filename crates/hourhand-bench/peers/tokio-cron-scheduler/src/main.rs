//! tokio-cron-scheduler as its README shows it: in memory. (Its PostgreSQL store keeps what is scheduled, and coordinates nobody.)

use hourhand_bench_replica::{Book, Orders};
use tokio_cron_scheduler::{Job, JobScheduler};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders = Orders::from_args();
    let book = Book::open(&orders.book)?;
    let scheduler = JobScheduler::new().await?;
    for name in orders.names() {
        let (book, body) = (book.clone(), orders.body);
        let run = move |_, _| -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
            let (book, name) = (book.clone(), name.clone());
            Box::pin(async move {
                let _begun = book.begin(&name, None);
                tokio::time::sleep(body).await;
            })
        };
        scheduler.add(Job::new_async(orders.cron_with_seconds(), run)?).await?;
    }
    book.ready();
    scheduler.start().await?;
    std::future::pending().await
}
