//! Status: read from locks and rows, by one statement, from whichever node is asked.

use std::time::Duration;

use hourhand::{Schedule, Triggered};

use crate::world::{JOB, Journal, World};

#[tokio::test(flavor = "multi_thread")]
async fn any_node_shows_who_runs_what_since_when_and_what_comes_next() {
    let world = World::new().await;
    let journal = Journal::default();
    let a = world.node("a").job(journal.endless_job("a", Schedule::hourly())).start().await.unwrap();
    let b = world.node("b").job(journal.endless_job("b", Schedule::hourly())).start().await.unwrap();
    let before = &b.status().await.unwrap()[0];
    assert_eq!((before.running.as_ref(), before.last_outcome.as_deref(), before.overdue), (None, None, false));
    let next = before.next_at.unwrap();
    assert_eq!(next.as_second() % 3600, 0);
    let Triggered::Started { epoch } = a.trigger(JOB).await.unwrap() else { panic!("not started") };
    let during = b.status().await.unwrap()[0].running.clone().unwrap();
    assert_eq!((during.node.as_deref(), during.epoch), (Some("a"), epoch));
    a.shutdown().await;
    let after = &b.status().await.unwrap()[0];
    assert_eq!((after.running.as_ref(), after.last_outcome.as_deref()), (None, Some("cancelled")));
    b.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_end_and_without_lock_is_shown_as_lost_before_anybody_has_recorded_it() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", Schedule::cron("0 0 1 1 *"))).start().await.unwrap();
    world
        .eye
        .batch_execute("update hourhand.job set epoch = 7, trigger = 'schedule', started_at = now()")
        .await
        .unwrap();
    let status = &node.status().await.unwrap()[0];
    assert_eq!((status.last_outcome.as_deref(), status.running.as_ref()), (Some("lost"), None));
    assert!(world.outcomes().await.is_empty(), "asking changed something");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_askers_at_once_share_a_few_statements() {
    let world = World::new().await;
    let node = world.node("a").job(Journal::default().endless_job("a", Schedule::hourly())).start().await.unwrap();
    let asked: Vec<_> =
        (0..100).map(|_| node.clone()).map(|node| tokio::spawn(async move { node.status().await })).collect();
    for answer in asked {
        assert_eq!(answer.await.unwrap().unwrap()[0].job, JOB);
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    node.shutdown().await;
}
