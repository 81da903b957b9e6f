//! A graceful shutdown: runs may finish, what is cut is due at once elsewhere, nothing is left.

use std::time::{Duration, Instant};

use hourhand::Triggered;
use jiff::ToSpan;
use tokio::sync::oneshot;

use crate::world::{JOB, Journal, World, daily};

const LEFT: &str = "select count(*) from pg_stat_activity where application_name like 'hourhand%' \
                    and datname = current_database()";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_under_way_may_finish_within_the_grace() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let job = journal.job_of("a", daily(), Duration::from_millis(1200)).stop_grace(1.seconds());
    let node = world.node("a").job(job).shutdown_grace(10.seconds()).start().await.unwrap();
    journal.run(1, Duration::from_secs(5)).await;
    node.shutdown().await;
    assert_eq!(world.outcomes().await, ["succeeded"]);
    world.until(Duration::from_secs(1), LEFT, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_cut_by_the_shutdown_is_due_at_once_on_another_node_and_costs_no_attempt() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let (signal, shutdown) = oneshot::channel::<()>();
    let job = journal.endless_job("a", daily()).stop_grace(1.seconds());
    let a = world.node("a").job(job).shutdown_grace(2.seconds()).shutdown_on(async move { drop(shutdown.await) });
    let a = a.start().await.unwrap();
    let cut = journal.run(1, Duration::from_secs(5)).await;
    let b = world.node("b").job(journal.endless_job("b", daily()).stop_grace(1.seconds())).shutdown_grace(2.seconds());
    let b = b.start().await.unwrap();
    let begun = Instant::now();
    signal.send(()).unwrap();
    a.shutdown().await;
    assert!(begun.elapsed() < Duration::from_secs(3), "the shutdown took {:?}", begun.elapsed());
    assert_eq!(world.outcomes().await, ["cancelled"]);
    let again = journal.run(2, Duration::from_secs(5)).await;
    assert_eq!(again.node, "b");
    assert_eq!(again.run.scheduled_for(), cut.run.scheduled_for());
    assert_eq!(again.run.attempt(), 1);
    assert_eq!(journal.most_at_once(), 1);
    assert_eq!(a.trigger(JOB).await.unwrap(), Triggered::Off);
    b.shutdown().await;
    world.until(Duration::from_secs(1), LEFT, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deaf_body_is_aborted_and_the_shutdown_ends_within_its_grace() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let job = journal.deaf_job("a", daily()).stop_grace(1.seconds());
    let node = world.node("a").job(job).shutdown_grace(3.seconds()).start().await.unwrap();
    journal.run(1, Duration::from_secs(5)).await;
    let begun = Instant::now();
    node.shutdown().await;
    assert!(begun.elapsed() < Duration::from_millis(3500), "the shutdown took {:?}", begun.elapsed());
    assert_eq!(journal.under_way(), 0);
    assert_eq!(world.outcomes().await, ["cancelled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_with_nothing_to_do_is_quick_and_asking_twice_waits_for_the_same_end() {
    let world = World::new().await;
    let node = world.node("a").job(Journal::default().endless_job("a", daily())).start().await.unwrap();
    let begun = Instant::now();
    tokio::join!(node.shutdown(), node.shutdown());
    assert!(begun.elapsed() < Duration::from_secs(1), "the shutdown took {:?}", begun.elapsed());
    assert!(node.status().await.unwrap_err().is_stopped());
    assert!(!node.health().await.ok());
}
