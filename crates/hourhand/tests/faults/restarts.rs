//! The server goes away and comes back: by restart, crash, or for a minute.

use std::time::Duration;

use hourhand::{Schedule, Scheduler};
use hourhand_testkit::{Installation, Server, Shutdown};

use crate::book::boot_time;
use crate::report;
use crate::scene::{node, world_on};
use crate::world::{Journal, World};

struct Fleet {
    /// Dropped before its server.
    world: World,
    server: Server,
    journal: Journal,
    nodes: Vec<Scheduler>,
}

/// Two nodes with one body always at work, on a server of their own.
async fn at_work() -> Fleet {
    let installation = Installation::for_tests().unwrap();
    let server = tokio::task::block_in_place(|| Server::start(&installation)).unwrap();
    let world = world_on(&server).await;
    let (journal, mut nodes) = (Journal::default(), Vec::new());
    for name in ["a", "b"] {
        let job = journal.endless_job(name, Schedule::every(Duration::from_secs(1)));
        nodes.push(node(world.database.url(), name).job(job).start().await.unwrap());
    }
    journal.run(1, Duration::from_secs(10)).await;
    Fleet { world, server, journal, nodes }
}

impl Fleet {
    /// Measures from now, when the server answers again, to the next run.
    async fn work_goes_on(mut self, fault: &str, bound: Duration) {
        let answers = boot_time();
        let before = self.journal.entries().len();
        self.journal.run(before + 1, Duration::from_secs(60)).await;
        let took = boot_time() - answers;
        report::within(&format!("{fault}: running again after it answers"), bound, took);
        self.world.eye = self.world.database.connect().await;
        for node in &self.nodes {
            node.shutdown().await;
        }
        assert_eq!(self.journal.most_at_once(), 1);
        let running = "select count(*) from hourhand.job where epoch > ended_epoch";
        assert_eq!(self.world.number(running).await, 0, "a run is left without an end");
    }
}

async fn restarted(fault: &str, stop: impl FnOnce(&mut Server)) {
    let mut fleet = at_work().await;
    let body = fleet.journal.entries()[0].run.clone();
    tokio::task::block_in_place(|| {
        stop(&mut fleet.server);
        fleet.server.start_again().unwrap();
    });
    assert!(body.is_cancelled(), "the body was not told that its lock is lost");
    fleet.work_goes_on(fault, Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_fast_restart_work_goes_on_within_seconds() {
    restarted("database restarted (fast)", |server| server.stop(Shutdown::Fast).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_immediate_restart_work_goes_on_within_seconds() {
    restarted("database restarted (immediate)", |server| server.stop(Shutdown::Immediate).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_of_the_server_work_goes_on_within_seconds() {
    restarted("database killed -9 and started", Server::kill).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn after_a_minute_without_a_server_one_run_catches_up() {
    let mut fleet = at_work().await;
    tokio::task::block_in_place(|| fleet.server.stop(Shutdown::Fast)).unwrap();
    // Not a wait for anything: the fault is that long.
    tokio::time::sleep(Duration::from_secs(60)).await;
    for node in &fleet.nodes {
        assert!(!node.health().await.ok(), "health is good without a database");
    }
    tokio::task::block_in_place(|| fleet.server.start_again()).unwrap();
    fleet.work_goes_on("database down for a minute", Duration::from_secs(35)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_frozen_server_costs_the_run_that_it_can_no_longer_vouch_for() {
    let mut fleet = at_work().await;
    let body = fleet.journal.entries()[0].run.clone();
    tokio::task::block_in_place(|| fleet.server.freeze());
    let frozen = boot_time();
    tokio::time::timeout(Duration::from_secs(30), body.cancelled()).await.expect("the body goes on without a lock");
    report::within("server frozen: the body is told", Duration::from_secs(10), boot_time() - frozen);
    // It has stopped by the time the server would be trusted again.
    tokio::time::sleep(Duration::from_secs(5)).await;
    tokio::task::block_in_place(|| fleet.server.thaw());
    fleet.work_goes_on("server frozen and woken", Duration::from_secs(20)).await;
}
