//! The policies for what was missed, what comes due meanwhile, and windows that are too long for one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hourhand::{CatchUp, Failure, Job, Overlap, Run, Schedule, Trigger};
use hourhand_testkit::eventually;
use jiff::{SignedDuration, ToSpan};

use crate::world::{JOB, Journal, World};

fn hourly() -> Schedule {
    Schedule::hourly()
}

/// Registered by a node that is gone again, `ago`.
async fn registered(world: &World, job: Job, ago: &str) {
    world.node("0").job(job).start().await.unwrap().shutdown().await;
    world.age(ago).await;
    world
        .eye
        .batch_execute(&format!("update hourhand.job set covered_until = covered_until - interval '{ago}'"))
        .await
        .unwrap();
}

async fn skips(world: &World) -> Vec<(String, i64)> {
    let query = "select reason, count from hourhand.history where outcome = 'skipped' order by id";
    let rows = world.eye.query_typed(query, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_runs_the_newest_missed_ones_in_order_each_for_its_own_share_of_the_window() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = |journal: &Journal| {
        journal.job_of("a", hourly(), Duration::ZERO).catch_up(CatchUp::All(3)).catch_up_window(30.hours())
    };
    registered(&world, job(&Journal::default()), "6 hours").await;
    let mut nodes = Vec::new();
    for _ in 0..2 {
        nodes.push(world.node("a").job(job(&journal)).start().await.unwrap());
    }
    journal.run(3, Duration::from_secs(8)).await;
    for node in &nodes {
        node.shutdown().await;
    }
    let runs: Vec<Run> = journal.entries().into_iter().map(|entry| entry.run).collect();
    let hours: Vec<i64> = runs.iter().map(|run| run.scheduled_for().unwrap().as_second() / 3600).collect();
    assert!(hours.windows(2).all(|pair| pair[1] == pair[0] + 1), "not in order, or not each: {hours:?}");
    assert_eq!(runs[0].trigger(), Trigger::CatchUp);
    assert_eq!(
        runs[0].window().until.as_second() / 3600,
        hours[0] + 1,
        "the window ends where the next occurrence's begins"
    );
    assert_eq!(runs[1].window().from, runs[0].window().until);
    assert_eq!(runs[2].window().from, runs[1].window().until);
    let skips = skips(&world).await;
    assert!(matches!(skips.as_slice(), [(reason, 2..=4)] if reason == "coalesced"), "{skips:?}");
    assert_eq!(journal.most_at_once(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn none_runs_nothing_that_was_missed_and_counts_it() {
    let world = World::new().await;
    let journal = Journal::default();
    // Due at the minute that lies farthest from now.
    let minute = (jiff::Timestamp::now().as_second() / 60 + 30) % 60;
    let job = |journal: &Journal| {
        journal.job_of("a", Schedule::cron(&format!("{minute} * * * *")), Duration::ZERO).catch_up(CatchUp::None)
    };
    registered(&world, job(&Journal::default()), "6 hours").await;
    let node = world.node("a").job(job(&journal)).start().await.unwrap();
    let skips = eventually(Duration::from_secs(5), async || match skips(&world).await {
        skips if skips.is_empty() => Err("no skip on record"),
        skips => Ok(skips),
    })
    .await;
    assert_eq!(skips, [("too_late".to_owned(), 6)]);
    node.shutdown().await;
    assert!(journal.entries().is_empty());
    let locks = "select count(*) from pg_locks where locktype = 'advisory' \
                 and database = (select oid from pg_database where datname = current_database())";
    assert_eq!(world.number(locks).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn past_its_deadline_an_occurrence_is_passed_over_also_as_a_retry() {
    let world = World::new().await;
    let journal = Journal::default();
    let minute = (jiff::Timestamp::now().as_second() / 60 + 30) % 60;
    let job = |journal: &Journal| {
        journal.job_of("a", Schedule::cron(&format!("{minute} * * * *")), Duration::ZERO).deadline(10.minutes())
    };
    registered(&world, job(&Journal::default()), "1 hour").await;
    let node = world.node("a").job(job(&journal)).start().await.unwrap();
    eventually(Duration::from_secs(5), async || match skips(&world).await.as_slice() {
        [(reason, 1)] if reason == "too_late" => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    node.shutdown().await;
    assert!(journal.entries().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn buffer_one_runs_the_newest_of_those_that_came_due_meanwhile() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = journal.job_of("a", Schedule::every(Duration::from_secs(1)), Duration::from_millis(2300));
    let node = world.node("a").job(job.overlap(Overlap::BufferOne)).start().await.unwrap();
    let second = journal.run(2, Duration::from_secs(10)).await.run;
    let first = journal.entries()[0].run.clone();
    let between = second.scheduled_for().unwrap().duration_since(first.scheduled_for().unwrap());
    assert_eq!(between.as_secs(), 2, "the newest that came due during the run runs next");
    let gap = second.started_at().duration_since(first.started_at());
    assert!(gap < SignedDuration::from_millis(2900), "at once after the run, not at its next instant: {gap:?}");
    node.shutdown().await;
    assert!(skips(&world).await.contains(&("overlap".to_owned(), 1)), "{:?}", skips(&world).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bounded_window_is_followed_up_at_once_until_it_has_caught_up() {
    let world = World::new().await;
    let journal = Journal::default();
    let daily = || Schedule::every(Duration::from_secs(86_400));
    let job =
        |journal: &Journal| journal.job_of("a", daily(), Duration::ZERO).window_max(8.hours()).lookback(1.hours());
    registered(&world, job(&Journal::default()), "1 day").await;
    let node = world.node("a").job(job(&journal)).start().await.unwrap();
    journal.run(4, Duration::from_secs(8)).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    node.shutdown().await;
    let runs: Vec<Run> = journal.entries().into_iter().map(|entry| entry.run).collect();
    // 25 h to cover, 7 h of progress a run.
    assert_eq!(runs.len(), 4, "{:?}", runs.iter().map(Run::window).collect::<Vec<_>>());
    assert!(runs[0].scheduled_for().is_some());
    for pair in runs.windows(2) {
        assert_eq!(pair[1].window().from, pair[0].window().until - SignedDuration::from_hours(1));
        assert_eq!((pair[1].scheduled_for(), pair[1].trigger()), (None, Trigger::CatchUp));
    }
    assert!(runs[3].started_at().duration_since(runs[3].window().until) <= SignedDuration::ZERO);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_no_longer_than_the_lookback_is_refused() {
    let world = World::new().await;
    let job = Journal::default().job_of("a", hourly(), Duration::ZERO).window_max(10.minutes()).lookback(10.minutes());
    let error = world.node("a").job(job).start().await.unwrap_err();
    assert!(error.is_config() && error.to_string().contains("window_max"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_bounded_run_is_not_followed_up() {
    let world = World::new().await;
    let journal = Journal::default();
    let fails = Arc::new(AtomicBool::new(true));
    let job = |journal: Journal, fails: Arc<AtomicBool>| {
        Job::new(JOB, Schedule::every(Duration::from_secs(86_400)), move |run: Run| {
            let (journal, fails) = (journal.clone(), fails.clone());
            async move {
                let _under_way = journal.begin("a", &run);
                if fails.load(Ordering::SeqCst) { Err(Failure::unexpected("no")) } else { Ok(()) }
            }
        })
        .window_max(8.hours())
    };
    registered(&world, job(Journal::default(), fails.clone()), "1 day").await;
    let node = world.node("a").job(job(journal.clone(), fails)).start().await.unwrap();
    journal.run(1, Duration::from_secs(5)).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    node.shutdown().await;
    assert_eq!(journal.entries().len(), 1, "what failed was tried again at once");
}
