//! Whoever calls the scheduler may stop waiting at any moment: a dropped future leaves nothing behind and hurts nobody else.

use std::time::Duration;

use hourhand::{Scheduler, SchedulerBuilder};
use hourhand_testkit::eventually;
use tokio::time::timeout;

use crate::world::{JOB, Journal, World, yearly};

const SESSIONS: &str = "select count(*) from pg_stat_activity where application_name like 'hourhand%' \
                        and datname = current_database()";
const LOCKS: &str = "select count(*) from pg_locks where locktype = 'advisory' \
                     and database = (select oid from pg_database where datname = current_database())";
const OPEN: &str = "select count(*) from hourhand.job where ended_epoch <> epoch";

/// After so long a caller gives up: from before anything was sent to after everything was answered.
fn patiences() -> impl Iterator<Item = Duration> {
    [0, 50, 200, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 40_000].into_iter().map(Duration::from_micros)
}

/// The process's only scheduler for this database: a second one is refused for as long as it lives.
fn only(world: &World, journal: &Journal) -> SchedulerBuilder {
    let job = journal.job_of("a", yearly(), Duration::ZERO);
    Scheduler::builder(world.database.url()).node("a").ttl(Duration::from_secs(5)).job(job)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_nobody_waits_for_ends_what_it_began() {
    let world = World::new().await;
    let journal = Journal::default();
    let mut given_up = 0;
    for patience in patiences() {
        match timeout(patience, only(&world, &journal).start()).await {
            Ok(started) => started.unwrap().shutdown().await,
            Err(_) => given_up += 1,
        }
        let again = eventually(Duration::from_secs(10), async || {
            only(&world, &journal).start().await.map_err(|error| format!("{patience:?}: {error}"))
        })
        .await;
        again.shutdown().await;
        world.until(Duration::from_secs(5), SESSIONS, 0).await;
        assert_eq!(world.number(LOCKS).await, 0);
    }
    assert!(given_up >= 3, "only {given_up} starts were given up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_that_nobody_waits_for_runs_once_or_not_at_all_and_the_next_is_answered() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = only(&world, &journal).start().await.unwrap();
    for patience in patiences() {
        world.until(Duration::from_secs(5), SESSIONS, 0).await;
        let before = journal.entries().len();
        let _ = timeout(patience, node.trigger(JOB)).await;
        eventually(Duration::from_secs(5), async || match node.trigger(JOB).await.unwrap() {
            hourhand::Triggered::Started { .. } => Ok(()),
            other => Err(format!("{patience:?}: {other:?}")),
        })
        .await;
        world.until(Duration::from_secs(5), OPEN, 0).await;
        let runs = journal.entries().len() - before;
        assert!((1..=2).contains(&runs), "{patience:?}: {runs} runs");
    }
    node.shutdown().await;
    assert_eq!(journal.most_at_once(), 1);
    world.until(Duration::from_secs(5), LOCKS, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_else_is_asked_and_not_waited_for_is_done_or_not_and_the_next_is_answered() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = only(&world, &journal).start().await.unwrap();
    for patience in patiences() {
        world.until(Duration::from_secs(5), SESSIONS, 0).await;
        let _ = timeout(patience, node.status()).await;
        let _ = timeout(patience, node.pause(JOB, None, None, None)).await;
        let _ = timeout(patience, node.cancel(JOB, None, None)).await;
        let _ = timeout(patience, node.resume(JOB, false, None)).await;
        node.pause(JOB, None, None, None).await.unwrap();
        assert!(node.status().await.unwrap()[0].paused.is_some(), "{patience:?}");
        assert!(node.resume(JOB, false, None).await.unwrap(), "{patience:?}");
        assert!(node.health().await.ok());
    }
    let _ = timeout(Duration::ZERO, node.shutdown()).await;
    world.until(Duration::from_secs(5), SESSIONS, 0).await;
    assert_eq!(world.number(LOCKS).await, 0);
}
