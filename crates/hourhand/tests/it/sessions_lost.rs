//! A session that is ended, sabotaged or shared: the holder notices, stops its body and takes part again.

use std::time::{Duration, Instant};

use hourhand::{Schedule, Triggered};
use hourhand_testkit::{Installation, Server, Shutdown, eventually};

use crate::world::{JOB, Journal, World, daily};

const TERMINATE: &str = "select pg_terminate_backend(pid) from pg_stat_activity \
                         where application_name like 'hourhand%' and datname = current_database()";

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_session_stops_its_body_at_once_and_the_occurrence_runs_again() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", daily())).start().await.unwrap();
    let first = journal.run(1, Duration::from_secs(5)).await;
    let cut = Instant::now();
    world.eye.batch_execute(TERMINATE).await.unwrap();
    first.run.cancelled().await;
    println!("told to stop {:?} after pg_terminate_backend", cut.elapsed());
    assert!(cut.elapsed() < Duration::from_millis(500), "told to stop after {:?}", cut.elapsed());
    let second = journal.run(2, Duration::from_secs(5)).await;
    assert_eq!(second.run.scheduled_for(), first.run.scheduled_for());
    assert!(second.run.epoch() > first.run.epoch());
    assert_eq!((second.run.attempt(), second.run.takeover()), (1, 0), "the node's own word: no attempt, no death");
    assert_eq!(world.outcomes().await, ["lost"]);
    node.shutdown().await;
    assert_eq!(journal.most_at_once(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_will_not_stop_is_aborted_within_a_fifth_of_ttl_when_its_lock_is_lost() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.deaf_job("a", daily())).start().await.unwrap();
    journal.run(1, Duration::from_secs(5)).await;
    let cut = Instant::now();
    world.eye.batch_execute(TERMINATE).await.unwrap();
    eventually(Duration::from_secs(3), async || {
        if journal.under_way() == 0 || journal.entries().len() > 1 { Ok(()) } else { Err("still at it") }
    })
    .await;
    let took = cut.elapsed();
    assert!(took < Duration::from_millis(1800), "ended {took:?} after the loss; stop is 1 s at ttl 5 s");
    journal.run(2, Duration::from_secs(5)).await;
    assert_eq!(journal.most_at_once(), 1, "the next run began beside the body that would not stop");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_while_the_database_is_away_is_answered_with_an_error_and_works_again_afterwards() {
    let installation = Installation::for_tests().unwrap();
    let mut server = Server::start(&installation).unwrap();
    let journal = Journal::default();
    let builder = hourhand::Scheduler::builder(server.url()).several_in_one_process().migrate(true);
    let node = builder.job(journal.endless_job("a", Schedule::cron("0 0 1 1 *"))).start().await.unwrap();
    tokio::task::block_in_place(|| server.stop(Shutdown::Fast)).unwrap();
    let asked = Instant::now();
    let error = node.trigger(JOB).await.unwrap_err();
    assert!(error.is_unreachable(), "{error:?}");
    assert!(asked.elapsed() < Duration::from_secs(4), "answered after {:?}", asked.elapsed());
    assert!(!node.health().await.ok());
    tokio::task::block_in_place(|| server.restart(Shutdown::Fast)).unwrap();
    assert!(matches!(node.trigger(JOB).await.unwrap(), Triggered::Started { .. }));
    node.shutdown().await;
}
