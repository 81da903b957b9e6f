//! A run by hand is answered at once, by whichever node is asked, and never moves or eats an occurrence.

use std::time::{Duration, Instant};

use hourhand::{Schedule, Triggered};
use hourhand_testkit::eventually;

use crate::world::{JOB, Journal, World, yearly};

#[tokio::test(flavor = "multi_thread")]
async fn a_double_click_starts_one_run_and_the_second_answer_says_since_when_and_where() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", yearly())).start().await.unwrap();
    let (first, second) = tokio::join!(node.trigger(JOB), node.trigger(JOB));
    let Triggered::Started { epoch } = first.unwrap() else { panic!("the first click did not start a run") };
    let Triggered::AlreadyRunning { node: name, since, epoch: running } = second.unwrap() else {
        panic!("the second click did not find it running")
    };
    assert_eq!((name.as_deref(), running), (Some("a"), Some(epoch)));
    assert!(since.is_some());
    node.shutdown().await;
    assert_eq!(journal.entries().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_answers_that_it_runs_already_with_the_holders_name_and_since() {
    let world = World::new().await;
    let journal = Journal::default();
    let a = world.node("a").job(journal.endless_job("a", yearly())).start().await.unwrap();
    let b = world.node("b").job(journal.endless_job("b", yearly())).start().await.unwrap();
    let Triggered::Started { epoch } = a.trigger(JOB).await.unwrap() else { panic!("not started") };
    let asked = Instant::now();
    let answer = b.trigger(JOB).await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(1), "answered after {:?}", asked.elapsed());
    let Triggered::AlreadyRunning { node, since, epoch: running } = answer else { panic!("{answer:?}") };
    assert_eq!((node.as_deref(), running), (Some("a"), Some(epoch)));
    assert!(since.is_some());
    a.shutdown().await;
    assert!(matches!(b.trigger(JOB).await.unwrap(), Triggered::Started { .. }), "free again after the holder's end");
    b.shutdown().await;
    assert_eq!(journal.most_at_once(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_held_by_a_stranger_is_answered_within_two_seconds_and_reported() {
    let world = World::new().await;
    let node = world.node("a").job(Journal::default().endless_job("a", yearly())).start().await.unwrap();
    let stranger = world.database.connect().await;
    stranger.batch_execute("set application_name = 'somebodys-pool'").await.unwrap();
    stranger.batch_execute("select pg_advisory_lock(key) from hourhand.job").await.unwrap();
    let asked = Instant::now();
    let answer = node.trigger(JOB).await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(2), "answered after {:?}", asked.elapsed());
    let Triggered::AlreadyRunning { node: name, .. } = answer else { panic!("{answer:?}") };
    assert!(name.unwrap().contains("somebodys-pool"));
    assert!(node.health().await.problems.iter().any(|problem| problem.contains("lock is held by session")));
    stranger.batch_execute("select pg_advisory_unlock_all()").await.unwrap();
    assert!(matches!(node.trigger(JOB).await.unwrap(), Triggered::Started { .. }));
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manual_run_neither_eats_nor_moves_the_occurrence_and_ignores_the_start_delay() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = || journal.job_of("a", Schedule::every(Duration::from_secs(3600)), Duration::ZERO);
    // Registered by a node that is gone again; then an hour passes.
    world.node("a").job(job()).start().await.unwrap().shutdown().await;
    world.age("1 hour").await;
    let node = world.node("a").job(job()).start_delay(Duration::from_secs(3)).start().await.unwrap();
    let begun = Instant::now();
    assert!(matches!(node.trigger(JOB).await.unwrap(), Triggered::Started { .. }));
    let manual = journal.run(1, Duration::from_secs(1)).await;
    assert_eq!(manual.run.scheduled_for(), None);
    assert!(begun.elapsed() < Duration::from_secs(2));
    let scheduled = journal.run(2, Duration::from_secs(8)).await;
    assert!(scheduled.run.scheduled_for().is_some(), "the occurrence was eaten by the manual run");
    assert!(begun.elapsed() > Duration::from_millis(1500), "the start delay was not kept");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_job_is_answered_paused_and_an_unknown_one_with_the_known_names() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", yearly())).start().await.unwrap();
    world.eye.batch_execute("insert into hourhand.pause (job, active) values ('order-sync', true)").await.unwrap();
    assert_eq!(node.trigger(JOB).await.unwrap(), Triggered::Paused);
    let error = node.trigger("order-snyc").await.unwrap_err();
    assert!(error.is_unknown_job() && error.to_string().ends_with("is \"order-sync\" meant?"), "{error}");
    node.shutdown().await;
    assert!(journal.entries().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_that_names_the_epoch_stops_the_run_and_one_for_another_epoch_does_not() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", yearly())).start().await.unwrap();
    let Triggered::Started { epoch } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let cancel = |epoch: i64| {
        format!("insert into hourhand.cancel values ('{JOB}', {epoch}) on conflict (job) do update set epoch = {epoch}")
    };
    world.eye.batch_execute(&cancel(epoch - 1)).await.unwrap();
    // Two pings see the stale one.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(journal.under_way(), 1, "a cancel for another run stopped this one");
    world.eye.batch_execute(&cancel(epoch)).await.unwrap();
    eventually(Duration::from_secs(4), async || match world.outcomes().await.as_slice() {
        [one] if one == "cancelled" => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    node.shutdown().await;
}
