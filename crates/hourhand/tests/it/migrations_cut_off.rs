//! The making of the schema × what may become of each of its statements: the schema is there in the end, whole and once, nothing of a
//! half-made one is left, and the node runs its job.
//!
//! Not in it: a statement that is never answered. A migration may take a minute, and so does giving it up; it is here with a
//! shutdown in the middle of it.

use std::time::Duration;

use futures_util::future::join_all;
use hourhand::{Exclusion, Triggered};
use hourhand_testkit::eventually;

use crate::cancel_matrix::{GRACE, LIFE, LOCKS, SESSIONS, SLOW, node};
use crate::proxy::{Nth, Proxy, Treatment};
use crate::world::{JOB, Journal, World};

/// By how they begin.
const STATEMENTS: [&str; 9] = [
    "begin isolation level",
    "The lock goes with the transaction",
    "select to_regclass",
    "select exists (select from pg_namespace",
    "create schema",
    "create table",
    "The tables of the protocol",
    "insert into",
    "commit",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_answered_late_is_made_once() {
    every_statement(Treatment::Slow(SLOW), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_carried_out_and_cut_off_is_made_once() {
    every_statement(Treatment::Dropped, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_fails_with_its_session_is_made_by_the_next() {
    every_statement(Treatment::Failing, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_in_the_middle_of_which_the_node_is_shut_down_leaves_nothing_behind() {
    every_statement(Treatment::Never, true).await;
}

async fn every_statement(treatment: Treatment, shut_down: bool) {
    join_all(STATEMENTS.map(|text| meet(text, treatment, shut_down))).await;
}

async fn meet(text: &str, treatment: Treatment, shut_down: bool) {
    let world = World::unmigrated().await;
    // The bodies of these nodes write into it.
    world.eye.batch_execute("create table page (epoch bigint)").await.unwrap();
    let cell = format!("{text}: {treatment:?}, {shut_down}");
    let journal = Journal::default();
    let proxy = Proxy::treating(&world.database.url(), Nth { text: text.to_owned(), nth: 1 }, treatment).await;
    let mut builder = node(&world, "a", Exclusion::Session, &journal, &proxy.url()).migrate(true);
    if shut_down {
        builder = builder.shutdown_on(proxy.met()).shutdown_grace(GRACE);
    }
    let a = builder.start().await.unwrap();
    tokio::time::timeout(LIFE, proxy.met()).await.unwrap_or_else(|_| panic!("{cell}: was not met"));
    let b = if shut_down {
        let ended = tokio::time::timeout(GRACE + Duration::from_secs(1), a.shutdown()).await;
        assert!(ended.is_ok(), "{cell}: the shutdown takes long");
        // What was under way there ends with its connection, as the kernel would see to it.
        world.until(LIFE, SESSIONS, 0).await;
        let direct = world.database.url();
        Some(node(&world, "b", Exclusion::Session, &journal, &direct).migrate(true).start().await.unwrap())
    } else {
        None
    };
    let at_it = b.as_ref().unwrap_or(&a);
    eventually(LIFE, async || match at_it.trigger(JOB).await {
        Ok(Triggered::Started { .. } | Triggered::AlreadyRunning { .. }) => Ok(()),
        other => Err(format!("{cell}: {other:?}")),
    })
    .await;
    world.until(LIFE, "select count(*) from hourhand.history where outcome = 'succeeded'", 1).await;
    assert_eq!(world.number("select count(*) from hourhand.migration").await, 1, "{cell}");
    let health = at_it.health().await;
    assert!(health.ok(), "{cell}: {health:?}");
    a.shutdown().await;
    if let Some(b) = &b {
        b.shutdown().await;
    }
    for query in [SESSIONS, LOCKS] {
        world.until(Duration::from_secs(2), query, 0).await;
    }
    tokio::task::spawn_blocking(move || drop(world));
}
