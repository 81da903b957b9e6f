//! Missed occurrences are caught up by one run for the newest, after the start delay, and the others are counted.

use std::time::{Duration, Instant};

use hourhand::{Schedule, Trigger};

use crate::world::{Journal, World};

#[tokio::test(flavor = "multi_thread")]
async fn after_a_downtime_one_run_catches_up_after_the_start_delay_and_one_row_counts_the_rest() {
    let world = World::new().await;
    let journal = Journal::default();
    let hourly = || journal.job_of("a", Schedule::hourly(), Duration::ZERO);
    world.node("a").job(hourly()).start().await.unwrap().shutdown().await;
    world.age("5 hours").await;
    let begun = Instant::now();
    let delay = Duration::from_secs(2);
    let mut nodes = Vec::new();
    for _ in 0..2 {
        nodes.push(world.node("a").job(hourly()).start_delay(delay).start().await.unwrap());
    }
    let first = journal.run(1, Duration::from_secs(6)).await;
    assert!(begun.elapsed() >= delay, "ran {:?} after the start of the process", begun.elapsed());
    world.until(Duration::from_secs(3), "select count(*) from hourhand.history where outcome = 'succeeded'", 1).await;
    for node in &nodes {
        node.shutdown().await;
    }
    assert_eq!(journal.entries().len(), 1, "more than the newest was run");
    // At :59:5x the hour may turn between start and run; the trigger then is the schedule's.
    assert!(matches!(first.run.trigger(), Trigger::CatchUp | Trigger::Schedule));
    let skips = "select coalesce(sum(count), 0)::bigint from hourhand.history \
                 where outcome = 'skipped' and reason = 'coalesced'";
    assert!(matches!(world.number(skips).await, 4 | 5), "{} skipped", world.number(skips).await);
    let rows = "select count(*) from hourhand.history where outcome = 'skipped'";
    assert_eq!(world.number(rows).await, 1, "skips are counted, not listed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_every_second_after_thirty_days_starts_within_a_second() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = |journal: &Journal| journal.job_of("a", Schedule::cron("* * * * * *"), Duration::ZERO);
    world.node("0").job(job(&Journal::default())).start().await.unwrap().shutdown().await;
    world.age("30 days").await;
    let begun = Instant::now();
    let node = world.node("a").job(job(&journal)).start().await.unwrap();
    journal.run(1, Duration::from_secs(3)).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "started after {:?}", begun.elapsed());
    let skips = "select coalesce(max(count), 0) from hourhand.history where outcome = 'skipped'";
    // The newest is run, not skipped.
    let missed = 30 * 86_400 - 1;
    assert!((missed..missed + 30).contains(&world.number(skips).await), "{} skipped", world.number(skips).await);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_job_runs_nothing_that_lay_before_its_registration_and_a_changed_schedule_counts_anew() {
    let world = World::new().await;
    let journal = Journal::default();
    let hourly = world.node("a").job(journal.job_of("a", Schedule::hourly(), Duration::ZERO)).start().await.unwrap();
    hourly.shutdown().await;
    world.eye.batch_execute("update hourhand.job set handled_until = handled_until - interval '1 day'").await.unwrap();
    // The schedule changes: the occurrences of the day before were not this schedule's.
    let changed = journal.job_of("a", Schedule::cron("30 * * * *"), Duration::ZERO);
    let node = world.node("a").job(changed).start().await.unwrap();
    tokio::time::sleep(Duration::from_millis(800)).await;
    node.shutdown().await;
    assert!(journal.entries().is_empty(), "{:?}", journal.entries());
}
