//! Bodies that panic, hang, block, or lose their runtime: the loop goes on, the outcome is recorded.

use std::time::{Duration, Instant};

use hourhand::{Failure, Job, Run, Schedule};
use hourhand_testkit::eventually;
use jiff::ToSpan;

use crate::world::{JOB, Journal, World, yearly};

async fn outcome(world: &World, wanted: &str, within: Duration) {
    eventually(within, async || match world.outcomes().await.as_slice() {
        [one] if one == wanted => Ok(()),
        other => Err(format!("{other:?} instead of {wanted}")),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_recorded_with_its_text_and_the_scheduler_goes_on() {
    let world = World::new().await;
    let job = Job::new(JOB, yearly(), async |run: Run| -> Result<(), Failure> {
        panic!("order {} has no customer", run.attempt());
    });
    let node = world.node("a").job(job).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    outcome(&world, "panicked", Duration::from_secs(3)).await;
    let error = world.text("select error from hourhand.history").await.unwrap();
    assert_eq!(error, "panicked: order 1 has no customer");
    node.trigger(JOB).await.unwrap();
    eventually(Duration::from_secs(3), async || match world.outcomes().await.len() {
        2 => Ok(()),
        n => Err(format!("{n} runs")),
    })
    .await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_panics_before_its_first_await_is_caught_too() {
    let world = World::new().await;
    fn eager(_run: Run) -> std::future::Ready<Result<(), Failure>> {
        panic!("at once")
    }
    let node = world.node("a").job(Job::new(JOB, yearly(), eager)).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    outcome(&world, "panicked", Duration::from_secs(3)).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_takes_too_long_is_told_to_stop_and_recorded_as_timed_out() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = journal.deaf_job("a", yearly()).timeout(500.milliseconds()).stop_grace(300.milliseconds());
    let node = world.node("a").job(job).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    outcome(&world, "timed_out", Duration::from_secs(3)).await;
    assert_eq!(journal.under_way(), 0);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_told_to_stop_that_returns_well_has_not_succeeded() {
    let world = World::new().await;
    let job = Job::new(JOB, yearly(), async |run: Run| {
        run.cancelled().await;
        Ok::<_, Failure>(())
    });
    let node = world.node("a").job(job.timeout(300.milliseconds())).start().await.unwrap();
    let before = world.number("select (extract(epoch from covered_until) * 1000000)::bigint from hourhand.job").await;
    node.trigger(JOB).await.unwrap();
    outcome(&world, "timed_out", Duration::from_secs(3)).await;
    let after = world.number("select (extract(epoch from covered_until) * 1000000)::bigint from hourhand.job").await;
    assert_eq!(before, after, "half a work moved the window");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_block_every_worker_of_their_runtime_do_not_stop_the_ping() {
    let world = World::new().await;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let job = Job::new(JOB, yearly(), async |_run: Run| {
        // Longer than the node would trust its session without a ping: 3 s at ttl 5 s.
        std::thread::sleep(Duration::from_secs(7));
        Ok::<_, Failure>(())
    });
    let builder = world.node("a").job(job);
    let node = runtime.spawn(async { builder.start().await.unwrap() }).await.unwrap();
    node.trigger(JOB).await.unwrap();
    outcome(&world, "succeeded", Duration::from_secs(12)).await;
    node.shutdown().await;
    runtime.shutdown_background();
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_bodies_runtime_shuts_down_the_run_is_cancelled_and_due_at_once_elsewhere() {
    let world = World::new().await;
    let journal = Journal::default();
    let every = || Schedule::every(Duration::from_secs(86_400));
    world.node("0").job(journal.endless_job("0", every())).start().await.unwrap().shutdown().await;
    world.age("1 day").await;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let builder = world.node("a").job(journal.deaf_job("a", every()));
    let node = runtime.spawn(async { builder.start().await.unwrap() }).await.unwrap();
    journal.run(1, Duration::from_secs(5)).await;
    runtime.shutdown_background();
    outcome(&world, "cancelled", Duration::from_secs(5)).await;
    node.shutdown().await;
    let other = world.node("b").job(journal.endless_job("b", every())).start().await.unwrap();
    journal.run(2, Duration::from_secs(5)).await;
    other.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_panics_each_time_does_not_disturb_its_neighbour() {
    let world = World::new().await;
    let journal = Journal::default();
    let every_second = || Schedule::every(Duration::from_secs(1));
    let bad = Job::new("bad", every_second(), async |_run: Run| -> Result<(), Failure> { panic!("again") });
    let good = journal.job_of("a", every_second(), Duration::ZERO);
    let begun = Instant::now();
    let node = world.node("a").job(bad).job(good).start().await.unwrap();
    journal.run(4, Duration::from_secs(10)).await;
    assert!(begun.elapsed() < Duration::from_secs(6));
    node.shutdown().await;
    let panics = world.number("select count(*) from hourhand.history where job = 'bad' and outcome = 'panicked'").await;
    assert!(panics >= 3, "{panics} panics recorded");
}
