//! The server's limits: no connection left (53300), no room in the lock table (53200).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hourhand::{Failure, Job, Run, Schedule, Scheduler};
use hourhand_testkit::{Installation, Server, eventually};
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::NoTls;

use crate::book::boot_time;
use crate::report;
use crate::scene::{node, world_on};
use crate::world::{JOB, Journal, World, daily};

async fn server_with(settings: &[(&str, &str)]) -> (Server, World) {
    let mut builder = Server::builder(&Installation::for_tests().unwrap());
    for (name, value) in settings {
        builder = builder.setting(name, value);
    }
    let server = tokio::task::block_in_place(|| builder.start()).unwrap();
    let world = world_on(&server).await;
    (server, world)
}

/// A role for the fleet, which may do what running jobs needs; returns a URL with it.
async fn fleets_url(server: &Server, world: &World, connections: usize) -> String {
    let rights = format!(
        "create role fleet login password 'fleet' connection limit {connections}; grant usage on schema hourhand to fleet; \
         grant all on all tables in schema hourhand to fleet; grant all on all sequences in schema hourhand to fleet; \
         grant execute on all functions in schema hourhand to fleet; create role app login password 'app'"
    );
    world.eye.batch_execute(&rights).await.unwrap();
    format!("postgres://fleet:fleet@127.0.0.1:{}/{}", server.port(), world.database.name())
}

/// An application that connects again and again, as a pool would; measures how long it had to go without.
struct Application {
    over: Arc<AtomicBool>,
    task: JoinHandle<(Duration, usize, usize)>,
}

impl Application {
    fn start(url: String) -> Application {
        let over: Arc<AtomicBool> = Arc::default();
        let task = tokio::spawn(connect_again_and_again(url, over.clone()));
        Application { over, task }
    }

    /// The longest that it was without a new connection, how often it got one, and how often it was refused one.
    async fn end(self) -> (Duration, usize, usize) {
        self.over.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

async fn connect_again_and_again(url: String, over: Arc<AtomicBool>) -> (Duration, usize, usize) {
    let (mut longest, mut connected, mut refused, mut last) = (Duration::ZERO, 0, 0, boot_time());
    while !over.load(Ordering::Relaxed) {
        match tokio_postgres::connect(&url, NoTls).await {
            Ok(_) => {
                longest = longest.max(boot_time() - last);
                last = boot_time();
                connected += 1;
            }
            Err(_) => refused += 1,
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    (longest.max(boot_time() - last), connected, refused)
}

async fn start_all(nodes: usize, url: &str, job: impl Fn() -> Job) -> Vec<Scheduler> {
    let mut starting = JoinSet::new();
    for number in 0..nodes {
        let builder = node(url, &format!("n{number}")).job(job());
        starting.spawn(async move { builder.start().await.unwrap() });
    }
    starting.join_all().await
}

/// `nodes` nodes, all of whom find the same occurrences due at the same seconds, against `connections` connections.
async fn herd(nodes: usize, max_connections: usize, fleet: usize) {
    let fault = format!("{nodes} nodes at one second, max_connections = {max_connections}, {fleet} for their role");
    let (server, world) = server_with(&[("max_connections", &max_connections.to_string())]).await;
    let url = fleets_url(&server, &world, fleet).await;
    let application = format!("postgres://app:app@127.0.0.1:{}/{}", server.port(), world.database.name());
    let application = Application::start(application);
    let job = || Job::new(JOB, Schedule::every(Duration::from_secs(3)), async |_run: Run| Ok::<_, Failure>(()));
    let begun = boot_time();
    let all = start_all(nodes, &url, job).await;
    report::measured(&format!("{fault}: all started after"), "none", report::shown(boot_time() - begun));
    let ran = "select count(*) from hourhand.history where outcome = 'succeeded'";
    eventually(Duration::from_secs(60), async || match world.number(ran).await {
        4.. => Ok(()),
        ran => Err(format!("{ran} runs")),
    })
    .await;
    let (longest, connected, refused) = application.end().await;
    let mut ending = JoinSet::new();
    for node in all {
        ending.spawn(async move { node.shutdown().await });
    }
    ending.join_all().await;
    let runs = world.number(ran).await;
    let distinct =
        world.number("select count(distinct scheduled_for) from hourhand.history where outcome = 'succeeded'").await;
    let span = "select (1 + extract(epoch from max(scheduled_for) - min(scheduled_for)) / 3)::bigint from hourhand.history \
                where outcome = 'succeeded'";
    let due = world.number(span).await;
    let latest = "select (1000 * max(extract(epoch from started_at - scheduled_for)))::bigint from hourhand.history \
                  where outcome = 'succeeded' and trigger = 'schedule'";
    let late = Duration::from_millis(world.number(latest).await.unsigned_abs());
    report::measured(
        &format!("{fault}: runs of occurrences due"),
        "each once",
        format!("{runs} of {due}, {distinct} distinct"),
    );
    assert_eq!((runs, distinct), (due, due));
    report::within(&format!("{fault}: latest start"), Duration::from_secs(3), late);
    let what = format!("{fault}: an application without a new connection ({connected} had, {refused} refused)");
    report::within(&what, Duration::from_secs(5), longest);
}

/// Nodes at rest, without a session, all of whom wake for the same second.
async fn herd_from_rest(nodes: usize, max_connections: usize, fleet: usize) {
    let fault = format!(
        "{nodes} nodes at rest wake at one second, max_connections = {max_connections}, {fleet} for their role"
    );
    let (server, world) = server_with(&[("max_connections", &max_connections.to_string())]).await;
    let url = fleets_url(&server, &world, fleet).await;
    // Far enough for all to have started and gone to rest by then.
    let second = "select to_char(clock_timestamp() at time zone 'UTC' + interval '75 s', 'SS MI HH24')";
    let schedule = format!("{} * * *", world.text(second).await.unwrap());
    let job = || Job::new(JOB, Schedule::cron(&schedule), async |_run: Run| Ok::<_, Failure>(()));
    let all = start_all(nodes, &url, job).await;
    let sessions = "select count(*) from pg_stat_activity where application_name like 'hourhand%'";
    world.until(Duration::from_secs(60), sessions, 0).await;
    let application = format!("postgres://app:app@127.0.0.1:{}/{}", server.port(), world.database.name());
    let application = Application::start(application);
    let ran = "select count(*) from hourhand.history where outcome = 'succeeded'";
    world.until(Duration::from_secs(90), ran, 1).await;
    let woke = boot_time();
    eventually(Duration::from_secs(90), async || {
        for node in &all {
            let health = node.health().await;
            if !health.ok() {
                return Err(format!("{health:?}"));
            }
        }
        Ok(())
    })
    .await;
    report::within(&format!("{fault}: all have been served after"), Duration::from_secs(40), boot_time() - woke);
    let (longest, connected, refused) = application.end().await;
    let what = format!("{fault}: an application without a new connection ({connected} had, {refused} refused)");
    report::within(&what, Duration::from_secs(5), longest);
    let late = "select (1000 * extract(epoch from started_at - scheduled_for))::bigint from hourhand.history";
    let late = Duration::from_millis(world.number(late).await.unsigned_abs());
    report::within(&format!("{fault}: start"), Duration::from_secs(3), late);
    world.until(Duration::ZERO, ran, 1).await;
    let mut ending = JoinSet::new();
    for node in all {
        ending.spawn(async move { node.shutdown().await });
    }
    ending.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_herd_of_two_hundred_that_wakes_at_one_second_runs_the_occurrence_once() {
    herd_from_rest(200, 20, 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_herd_of_forty_runs_each_occurrence_once_and_leaves_room_for_the_application() {
    herd(40, 14, 6).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_herd_of_two_hundred_runs_each_occurrence_once_and_leaves_room_for_the_application() {
    herd(200, 20, 10).await;
}

/// Takes advisory locks until the server has no room for another; they stay until the session ends. What its own statements let
/// go is taken too, so there is room only when every try has failed for a while.
async fn fill_the_lock_table(world: &World) -> tokio_postgres::Client {
    let hog = world.database.connect().await;
    let (mut batch, mut failed) = (0, 0);
    while failed < 20 {
        batch += 1;
        assert!(batch < 100_000, "the lock table has no end");
        let locks = if failed == 0 { 200 } else { 1 };
        let take = format!("select pg_advisory_lock(i, {batch}) from generate_series(1, {locks}) i");
        if let Err(error) = hog.batch_execute(&take).await {
            assert_eq!(error.code().map(|code| code.code()), Some("53200"), "{error:?}");
            failed += 1;
        }
    }
    hog
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_full_lock_table_the_job_is_retried_others_go_on_and_health_says_so() {
    let fault = "lock table full (53200)";
    let (_server, world) = server_with(&[("max_locks_per_transaction", "10"), ("max_connections", "20")]).await;
    world.registered_yesterday().await;
    let running = Journal::default();
    let other = Job::new("other", Schedule::every(Duration::from_secs(2)), async |_run: Run| Ok::<_, Failure>(()));
    let builder = node(world.database.url(), "a").job(running.endless_job("a", daily())).job(other);
    let node = builder.start().await.unwrap();
    let run = running.run(1, Duration::from_secs(5)).await.run;
    let ran = "select count(*) from hourhand.history where job = 'other' and outcome = 'succeeded'";
    world.until(Duration::from_secs(10), ran, 1).await;
    let hog = fill_the_lock_table(&world).await;
    eventually(Duration::from_secs(10), async || {
        let health = node.health().await;
        let said = |problem: &String| problem.contains("lock table is full") || problem.contains("53200");
        if health.problems.iter().any(said) { Ok(()) } else { Err(format!("{health:?}")) }
    })
    .await;
    // Not a wait for anything: long enough that a run without a ping would be given up.
    tokio::time::sleep(Duration::from_secs(12)).await;
    let stopped = usize::from(run.is_cancelled());
    report::measured(&format!("{fault} for 12 s: a run under way"), "0 stopped", format!("{stopped} stopped"));
    assert!(!run.is_cancelled(), "a run with its lock was stopped for want of room for another lock");
    let before = world.number(ran).await;
    drop(hog);
    let room = boot_time();
    eventually(Duration::from_secs(60), async || match world.eye.query_typed_one(ran, &[]).await {
        Ok(row) if row.get::<_, i64>(0) > before => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    report::within(
        &format!("{fault}: the other job runs once there is room"),
        Duration::from_secs(7),
        boot_time() - room,
    );
    let health = node.health().await;
    assert!(health.ok(), "{health:?}");
    assert_eq!(running.entries().len(), 1);
    node.shutdown().await;
}
