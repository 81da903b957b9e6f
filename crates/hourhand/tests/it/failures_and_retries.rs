//! What an outcome does to its occurrence, on the real rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hourhand::{Failure, Job, Retry, Run, Schedule, Trigger};
use hourhand_testkit::eventually;
use jiff::SignedDuration;

use crate::world::{JOB, Journal, World, daily};

/// A job whose n-th run (from 1) does what the function says.
fn job_by_turns<F>(journal: &Journal, turns: F) -> Job
where
    F: Fn(usize) -> Result<(), Failure> + Send + Sync + 'static,
{
    let (journal, count, turns) = (journal.clone(), Arc::new(AtomicUsize::new(0)), Arc::new(turns));
    Job::new(JOB, daily(), move |run: Run| {
        let (journal, turn, turns) = (journal.clone(), count.fetch_add(1, Ordering::SeqCst) + 1, turns.clone());
        async move {
            let _under_way = journal.begin("a", &run);
            turns(turn)
        }
    })
}

async fn outcomes(world: &World, wanted: &[&str]) {
    eventually(Duration::from_secs(8), async || {
        let outcomes = world.outcomes().await;
        if outcomes == wanted { Ok(()) } else { Err(format!("{outcomes:?}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_occurrence_is_retried_after_its_backoff_while_attempts_remain() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let job = job_by_turns(&journal, |turn| if turn < 3 { Err(Failure::unexpected("no")) } else { Ok(()) });
    let job = job.retry(Retry::fixed(3, SignedDuration::from_millis(300)));
    let node = world.node("a").job(job).start().await.unwrap();
    outcomes(&world, &["failed", "failed", "succeeded"]).await;
    node.shutdown().await;
    let runs = journal.entries();
    let facts: Vec<_> = runs.iter().map(|entry| (entry.run.attempt(), entry.run.trigger())).collect();
    assert_eq!(facts[1..], [(2, Trigger::Retry), (3, Trigger::Retry)]);
    assert!(runs.iter().all(|entry| entry.run.scheduled_for() == runs[0].run.scheduled_for()));
    let waited = runs[1].run.started_at().duration_since(runs[0].run.started_at());
    assert!(waited >= SignedDuration::from_millis(300), "retried after {waited:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_its_attempts_used_up_an_occurrence_is_handled() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let job = job_by_turns(&journal, |_| Err(Failure::unexpected("never")));
    let job = job.retry(Retry::fixed(2, SignedDuration::from_millis(50)));
    let node = world.node("a").job(job).start().await.unwrap();
    outcomes(&world, &["failed", "failed"]).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    node.shutdown().await;
    assert_eq!(journal.entries().len(), 2);
    let state =
        "select format('%s %s %s', open_for, attempts, handled_until > now() - interval '1 day') from hourhand.job";
    assert_eq!(world.text(state).await.as_deref(), Some(" 0 t"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_survives_the_end_of_its_node_and_goes_on_counting_on_another() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let (first, second) = (Journal::default(), Journal::default());
    let retry = Retry::fixed(2, SignedDuration::from_secs(2));
    let a = world.node("a").job(job_by_turns(&first, |_| Err(Failure::unexpected("no"))).retry(retry));
    let a = a.start().await.unwrap();
    outcomes(&world, &["failed"]).await;
    a.shutdown().await;
    let b = world.node("b").job(job_by_turns(&second, |_| Ok(())).retry(retry)).start().await.unwrap();
    let run = second.run(1, Duration::from_secs(6)).await.run;
    assert_eq!((run.attempt(), run.trigger()), (2, Trigger::Retry));
    outcomes(&world, &["failed", "succeeded"]).await;
    b.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_may_ask_for_its_own_wait() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let job = job_by_turns(&journal, |turn| match turn {
        1 => Err(Failure::transient("429").retry_after(SignedDuration::from_millis(200))),
        _ => Ok(()),
    });
    let job = job.retry(Retry::fixed(2, SignedDuration::from_hours(1)));
    let node = world.node("a").job(job).start().await.unwrap();
    outcomes(&world, &["failed", "succeeded"]).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_occurrence_that_comes_due_during_a_run_is_skipped_and_counted() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = journal.job_of("a", Schedule::every(Duration::from_secs(1)), Duration::from_millis(2300));
    let node = world.node("a").job(job).start().await.unwrap();
    let second = journal.run(2, Duration::from_secs(10)).await;
    let first = &journal.entries()[0];
    let between = second.run.scheduled_for().unwrap().duration_since(first.run.scheduled_for().unwrap());
    assert_eq!(between.as_secs(), 3, "the occurrences during the run were not skipped");
    node.shutdown().await;
    let overlap =
        "select count from hourhand.history where outcome = 'skipped' and reason = 'overlap' order by id limit 1";
    assert_eq!(world.number(overlap).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_with_a_nul_and_of_a_megabyte_is_recorded_readable_and_bounded() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let text = format!("a\0b {} the end", "x".repeat(1_000_000));
    let job = job_by_turns(&Journal::default(), move |_| Err(Failure::unexpected(&text)));
    let node = world.node("a").job(job).start().await.unwrap();
    outcomes(&world, &["failed"]).await;
    node.shutdown().await;
    let error = world.text("select error from hourhand.history where outcome = 'failed'").await.unwrap();
    assert!(
        error.starts_with("a\u{fffd}b ") && error.ends_with(" the end") && error.len() <= 8192,
        "{} bytes",
        error.len()
    );
}
