//! Old history goes in bounded batches, never a job's newest run, never while a lock is held.

use std::time::Duration;

use crate::world::{Journal, World, yearly};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_older_than_its_retention_goes_and_the_newest_run_stays() {
    let world = World::new().await;
    let job = || Journal::default().job_of("a", yearly(), Duration::ZERO).retention(Duration::from_secs(7 * 86_400));
    world.node("a").job(job()).start().await.unwrap().shutdown().await;
    let fill = "insert into hourhand.history (job, epoch, outcome, trigger, ended_at) \
                select 'order-sync', n, 'succeeded', 'manual', now() - interval '30 days' + n * interval '10 minutes' \
                from generate_series(1, 2500) n; \
                insert into hourhand.history (job, epoch, outcome, ended_at) \
                values ('other', 1, 'succeeded', now() - interval '1 year')";
    world.eye.batch_execute(fill).await.unwrap();
    let old = "select count(*) from hourhand.history where job = 'order-sync' and ended_at < now() - interval '7 days'";
    assert_eq!(world.number(old).await, 2500);
    let node = world.node("a").job(job()).resident(true).prune_interval(Duration::from_secs(60)).start().await.unwrap();
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_eq!(world.number(old).await, 2500, "a statement was sent at rest");
    node.status().await.unwrap();
    world.until(Duration::from_secs(10), old, 1).await;
    node.shutdown().await;
    let left = world.text("select job || ' ' || epoch from hourhand.history where job = 'order-sync'").await;
    assert_eq!(left.as_deref(), Some("order-sync 2500"), "the newest run stays");
    assert_eq!(world.number("select count(*) from hourhand.history where job = 'other'").await, 1, "not our job");
}
