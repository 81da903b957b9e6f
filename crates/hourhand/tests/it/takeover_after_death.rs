//! P8: a holder that dies costs seconds; a body that kills its process takes down three at most. Real processes, `kill -9`.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hourhand::{Job, Run, Scheduler};
use hourhand_testkit::eventually;

use crate::world::{JOB, Journal, World, daily};

const URL: &str = "HOURHAND_IT_CHILD_URL";
const KIND: &str = "HOURHAND_IT_CHILD_KIND";

/// Not a test: the process that is to die, started by the tests of this file.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the child of other tests"]
async fn child() {
    let (Ok(url), Ok(kind)) = (std::env::var(URL), std::env::var(KIND)) else { return };
    let journal = Journal::default();
    let job = match kind.as_str() {
        "endless" => journal.endless_job("child", daily()),
        "poison" => Job::new(JOB, daily(), async |_run: Run| -> Result<(), hourhand::Failure> {
            kill_9(std::process::id());
            std::future::pending().await
        }),
        other => panic!("no child of kind {other}"),
    };
    let node = Scheduler::builder(url).node("child").ttl(Duration::from_secs(5)).job(job).start().await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    node.shutdown().await;
}

fn kill_9(pid: u32) {
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

/// A process with a node; killed when dropped.
struct Process(Child);

impl Process {
    fn start(world: &World, kind: &str) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "takeover_after_death::child", "--ignored", "--nocapture"]);
        command.env(URL, world.database.url()).env(KIND, kind).stdout(Stdio::null());
        Process(command.spawn().unwrap())
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be dead already: that is what these tests are about.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_occurrence_of_a_killed_holder_runs_elsewhere_within_two_seconds_and_the_loss_is_recorded() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let holder = Process::start(&world, "endless");
    world.until(Duration::from_secs(10), "select count(*) from hourhand.job where node = 'child'", 1).await;
    let journal = Journal::default();
    let standby = world.node("b").job(journal.job_of("b", daily(), Duration::ZERO)).start().await.unwrap();
    // The standby has the watch.
    let watch = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 2 \
                 and database = (select oid from pg_database where datname = current_database())";
    world.until(Duration::from_secs(5), watch, 1).await;
    let killed = Instant::now();
    kill_9(holder.0.id());
    let taken_over = journal.run(1, Duration::from_secs(10)).await.run;
    let took = killed.elapsed();
    println!("take-over {took:?} after kill -9");
    assert!(took < Duration::from_secs(2), "take-over after {took:?}");
    assert_eq!((taken_over.takeover(), taken_over.attempt()), (1, 1));
    eventually(Duration::from_secs(3), async || match world.outcomes().await.as_slice() {
        [lost, succeeded] if lost == "lost" && succeeded == "succeeded" => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    standby.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_holder_and_watcher_killed_a_third_node_takes_over_within_its_next_look() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let holder = Process::start(&world, "endless");
    world.until(Duration::from_secs(10), "select count(*) from hourhand.job where node = 'child'", 1).await;
    let watcher = Process::start(&world, "endless");
    let watch = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 2 \
                 and database = (select oid from pg_database where datname = current_database())";
    world.until(Duration::from_secs(10), watch, 1).await;
    let journal = Journal::default();
    let third = world.node("c").job(journal.job_of("c", daily(), Duration::ZERO)).start().await.unwrap();
    // It has been refused the watch, and has gone.
    let sessions = "select count(*) from pg_stat_activity where application_name like 'hourhand%c' \
                    and datname = current_database()";
    world.until(Duration::from_secs(5), sessions, 0).await;
    let killed = Instant::now();
    kill_9(holder.0.id());
    kill_9(watcher.0.id());
    journal.run(1, Duration::from_secs(45)).await;
    println!("take-over {:?} after kill -9 of holder and watcher", killed.elapsed());
    third.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_kills_its_process_takes_down_three_and_is_then_handled_as_failed() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let lost = "select count(*) from hourhand.history where outcome = 'lost'";
    let (mut first, mut second) = (Process::start(&world, "poison"), Process::start(&world, "poison"));
    // The first death costs the occurrence no wait: the other process takes over, and dies.
    world.until(Duration::from_secs(20), lost, 1).await;
    eventually(Duration::from_secs(5), async || match (first.is_alive(), second.is_alive()) {
        (false, false) => Ok(()),
        alive => Err(format!("alive: {alive:?}")),
    })
    .await;
    // The second makes it wait.
    let mut third = Process::start(&world, "poison");
    world.until(Duration::from_secs(20), lost, 2).await;
    let waits = "select extract(epoch from not_before - clock_timestamp())::bigint from hourhand.job";
    assert!((20..=30).contains(&world.number(waits).await), "waits {} s", world.number(waits).await);
    // With the wait over one more dies, the third (if it has not gone to sleep yet) or a fourth; whoever comes next gives the
    // occurrence up and lives.
    world.eye.batch_execute("update hourhand.job set not_before = clock_timestamp()").await.unwrap();
    let mut fourth = Process::start(&world, "poison");
    eventually(Duration::from_secs(15), async || match (third.is_alive(), fourth.is_alive()) {
        (true, true) => Err("both alive"),
        _ => Ok(()),
    })
    .await;
    let mut fifth = Process::start(&world, "poison");
    let failed = "select count(*) from hourhand.history where outcome = 'failed' and error like 'holder died 3 times%'";
    world.until(Duration::from_secs(10), failed, 1).await;
    assert_eq!(world.outcomes().await, ["lost", "lost", "failed"]);
    let open =
        "select count(*) from hourhand.job where open_for is not null or handled_until < now() - interval '1 day'";
    assert_eq!(world.number(open).await, 0, "the occurrence is handled");
    // The survivors stay.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let alive = [&mut third, &mut fourth, &mut fifth].map(Process::is_alive);
    assert_eq!(alive.iter().filter(|alive| **alive).count(), 2, "a fourth process died");
    assert_eq!(world.outcomes().await.len(), 3);
}
