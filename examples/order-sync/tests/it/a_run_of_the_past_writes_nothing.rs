//! The fence, in every transaction of the store.

use std::time::Duration;

use hourhand::{Failure, Job, Run, Schedule, Scheduler};
use order_sync::store::Store;
use order_sync::walk::Progress;
use tokio::sync::mpsc;

use crate::support::{database, order, runs, until};

#[tokio::test]
async fn a_run_whose_end_is_recorded_can_neither_save_a_page_nor_reserve_a_call() {
    let (database, pool) = database().await;
    let (sender, mut receiver) = mpsc::unbounded_channel::<Run>();
    let job = Job::new("order-sync", Schedule::hourly(), move |run| {
        let sent = sender.send(run);
        async move { Ok::<_, Failure>(sent?) }
    });
    let scheduler = Scheduler::builder(database.url()).job(job).start().await.unwrap();
    scheduler.trigger("order-sync").await.unwrap();
    let run = receiver.recv().await.unwrap();
    until(async || runs(&pool, "succeeded").await, |runs| *runs == 1).await;

    let store = Store::new(pool.clone());
    let minute = Duration::from_secs(60);
    let until = run.window().until;
    for progress in [Progress::Within, Progress::Reached(until), Progress::Done] {
        store.save(&run, &[order("1", 10)], (minute, progress)).await.unwrap_err();
    }
    store.pause_calls(&run, minute).await.unwrap_err();
    assert!(store.next_call_in().await.unwrap().is_zero());
    assert!(crate::support::copy(&pool).await.is_empty());
    scheduler.shutdown().await;
}
