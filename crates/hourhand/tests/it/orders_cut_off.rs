//! What people order × what may become of its statement: whoever ordered it is answered, what it was is in force or not at all, and
//! ordering it again does it.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hourhand::{Error, Exclusion, Scheduler};
use hourhand_testkit::eventually;
use jiff::{SignedDuration, Timestamp};

use crate::cancel_matrix::{GRACE, LIFE, LOCKS, OPEN, SESSIONS, SLOW, node, world};
use crate::proxy::{Nth, Proxy, Treatment};
use crate::world::{JOB, Journal};

/// An order, and how its statement begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Pause,
    Resume,
    Backfill,
    Cancel,
}

const ORDERS: [(Order, &str); 4] = [
    (Order::Pause, "Pauses a job"),
    (Order::Resume, "Resumes a job"),
    (Order::Backfill, "Records what somebody asks"),
    (Order::Cancel, "Asks for the run under way"),
];

impl Order {
    async fn give(self, node: &Scheduler) -> Result<(), Error> {
        match self {
            Order::Pause => node.pause(JOB, None, Some("moving"), None).await.map(drop),
            Order::Resume => node.resume(JOB, false, None).await.map(drop),
            Order::Backfill => {
                let today = Timestamp::from_second(Timestamp::now().as_second() / 86_400 * 86_400).unwrap();
                let from = today - SignedDuration::from_hours(24 * 5);
                node.backfill(JOB, from, from + SignedDuration::from_hours(24 * 2), None).await.map(drop)
            }
            Order::Cancel => node.cancel(JOB, None, None).await.map(drop),
        }
    }

    /// What is true once it is in force.
    fn proof(self) -> &'static str {
        match self {
            Order::Pause => "select count(*) = 1 from hourhand.pause where active",
            Order::Resume => "select count(*) = 1 from hourhand.pause where not active",
            Order::Backfill => "select count(*) = 1 from hourhand.request where kind = 'backfill'",
            Order::Cancel => "select count(*) = 1 from hourhand.request where answered_at is not null",
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_answered_late_is_carried_out() {
    every_order(Treatment::Slow(SLOW)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_is_never_answered_is_given_up_and_can_be_given_again() {
    every_order(Treatment::Never).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_carried_out_and_cut_off_can_be_given_again() {
    every_order(Treatment::Dropped).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_fails_with_its_session_can_be_given_again() {
    every_order(Treatment::Failing).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_the_server_refuses_can_be_given_again() {
    every_order(Treatment::Locked).await;
}

async fn every_order(treatment: Treatment) {
    join_all(ORDERS.map(|(order, text)| meet(order, text, treatment))).await;
}

/// The orders one after another, of which one meets the treatment; what it leaves is gone with the last.
async fn meet(treated: Order, text: &str, treatment: Treatment) {
    let world = world().await;
    let cell = format!("{treated:?} {treatment:?}");
    let journal = Journal::default();
    let proxy = Proxy::treating(&world.database.url(), Nth { text: text.to_owned(), nth: 1 }, treatment).await;
    let node = node(&world, "a", Exclusion::Session, &journal, &proxy.url()).start().await.unwrap();
    for (order, _) in ORDERS {
        let given = tokio::time::timeout(LIFE, order.give(&node)).await;
        let given = given.unwrap_or_else(|_| panic!("{cell}: nobody is answered"));
        if order == treated {
            in_force_or_given_again(&node, order, given).await;
        } else {
            given.unwrap_or_else(|error| panic!("{cell}: {order:?}: {error:?}"));
        }
        let proof = format!("select case when ({}) then 1 else 0 end::bigint", order.proof());
        world.until(LIFE, &proof, 1).await;
    }
    tokio::time::timeout(LIFE, proxy.met()).await.unwrap_or_else(|_| panic!("{cell}: was not met"));
    eventually(LIFE, async || match (journal.under_way(), node.health().await.problems) {
        (0, problems) if problems.is_empty() => Ok(()),
        left => Err(format!("{cell}: {left:?}")),
    })
    .await;
    node.shutdown().await;
    for query in [SESSIONS, LOCKS, OPEN] {
        world.until(Duration::from_secs(2), query, 0).await;
    }
    tokio::task::spawn_blocking(move || drop(world));
}

/// An error says that it could not be learned what became of it: given again it does no harm.
async fn in_force_or_given_again(node: &Scheduler, order: Order, given: Result<(), Error>) {
    let Err(error) = given else { return };
    assert!(!error.is_config(), "{order:?}: {error:?}");
    let begun = Instant::now();
    while let Err(error) = order.give(node).await {
        assert!(begun.elapsed() < LIFE, "{order:?}: {error:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Whoever ordered something of a node that shuts down is not left waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_under_way_at_a_shutdown_is_answered() {
    let world = world().await;
    let nth = Nth { text: "Pauses a job".to_owned(), nth: 1 };
    let proxy = Proxy::treating(&world.database.url(), nth, Treatment::Never).await;
    let builder = node(&world, "a", Exclusion::Session, &Journal::default(), &proxy.url());
    let node = builder.shutdown_on(proxy.met()).shutdown_grace(GRACE).start().await.unwrap();
    let given = tokio::time::timeout(GRACE + LIFE, Order::Pause.give(&node)).await;
    assert!(given.expect("an answer").is_err(), "the node cannot know");
    node.shutdown().await;
    world.until(Duration::from_secs(2), SESSIONS, 0).await;
    tokio::task::spawn_blocking(move || drop(world));
}
