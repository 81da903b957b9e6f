//! Rolling deploys: the definition registered last decides, and no deploy leaves a job that nobody runs.

use std::time::{Duration, Instant};

use hourhand::Schedule;

use crate::world::{JOB, Journal, World};

fn every(seconds: u64) -> Schedule {
    Schedule::every(Duration::from_secs(seconds))
}

/// The runs of a node, of all so far.
fn runs_of(journal: &Journal, node: &str) -> usize {
    journal.entries().iter().filter(|entry| entry.node == node).count()
}

/// The number among all runs of the next one of this node.
async fn next_run_of(journal: &Journal, node: &str, within: Duration) {
    let before = runs_of(journal, node);
    hourhand_testkit::eventually(within, async || {
        if runs_of(journal, node) > before { Ok(()) } else { Err(format!("no further run of {node}")) }
    })
    .await;
}

const REGISTERED: &str = "select body ->> 'schedule' from hourhand.definition";

#[tokio::test(flavor = "multi_thread")]
async fn an_older_node_stands_down_and_stands_up_when_the_newer_ones_are_gone() {
    let world = World::new().await;
    let journal = Journal::default();
    let older = world.node("older").job(journal.job_of("older", every(1), Duration::ZERO)).start().await.unwrap();
    next_run_of(&journal, "older", Duration::from_secs(5)).await;

    let newer = world.node("newer").job(journal.job_of("newer", every(2), Duration::ZERO)).start().await.unwrap();
    assert_eq!(world.text(REGISTERED).await.as_deref(), Some("every 2s"));
    let before = runs_of(&journal, "older");
    for _ in 0..3 {
        next_run_of(&journal, "newer", Duration::from_secs(5)).await;
    }
    assert!(runs_of(&journal, "older") <= before + 1, "it went on with its own schedule");
    let status = &older.status().await.unwrap()[0];
    assert_eq!(status.schedule, "every 2s", "what is shown is what decides");
    let floor = world.number("select extract(epoch from counts_from)::bigint from hourhand.definition").await;

    newer.shutdown().await;
    let gone = Instant::now();
    next_run_of(&journal, "older", Duration::from_secs(30)).await;
    let waited = gone.elapsed();
    // Patience is 2 ttl after an occurrence of every two seconds; less would be impatience with a healthy deploy.
    assert!((Duration::from_secs(9)..Duration::from_secs(20)).contains(&waited), "after {waited:?}");
    assert_eq!(world.text(REGISTERED).await.as_deref(), Some("every 1s"));
    let floor_now = world.number("select extract(epoch from counts_from)::bigint from hourhand.definition").await;
    assert_eq!(floor_now, floor, "the floor is that of the registration it replaces");
    // What came due every second until then, less the one that ran.
    let passed = world.number("select sum(count)::bigint from hourhand.history where reason = 'stood_down'").await;
    assert!((7..=20).contains(&passed), "{passed} passed over");
    older.shutdown().await;
    assert_eq!(journal.most_at_once(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_brings_the_older_nodes_back_at_their_next_occurrence() {
    let world = World::new().await;
    let journal = Journal::default();
    let older = world.node("older").job(journal.job_of("older", every(1), Duration::ZERO)).start().await.unwrap();
    next_run_of(&journal, "older", Duration::from_secs(5)).await;
    let newer = world.node("newer").job(journal.job_of("newer", every(2), Duration::ZERO)).start().await.unwrap();
    next_run_of(&journal, "newer", Duration::from_secs(5)).await;
    newer.shutdown().await;

    // The process that rolls back only registers: it is gone before anything is due.
    let rolled = world
        .node("rolled back")
        .start_delay(Duration::from_secs(0))
        .job(journal.job_of("rolled back", every(1), Duration::ZERO))
        .start()
        .await
        .unwrap();
    rolled.shutdown().await;
    let back = Instant::now();
    next_run_of(&journal, "older", Duration::from_secs(10)).await;
    assert!(back.elapsed() < Duration::from_secs(5), "after {:?}", back.elapsed());
    older.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_under_way_at_a_deploy_goes_on_and_nothing_overlaps_it() {
    let world = World::new().await;
    let journal = Journal::default();
    let long = journal.job_of("older", every(1), Duration::from_secs(4));
    let older = world.node("older").job(long).start().await.unwrap();
    next_run_of(&journal, "older", Duration::from_secs(5)).await;
    let newer = world.node("newer").job(journal.job_of("newer", every(2), Duration::ZERO)).start().await.unwrap();
    next_run_of(&journal, "newer", Duration::from_secs(15)).await;
    assert_eq!((runs_of(&journal, "older"), journal.most_at_once()), (1, 1));
    assert_eq!(world.outcomes().await.first().map(String::as_str), Some("succeeded"));
    newer.shutdown().await;
    older.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_may_run_the_job_on_a_node_that_stands_down() {
    let world = World::new().await;
    let journal = Journal::default();
    let older = world.node("older").job(journal.job_of("older", every(86_400), Duration::ZERO)).start().await.unwrap();
    let newer = world.node("newer").job(journal.job_of("newer", every(43_200), Duration::ZERO)).start().await.unwrap();
    assert!(matches!(older.trigger(JOB).await.unwrap(), hourhand::Triggered::Started { .. }));
    assert_eq!(journal.run(1, Duration::from_secs(5)).await.node, "older");
    newer.shutdown().await;
    older.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_vanish_are_registered_again_without_replacing_what_is_newer() {
    let world = World::new().await;
    let journal = Journal::default();
    let other = |node: &str, seconds| journal.job_of(node, every(seconds), Duration::ZERO);
    let extra = hourhand::Job::new("extra", every(1), async |_| Ok::<_, hourhand::Failure>(()));
    let older = world.node("older").job(other("older", 1)).job(extra).start().await.unwrap();
    let newer = world.node("newer").job(other("newer", 2)).start().await.unwrap();
    world
        .eye
        .batch_execute(
            "delete from hourhand.definition where job = 'extra'; delete from hourhand.job where name = 'extra'",
        )
        .await
        .unwrap();
    world.until(Duration::from_secs(10), "select count(*) from hourhand.job where name = 'extra'", 1).await;
    let of_the_job = format!("select body ->> 'schedule' from hourhand.definition where job = '{JOB}'");
    assert_eq!(world.text(&of_the_job).await.as_deref(), Some("every 2s"));
    newer.shutdown().await;
    older.shutdown().await;
}
