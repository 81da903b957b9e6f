//! The process that runs what was asked for is killed: it is not run again, whoever waits learns of it, and a backfill goes on elsewhere.

use std::time::Duration;

use hourhand::{Asked, Operator};
use hourhand_testkit::Signal;
use jiff::{SignedDuration, Timestamp};

use crate::book::boot_time;
use crate::child::Body;
use crate::report;
use crate::scene::Scene;
use crate::world::JOB;

const RESIDENT: &str = "select count(*) from pg_stat_activity where application_name ~ '^hourhand/15 (one|two)$' \
                        and state = 'idle' and datname = current_database()";

/// Once the job is registered.
async fn operator(scene: &Scene) -> Operator {
    scene.world.until(Duration::from_secs(15), "select count(*) from hourhand.definition", 1).await;
    Operator::builder(scene.world.database.url()).connect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requested_run_whose_process_is_killed_is_lost_told_so_and_not_repeated() {
    let scene = Scene::unregistered().await;
    let mut processes = [scene.start_resident("one", Body::Deaf), scene.start_resident("two", Body::Deaf)];
    scene.world.until(Duration::from_secs(15), RESIDENT, 2).await;
    let operator = operator(&scene).await;
    let asked = operator.trigger(JOB, None).await.unwrap();
    let Asked::Started { epoch, node: Some(node) } = asked else { panic!("{asked:?}") };
    scene.book.until(Duration::from_secs(5), &node, "began", 1).await;
    let killed = boot_time();
    processes[usize::from(node == "two")].signal(Signal::KILL);
    let end = operator.wait(JOB, epoch).await.unwrap();
    report::within(
        "a requested run's process killed -9: whoever waits is told",
        Duration::from_secs(4),
        boot_time() - killed,
    );
    assert_eq!(end.outcome, "lost");
    // The survivor runs the next one that is asked for, and nothing before.
    let other = if node == "one" { "two" } else { "one" };
    assert!(scene.book.of(other, "began").is_empty(), "the lost run was repeated");
    let asked = operator.trigger(JOB, None).await.unwrap();
    assert!(matches!(&asked, Asked::Started { node: Some(node), .. } if node == other), "{asked:?}");
    let begun = scene.book.of("one", "began").len() + scene.book.of("two", "began").len();
    assert_eq!(begun, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_goes_on_elsewhere_with_the_next_occurrence_when_its_process_is_killed() {
    let scene = Scene::unregistered().await;
    let mut one = scene.start_resident("one", Body::Deaf);
    scene.world.until(Duration::from_secs(15), RESIDENT, 1).await;
    let operator = operator(&scene).await;
    let today = Timestamp::from_second(Timestamp::now().as_second() / 86_400 * 86_400).unwrap();
    let from = today - SignedDuration::from_hours(24 * 5);
    operator.backfill(JOB, from, from + SignedDuration::from_hours(24 * 4)).await.unwrap();
    scene.book.until(Duration::from_secs(5), "one", "began", 1).await;
    let _two = scene.start_resident("two", Body::Short);
    scene.world.until(Duration::from_secs(15), RESIDENT, 2).await;
    let killed = boot_time();
    one.signal(Signal::KILL);
    scene.book.until(Duration::from_secs(10), "two", "began", 1).await;
    report::within(
        "a backfill's process killed -9: it goes on elsewhere",
        Duration::from_secs(3),
        boot_time() - killed,
    );
    scene.book.until(Duration::from_secs(10), "two", "ended", 3).await;
    let history = "select string_agg(outcome, ' ' order by id) from hourhand.history where trigger = 'backfill'";
    let done = "select count(*) from hourhand.history where trigger = 'backfill'";
    scene.world.until(Duration::from_secs(5), done, 4).await;
    let outcomes = scene.world.text(history).await;
    assert_eq!(outcomes.as_deref(), Some("lost succeeded succeeded succeeded"));
    let days = "select count(distinct scheduled_for) from hourhand.history where trigger = 'backfill'";
    assert_eq!(scene.world.number(days).await, 4, "an occurrence was repeated");
}
