//! The life of a node that waits for another one's lock × what may become of each of its statements: the watch, the look into who
//! holds what, the eviction, the settling. Afterwards nothing is left behind, and the occurrence has run once.
//!
//! The other one has begun a run and gone silent: a session that calls itself hourhand's, holds the job's lock and sends nothing.
//! How often the lock is tried depends on the time, so a statement is named by its text and its turn, not by its place.

use std::time::Duration;

use futures_util::future::join_all;
use hourhand_testkit::eventually;
use tokio_postgres::Client;

use crate::cancel_matrix::{LIFE, LOCKS, OPEN, SESSIONS, SLOW, a_day_passes, world};
use crate::cut_off::{Cell, CutOff};
use crate::proxy::{Nth, Treatment};
use crate::world::{JOB, World};

/// By how they begin, and their turn.
const STATEMENTS: [(&str, usize); 9] = [
    ("Tries the locks", 1),
    ("The watch of a job", 1),
    ("Tries the locks", 2),
    ("Who holds these locks", 1),
    ("Who holds these locks", 2),
    ("$1 classids, $2 objids", 1),
    ("What the database knows", 2),
    ("Records that a run is lost", 1),
    ("Lets locks go", 1),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_contender_is_answered_late_leaves_nothing_behind() {
    every_statement(Treatment::Slow(SLOW), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_contender_is_never_answered_leaves_nothing_behind() {
    every_statement(Treatment::Never, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_carried_out_for_a_contender_and_cut_off_leaves_nothing_behind() {
    every_statement(Treatment::Dropped, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_with_a_contenders_session_leaves_nothing_behind() {
    every_statement(Treatment::Failing, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_refuses_a_contender_leaves_nothing_behind() {
    every_statement(Treatment::Locked, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contender_that_is_shut_down_in_the_middle_of_a_statement_leaves_nothing_behind() {
    every_statement(Treatment::Never, true).await;
}

async fn every_statement(treatment: Treatment, shut_down: bool) {
    let cells = STATEMENTS.map(|(text, nth)| meet(Nth { text: text.to_owned(), nth }, treatment, shut_down));
    join_all(cells).await;
}

async fn meet(statement: Nth, treatment: Treatment, shut_down: bool) {
    let world = world().await;
    a_day_passes(&world).await;
    let (_frozen, lost) = frozen(&world).await;
    let cut = CutOff::at(Cell { statement, treatment, shut_down }, world, |builder| builder).await;
    let CutOff { cell, world, journal, .. } = &cut;
    let ends = format!("select count(*) from hourhand.history where epoch >= {lost} and outcome");
    let left = format!("select ({LOCKS}) * 100 + ({OPEN}) * 10 + ({ends} not in ('succeeded', 'lost', 'cancelled'))");
    eventually(LIFE + Duration::from_secs(5), async || {
        let (done, left) = (world.number(&format!("{ends} = 'succeeded'")).await, world.number(&left).await);
        let (bodies, health) = (journal.under_way(), cut.at_it().health().await);
        if (done, left, bodies) == (1, 0, 0) && health.ok() {
            return Ok(());
        }
        let problems = health.problems;
        Err(format!("{cell:?}: {done} done, locks, open runs, other ends: {left:03}; {bodies} bodies, {problems:?}"))
    })
    .await;
    let of_lost =
        format!("select count(*) from hourhand.history where epoch = {lost} and outcome = 'lost' and not end_seen");
    assert_eq!(world.number(&of_lost).await, 1, "{cell:?}: the frozen run's end");
    assert_eq!(journal.most_at_once(), 1, "{cell:?}");
    cut.leaves_nothing(&[SESSIONS, LOCKS, OPEN]).await;
}

/// Somebody who has the job's lock, has begun a run of it, and says nothing any more; and its epoch.
async fn frozen(world: &World) -> (Client, i64) {
    let client = world.database.connect().await;
    // A ttl of three seconds: not at the first look into who holds the lock, but a few later, it is taken for frozen.
    client.batch_execute("set application_name = 'hourhand/3 frozen'").await.unwrap();
    client.batch_execute(&format!("select pg_advisory_lock(hourhand.key('{JOB}'))")).await.unwrap();
    let begun = format!("select epoch from hourhand.begin('{JOB}')");
    let epoch = client.query_typed_one(&begun, &[]).await.unwrap().get(0);
    (client, epoch)
}
