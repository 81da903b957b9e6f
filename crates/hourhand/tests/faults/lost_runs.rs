//! A run that nobody would take over, by hand or of a job that nobody else has, ends without a word: that is on record soon, not when
//! its job is due again.

use std::time::Duration;

use hourhand::{Asked, Job, Operator, Run, Schedule};
use hourhand_testkit::{Leashed, Signal};

use crate::book::boot_time;
use crate::child::Body;
use crate::report;
use crate::scene::{Scene, node};
use crate::world::JOB;

const RESIDENT: &str = "select count(*) from pg_stat_activity where application_name ~ '^hourhand/15 (one|two)$' \
                        and state = 'idle' and datname = current_database()";
/// Lost, and its end seen by nobody: how long it ran is not told.
const LOST: &str =
    "select count(*) from hourhand.history where outcome = 'lost' and not end_seen and trigger = 'manual'";

/// A manual run at work in one of these resident processes: which, and its epoch.
async fn triggered(scene: &Scene, processes: u32) -> (Operator, usize, i64) {
    scene.world.until(Duration::from_secs(15), RESIDENT, processes.into()).await;
    scene.world.until(Duration::from_secs(15), "select count(*) from hourhand.definition", 1).await;
    let operator = Operator::builder(scene.world.database.url()).connect().await.unwrap();
    let asked = operator.trigger(JOB, None).await.unwrap();
    let Asked::Started { epoch, node: Some(node) } = asked else { panic!("{asked:?}") };
    scene.book.until(Duration::from_secs(5), &node, "began", 1).await;
    (operator, usize::from(node == "two"), epoch)
}

async fn one_lost(scene: &Scene, operator: &Operator, epoch: i64) {
    let jobs = operator.status(Some(JOB)).await.unwrap();
    let job = &jobs[0];
    assert_eq!((job.last_outcome.as_deref(), &job.running), (Some("lost"), &None));
    assert_eq!(scene.world.number("select count(*) from hourhand.history").await, 1);
    let recorded = scene.world.number("select epoch from hourhand.history").await;
    assert_eq!(recorded, epoch);
}

fn two(scene: &Scene) -> [Leashed; 2] {
    [scene.start_resident("one", Body::Deaf), scene.start_resident("two", Body::Deaf)]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_manual_run_is_on_record_at_once_where_another_process_keeps_its_session() {
    let scene = Scene::unregistered().await;
    let mut processes = two(&scene);
    let (operator, holder, epoch) = triggered(&scene, 2).await;
    scene.watched(Duration::from_secs(5)).await;
    let killed = boot_time();
    processes[holder].signal(Signal::KILL);
    scene.world.until(Duration::from_secs(10), LOST, 1).await;
    let took = boot_time() - killed;
    report::within(
        "a manual run's process killed -9, another is resident: recorded as lost",
        Duration::from_secs(4),
        took,
    );
    one_lost(&scene, &operator, epoch).await;
    assert_eq!(scene.book.of(["two", "one"][holder], "began").len(), 0, "the lost run was repeated");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_manual_run_is_evicted_though_its_job_is_not_due() {
    let scene = Scene::unregistered().await;
    let mut processes = two(&scene);
    let (operator, holder, epoch) = triggered(&scene, 2).await;
    scene.watched(Duration::from_secs(5)).await;
    let frozen = boot_time();
    processes[holder].signal(Signal::STOP);
    scene.world.until(Duration::from_secs(30), LOST, 1).await;
    let took = boot_time() - frozen;
    report::within(
        "a manual run's process frozen, another is resident: evicted, recorded as lost",
        Duration::from_secs(25),
        took,
    );
    one_lost(&scene, &operator, epoch).await;
}

/// Nobody else has the job, and all that comes by is a node of another one, at rest: what its visit shows it records.
#[tokio::test(flavor = "multi_thread")]
async fn any_node_that_comes_by_records_a_lost_run_of_a_job_that_it_does_not_have() {
    let scene = Scene::unregistered().await;
    let mut one = scene.start_resident("one", Body::Deaf);
    let (operator, _, epoch) = triggered(&scene, 1).await;
    let killed = boot_time();
    one.signal(Signal::KILL);
    let findings = loop {
        let findings = operator.examine().await.unwrap();
        if findings.iter().any(|finding| finding.id == "lost") {
            break findings;
        }
        assert!(boot_time() - killed < Duration::from_secs(5), "{findings:?}");
    };
    let found = findings.iter().find(|finding| finding.id == "lost").unwrap();
    assert!(found.message.contains(&epoch.to_string()) && found.job.as_deref() == Some(JOB), "{found:?}");
    assert_eq!(scene.world.number("select count(*) from hourhand.history").await, 0, "somebody was there");
    let other = Job::new("other", Schedule::daily_at("03:00"), |_: Run| async { Ok::<(), hourhand::Failure>(()) });
    let came = boot_time();
    let scheduler =
        node(scene.world.database.url(), "two").job(other).ttl(Duration::from_secs(5)).start().await.unwrap();
    scene.world.until(Duration::from_secs(20), LOST, 1).await;
    let took = boot_time() - came;
    report::within(
        "a manual run's process killed -9, a node of another job comes by (ttl 5 s): recorded as lost",
        Duration::from_secs(12),
        took,
    );
    one_lost(&scene, &operator, epoch).await;
    assert!(operator.examine().await.unwrap().iter().all(|finding| finding.id != "lost"));
    scheduler.shutdown().await;
}
