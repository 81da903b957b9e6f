//! Jobs are added and removed while the scheduler runs.

use std::time::Duration;

use futures_util::future::try_join_all;
use hourhand::{Failure, Job, Schedule};
use jiff::ToSpan;

use crate::world::{JOB, Journal, World, daily, yearly};

fn tenant(n: usize) -> Job {
    Job::new(format!("order-sync:{n}"), yearly(), async |_| Ok::<_, Failure>(()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_added_to_a_running_scheduler_runs_without_a_restart() {
    let world = World::new().await;
    let node = world.node("a").job(tenant(1)).start().await.unwrap();
    let journal = Journal::default();
    node.add(journal.job_of("a", Schedule::every(Duration::from_secs(1)), Duration::ZERO)).await.unwrap();
    journal.run(2, Duration::from_secs(6)).await;
    assert_eq!(node.status().await.unwrap().len(), 2);
    node.shutdown().await;
    assert!(node.add(tenant(2)).await.unwrap_err().is_stopped());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_an_added_job_is_an_error_that_names_it_and_nothing_of_it_is_taken() {
    let world = World::new().await;
    let node = world.node("a").job(tenant(1)).start().await.unwrap();
    let twice = node.add(tenant(1)).await.unwrap_err();
    assert!(twice.is_config() && twice.to_string().contains("\"order-sync:1\""), "{twice}");
    let bad = Job::new("bad", Schedule::cron("61 * * * *"), async |_| Ok::<_, Failure>(()));
    let error = node.add_all([tenant(2), bad]).await.unwrap_err();
    assert!(error.is_config() && error.to_string().contains("bad"), "{error}");
    let pair = node.add_all([tenant(3), tenant(3)]).await.unwrap_err();
    assert!(pair.to_string().contains("two jobs are called \"order-sync:3\""), "{pair}");
    let bad = || Job::new("bad", Schedule::cron("61 * * * *"), async |_| Ok::<_, Failure>(())).retention(14.days());
    let all = node.add_all([bad(), bad()]).await.unwrap_err().to_string();
    for complaint in ["two jobs are called \"bad\"", "61", "retention: days are not all equally long: in hours"] {
        assert!(all.contains(complaint), "{all}");
    }
    assert!(node.trigger("order-sync:2").await.unwrap_err().is_unknown_job());
    node.shutdown().await;
    assert_eq!(world.number("select count(*) from hourhand.job").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_another_namespace_is_refused_and_can_be_tried_again() {
    let world = World::new().await;
    world.node("other").namespace("x").job(tenant(1)).start().await.unwrap().shutdown().await;
    let node = world.node("a").start().await.unwrap();
    for _ in 0..2 {
        let error = node.add(tenant(1)).await.unwrap_err();
        assert!(error.is_config() && error.to_string().contains("another key"), "{error}");
    }
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_job_drains_and_another_node_goes_on_with_it() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let (first, second) = (Journal::default(), Journal::default());
    let a = world.node("a").job(first.job_of("a", daily(), Duration::from_secs(2))).start().await.unwrap();
    let run = first.run(1, Duration::from_secs(6)).await.run;
    assert_eq!(a.remove(JOB).await.unwrap(), Some(run.epoch()));
    assert!(a.remove(JOB).await.unwrap_err().is_unknown_job(), "removed twice");
    assert!(a.trigger(JOB).await.unwrap_err().is_unknown_job());
    assert!(!run.is_cancelled());
    world.until(Duration::from_secs(6), "select count(*) from hourhand.history where outcome = 'succeeded'", 1).await;
    world.until(Duration::from_secs(3), "select count(*) from pg_locks where locktype = 'advisory'", 0).await;
    world.age("1 day").await;
    let b = world.node("b").job(second.job_of("b", daily(), Duration::ZERO)).start().await.unwrap();
    second.run(1, Duration::from_secs(6)).await;
    a.shutdown().await;
    b.shutdown().await;
    assert_eq!(first.entries().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_added_again_waits_until_the_run_of_its_former_self_has_ended() {
    let world = World::new().await;
    let (first, second) = (Journal::default(), Journal::default());
    let node = world.node("a").job(first.job_of("a", yearly(), Duration::from_secs(2))).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    first.run(1, Duration::from_secs(6)).await;
    assert!(node.remove(JOB).await.unwrap().is_some());
    node.add(second.job_of("a", yearly(), Duration::ZERO)).await.unwrap();
    assert_eq!(first.under_way(), 0, "two bodies of one job at once");
    node.trigger(JOB).await.unwrap();
    second.run(1, Duration::from_secs(6)).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_added_together_are_registered_together() {
    let world = World::new().await;
    let node = world.node("a").start().await.unwrap();
    node.add_all((0..900).map(tenant)).await.unwrap();
    assert_eq!(world.number("select count(*) from hourhand.job").await, 900);
    // One statement, one instant.
    assert_eq!(world.number("select count(distinct counts_from) from hourhand.definition").await, 1);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_jobs_added_one_by_one_share_their_statements() {
    let world = World::new().await;
    let node = world.node("a").start().await.unwrap();
    let began = std::time::Instant::now();
    try_join_all((0..10_000).map(|n| node.add(tenant(n)))).await.unwrap();
    println!("10,000 jobs added in {:?}", began.elapsed());
    assert_eq!(world.number("select count(*) from hourhand.job").await, 10_000);
    let statements = world.number("select count(distinct counts_from) from hourhand.definition").await;
    // How many there are depends on how quick the node is: what comes while one is under way goes into the next.
    assert!(statements <= 200, "{statements} statements");
    for n in (0..10_000).step_by(2) {
        node.remove(&format!("order-sync:{n}")).await.unwrap();
    }
    println!("half of them removed after {:?}", began.elapsed());
    assert_eq!(node.status().await.unwrap().len(), 5_000);
    node.shutdown().await;
}
