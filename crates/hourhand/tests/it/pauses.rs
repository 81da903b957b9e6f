//! Pause, resume and cancel: persisted, from any node, and what was passed over is counted.

use std::time::{Duration, Instant};

use hourhand::{Schedule, Triggered};
use hourhand_testkit::eventually;

use crate::world::{JOB, Journal, World, yearly};

fn every_second() -> Schedule {
    Schedule::every(Duration::from_secs(1))
}

async fn paused_skips(world: &World) -> i64 {
    world.number("select coalesce(sum(count), 0)::bigint from hourhand.history where reason = 'paused'").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_job_starts_nowhere_and_resumes_with_its_next_occurrence() {
    let world = World::new().await;
    let journal = Journal::default();
    let a = world.node("a").job(journal.job_of("a", every_second(), Duration::ZERO)).start().await.unwrap();
    let b = world.node("b").job(journal.job_of("b", every_second(), Duration::ZERO)).start().await.unwrap();
    journal.run(1, Duration::from_secs(5)).await;
    a.pause(JOB, None, Some("maintenance"), Some("ada")).await.unwrap();
    let before = journal.entries().len();
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(journal.entries().len(), before, "a run started after the pause was answered");
    let status = &b.status().await.unwrap()[0];
    assert!(status.paused.is_some() && !status.overdue);
    assert_eq!(b.trigger(JOB).await.unwrap(), Triggered::Paused);
    let note = world.text("select reason || ' by ' || actor from hourhand.pause").await;
    assert_eq!(note.as_deref(), Some("maintenance by ada"));
    assert!(b.resume(JOB, false, Some("bob")).await.unwrap());
    assert!(!b.resume(JOB, false, None).await.unwrap(), "it was not paused any more");
    let resumed = jiff::Timestamp::now();
    let next = journal.run(before + 1, Duration::from_secs(4)).await.run;
    assert!(next.scheduled_for().unwrap().as_second() >= resumed.as_second(), "what was due in the pause was run");
    a.shutdown().await;
    b.shutdown().await;
    assert!((2..=4).contains(&paused_skips(&world).await), "{} skipped", paused_skips(&world).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn resumed_to_catch_up_it_runs_the_newest_that_was_due_meanwhile_at_once() {
    let world = World::new().await;
    let journal = Journal::default();
    let daily = || Schedule::every(Duration::from_secs(86_400));
    world
        .node("0")
        .job(Journal::default().job_of("0", daily(), Duration::ZERO))
        .start()
        .await
        .unwrap()
        .shutdown()
        .await;
    let node = world.node("a").job(journal.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
    node.pause(JOB, None, None, None).await.unwrap();
    world.age("1 day").await;
    assert!(node.resume(JOB, true, None).await.unwrap());
    let asked = Instant::now();
    journal.run(1, Duration::from_secs(4)).await;
    assert!(asked.elapsed() < Duration::from_secs(2), "after {:?}", asked.elapsed());
    node.shutdown().await;
    assert_eq!(paused_skips(&world).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_ends_by_itself_and_what_was_due_in_it_is_passed_over() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.job_of("a", every_second(), Duration::ZERO)).start().await.unwrap();
    journal.run(1, Duration::from_secs(5)).await;
    let now = jiff::Timestamp::now();
    let refused = node.pause(JOB, Some(now - jiff::SignedDuration::from_secs(60)), None, None).await.unwrap_err();
    assert!(refused.is_config() && refused.to_string().contains("is over: a pause ends ahead"), "{refused}");
    assert_eq!(world.number("select count(*) from hourhand.pause").await, 0);
    let until = now + jiff::SignedDuration::from_millis(2500);
    node.pause(JOB, Some(until), None, None).await.unwrap();
    let before = journal.entries().len();
    let next = journal.run(before + 1, Duration::from_secs(6)).await.run;
    assert!(next.scheduled_for().unwrap() > until, "{:?} was due in the pause", next.scheduled_for());
    node.shutdown().await;
    assert!((1..=3).contains(&paused_skips(&world).await), "{} skipped", paused_skips(&world).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_under_way_goes_on_in_a_pause_and_the_answer_says_so() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", yearly())).start().await.unwrap();
    let Triggered::Started { epoch } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    assert_eq!(node.pause(JOB, None, None, None).await.unwrap(), Some(epoch));
    assert_eq!(journal.under_way(), 1);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_from_another_node_arrives_at_once_and_names_its_run() {
    let world = World::new().await;
    let journal = Journal::default();
    // With ttl 60 s the next ping is 12 s away: the notice has to do it.
    let builder = |name: &str| world.node(name).ttl(Duration::from_secs(60));
    let a = builder("a").job(journal.endless_job("a", yearly())).start().await.unwrap();
    let b = builder("b").job(journal.endless_job("b", yearly())).start().await.unwrap();
    assert_eq!(b.cancel(JOB, None, None).await.unwrap(), None, "nothing runs");
    let Triggered::Started { epoch } = a.trigger(JOB).await.unwrap() else { panic!("not started") };
    assert_eq!(b.cancel(JOB, Some(epoch - 1), None).await.unwrap(), None, "that run is not under way");
    let asked = Instant::now();
    assert_eq!(b.cancel(JOB, Some(epoch), Some("ada")).await.unwrap(), Some(epoch));
    eventually(Duration::from_secs(3), async || match world.outcomes().await.as_slice() {
        [one] if one == "cancelled" => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    assert!(asked.elapsed() < Duration::from_secs(2), "cancelled after {:?}", asked.elapsed());
    a.shutdown().await;
    b.shutdown().await;
}
