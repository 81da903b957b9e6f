//! The making of the schema × what may become of each of its statements: the schema is there in the end, whole and once, nothing of a
//! half-made one is left, and the node runs its job.
//!
//! Not in it: a statement that is never answered. A migration may take a minute, and so does giving it up; it is here with a
//! shutdown in the middle of it.

use futures_util::future::join_all;
use hourhand::Triggered;
use hourhand_testkit::eventually;

use crate::cancel_matrix::{LIFE, LOCKS, SESSIONS, SLOW};
use crate::cut_off::{Cell, CutOff};
use crate::proxy::{Nth, Treatment};
use crate::world::{JOB, World};

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
    let cell = Cell { statement: Nth { text: text.to_owned(), nth: 1 }, treatment, shut_down };
    let cut = CutOff::at(cell, world, |builder| builder.migrate(true)).await;
    let CutOff { cell, world, .. } = &cut;
    eventually(LIFE, async || match cut.at_it().trigger(JOB).await {
        Ok(Triggered::Started { .. } | Triggered::AlreadyRunning { .. }) => Ok(()),
        other => Err(format!("{cell:?}: {other:?}")),
    })
    .await;
    world.until(LIFE, "select count(*) from hourhand.history where outcome = 'succeeded'", 1).await;
    assert_eq!(world.number("select count(*) from hourhand.migration").await, 1, "{cell:?}");
    let health = cut.at_it().health().await;
    assert!(health.ok(), "{cell:?}: {health:?}");
    cut.leaves_nothing(&[SESSIONS, LOCKS]).await;
}
