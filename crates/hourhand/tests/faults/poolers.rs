//! A pooler between a node and the server: in transaction mode refused without a trace, in session mode as good as none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hourhand::{Exclusion, Failure, Job, Run, Schedule};
use hourhand_testkit::{Installation, Leashed, Server, Signal, eventually};
use tokio::task::JoinSet;
use tokio_postgres::Client;

use crate::book::boot_time;
use crate::child::{Body, Child};
use crate::pooler::{Pooler, Setting};
use crate::report;
use crate::scene::{Scene, node, world_on};
use crate::world::{JOB, Journal, World, daily};

const PROBES: usize = 40;
const LOCKS: &str = "select count(*) from pg_locks where locktype = 'advisory'";

fn server() -> Server {
    let installation = Installation::for_tests().unwrap();
    tokio::task::block_in_place(|| Server::start(&installation)).unwrap()
}

/// Clients that keep the pooler's connections busy with short transactions, until dropped.
struct Load {
    over: Arc<AtomicBool>,
    clients: JoinSet<()>,
}

impl Load {
    async fn of(clients: usize, pooler: &Pooler, database: &str) -> Load {
        let mut load = Load { over: Arc::default(), clients: JoinSet::new() };
        for _ in 0..clients {
            let (client, over) = (pooler.connect(database).await, load.over.clone());
            load.clients.spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    client.batch_execute("begin; select pg_sleep(0.002); commit").await.unwrap();
                }
            });
        }
        load
    }

    async fn end(mut self) {
        self.over.store(true, Ordering::Relaxed);
        while let Some(ended) = self.clients.join_next().await {
            ended.unwrap();
        }
    }
}

/// What our sessions would have left on the pooler's connections: each of them is pinned by a transaction and asked.
async fn left_behind(pooler: &Pooler, database: &str, connections: usize) -> Vec<String> {
    let mut pinned: Vec<Client> = Vec::new();
    let mut left = Vec::new();
    for _ in 0..connections {
        let client = pooler.connect(database).await;
        client.batch_execute("begin").await.unwrap();
        let query = "select pg_backend_pid() || ': ' || name || ' = ' || setting from pg_settings \
                     where source = 'session' and name <> 'application_name' \
                     union all select pg_backend_pid() || ': mark ' || current_setting('hourhand.session', true) \
                     where current_setting('hourhand.session', true) <> '' \
                     union all select pg_backend_pid() || ': listens to ' || c from pg_listening_channels() c";
        let rows = client.query_typed(query, &[]).await.unwrap();
        left.extend(rows.iter().map(|row| row.get::<_, String>(0)));
        pinned.push(client);
    }
    left
}

fn job() -> Job {
    Job::new(JOB, Schedule::every(Duration::from_secs(1)), async |_run: Run| Ok::<_, Failure>(()))
}

async fn refused(kind: &str, setting: Setting, clients: usize) {
    let fault = format!("transaction pooler, {kind}");
    let server = server();
    let world = world_on(&server).await;
    let database = world.database.name().to_owned();
    let pooler = match Pooler::start(&server, setting).await {
        Ok(pooler) => pooler,
        Err(reason) => return report::skipped(&fault, reason),
    };
    let load = Load::of(clients, &pooler, &database).await;
    let (mut missed, mut slowest) = (Vec::new(), Duration::ZERO);
    for _ in 0..PROBES {
        let asked = boot_time();
        match node(pooler.url(&database), "a").job(job()).start().await {
            Err(error) if error.is_config() && error.to_string().contains("session_url") => {}
            other => missed.push(format!("{other:?}")),
        }
        slowest = slowest.max(boot_time() - asked);
    }
    load.end().await;
    report::within(&format!("{fault}: refused as a configuration error"), Duration::from_secs(5), slowest);
    report::measured(&format!("{fault}: missed by the probe"), "0", format!("{} of {PROBES}", missed.len()));
    assert!(missed.is_empty(), "{missed:#?}");
    let left = left_behind(&pooler, &database, setting.pool_size).await;
    let locks = world.number(LOCKS).await;
    report::measured(
        &format!("{fault}: left behind"),
        "0 locks, 0 settings",
        format!("{locks} locks, {} settings", left.len()),
    );
    assert_eq!((locks, left), (0, Vec::new()));
    assert_eq!(world.number("select count(*) from hourhand.history").await, 0, "something has run");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_transaction_pooler_is_refused_without_a_trace() {
    refused("idle", Setting { mode: "transaction", round_robin: false, pool_size: 5 }, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_transaction_pooler_is_refused_without_a_trace() {
    refused("busy", Setting { mode: "transaction", round_robin: false, pool_size: 8 }, 12).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_robin_transaction_pooler_is_refused_without_a_trace() {
    refused("round-robin", Setting { mode: "transaction", round_robin: true, pool_size: 8 }, 6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_round_robin_transaction_pooler_is_refused_without_a_trace() {
    refused("round-robin, idle", Setting { mode: "transaction", round_robin: true, pool_size: 5 }, 0).await;
}

/// A scene on a server with a pooler in session mode, or the reason why not.
async fn behind_a_session_pooler() -> Result<(Server, Pooler, Scene), String> {
    let server = server();
    let setting = Setting { mode: "session", round_robin: false, pool_size: 20 };
    let pooler = Pooler::start(&server, setting).await?;
    let scene = Scene::of(world_on(&server).await).await;
    Ok((server, pooler, scene))
}

/// A holder behind a session pooler is hurt; measured until its watcher has taken over.
async fn taken_over_behind_a_session_pooler(fault: &str, hurt: impl FnOnce(&mut Leashed)) {
    let (_server, pooler, scene) = match behind_a_session_pooler().await {
        Ok(found) => found,
        Err(reason) => return report::skipped(fault, reason),
    };
    let url = pooler.url(scene.world.database.name());
    let mut holder = Child { url: &url, node: "holder", body: Body::Endless, book: &scene.book }.start();
    scene.book.until(Duration::from_secs(15), "holder", "began", 1).await;
    let _watcher = Child { url: &url, node: "watcher", body: Body::Endless, book: &scene.book }.start();
    scene.watched(Duration::from_secs(15)).await;
    let hurt_at = boot_time();
    hurt(&mut holder);
    let taken_over = scene.book.until(Duration::from_secs(60), "watcher", "began", 1).await;
    report::within(fault, Duration::from_secs(25), taken_over.at - hurt_at);
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_session_pooler_a_killed_holder_is_taken_over() {
    let fault = "holder killed -9 behind a session pooler: taken over";
    taken_over_behind_a_session_pooler(fault, |holder| holder.signal(Signal::KILL)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn behind_a_session_pooler_a_frozen_holder_is_taken_over() {
    let fault = "holder frozen behind a session pooler: evicted and taken over";
    taken_over_behind_a_session_pooler(fault, |holder| holder.freeze()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_becomes_a_transaction_pooler_under_a_running_node_makes_its_health_bad() {
    let fault = "pooler switched to transaction mode under a running node: bad health";
    let server = server();
    let world = world_on(&server).await;
    let setting = Setting { mode: "session", round_robin: true, pool_size: 5 };
    let mut pooler = match Pooler::start(&server, setting).await {
        Ok(pooler) => pooler,
        Err(reason) => return report::skipped(fault, reason),
    };
    world.registered_yesterday().await;
    let database = world.database.name();
    let journal = Journal::default();
    let node = node(pooler.url(database), "a").job(journal.endless_job("a", daily())).start().await.unwrap();
    let run = journal.run(1, Duration::from_secs(5)).await.run;
    let load = Load::of(4, &pooler, database).await;
    pooler.switch("transaction");
    let switched = boot_time();
    // The mode under a client changes when its server connection does.
    terminate(&world).await;
    tokio::time::timeout(Duration::from_secs(20), run.cancelled()).await.expect("the body goes on without a lock");
    eventually(Duration::from_secs(30), async || {
        let health = node.health().await;
        let said = health.problems.iter().any(|problem| problem.contains("pooler"));
        if said { Ok(()) } else { Err(format!("{health:?}")) }
    })
    .await;
    report::within(fault, Duration::from_secs(10), boot_time() - switched);
    load.end().await;
    node.shutdown().await;
    let locks = world.number(LOCKS).await;
    report::measured("pooler switched to transaction mode under a running node: locks left behind", "0", locks);
    let left = left_behind(&pooler, database, setting.pool_size).await;
    assert_eq!((locks, left), (0, Vec::new()));
    assert_eq!(journal.entries().len(), 1);
}

async fn terminate(world: &World) {
    let query = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'hourhand/%' \
                 and datname = current_database()";
    world.eye.batch_execute(query).await.unwrap();
}

/// Leases need nothing but a transaction pooler: nodes through a busy round-robin one run each occurrence once and leave nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_through_a_busy_transaction_pooler_run_each_occurrence_once_and_leave_nothing() {
    let fault = "leases through a transaction pooler, busy, round-robin";
    let setting = Setting { mode: "transaction", round_robin: true, pool_size: 5 };
    let server = server();
    let world = world_on(&server).await;
    let database = world.database.name().to_owned();
    let pooler = match Pooler::start(&server, setting).await {
        Ok(pooler) => pooler,
        Err(reason) => return report::skipped(fault, reason),
    };
    let load = Load::of(8, &pooler, &database).await;
    let journal = Journal::default();
    let mut nodes = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let job = journal.job_of(name, Schedule::every(Duration::from_secs(1)), Duration::from_millis(200));
        let builder = node(pooler.url(&database), name).exclusion(Exclusion::Lease);
        nodes.push(builder.job(job).start().await.unwrap());
    }
    journal.run(8, Duration::from_secs(40)).await;
    for node in &nodes {
        node.shutdown().await;
    }
    load.end().await;
    let runs: Vec<_> = journal.entries().iter().map(|entry| entry.run.scheduled_for().unwrap()).collect();
    let distinct: std::collections::HashSet<_> = runs.iter().collect();
    report::measured(
        &format!("{fault}: occurrences run"),
        "each once",
        format!("{} runs, {} distinct", runs.len(), distinct.len()),
    );
    assert_eq!(distinct.len(), runs.len(), "twice: {runs:?}");
    assert_eq!(journal.most_at_once(), 1);
    let (left, locks) = (left_behind(&pooler, &database, setting.pool_size).await, world.number(LOCKS).await);
    report::measured(
        &format!("{fault}: left behind"),
        "0 locks, 0 settings",
        format!("{locks} locks, {} settings", left.len()),
    );
    assert_eq!((locks, left), (0, Vec::new()));
    assert_eq!(world.outcomes().await.iter().filter(|outcome| *outcome != "succeeded").count(), 0);
}
