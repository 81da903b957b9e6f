//! The whole of it: several serving processes, a feed that changes, comes late and is rate-limited, holders that die.

use hourhand_testkit::eventually;
use serde_json::json;

use crate::support::{Feed, Process, SOON, database, differences, runs, until};

/// Real terms in small: 100 ms to 300 ms an answer, pages of 20, a rest after more than 10 rows.
const LIVELY: [&str; 18] = [
    "--change-every",
    "50ms",
    "--late-max",
    "4s",
    "--backlog",
    "150",
    "--page-size",
    "20",
    "--feed-large-rows",
    "10",
    "--answer-min",
    "100ms",
    "--answer-max",
    "300ms",
    "--seed",
    "11",
    "--feed-rest",
    "300ms",
];

/// Kills whoever runs the sync, and starts another process in its place.
async fn kill_holder(nodes: &mut Vec<Process>, another: impl Fn() -> Process) {
    loop {
        let running = async || nodes[0].get("/sync").await["running"]["node"].as_str().map(str::to_owned);
        let holder = until(running, Option::is_some).await.unwrap_or_default();
        if let Some(i) = nodes.iter().position(|node| holder.ends_with(&format!("/{}", node.leashed.pid()))) {
            nodes.remove(i).leashed.kill();
            nodes.push(another());
            return;
        }
    }
}

#[tokio::test]
async fn three_processes_and_some_deaths_later_every_row_is_the_feeds_and_no_call_came_too_soon() {
    let ((database, pool), feed) = (database().await, Feed::start(&LIVELY).await);
    let node = || Process::serve(&database, &feed.url, &["--feed-large-rows", "10", "--feed-rest", "300ms"]);
    let mut nodes: Vec<Process> = (0..3).map(|_| node()).collect();
    // Some holders die between two runs after all.
    while runs(&pool, "lost").await < 2 {
        // Two deaths in a row would be answered with half a minute's wait.
        let before = runs(&pool, "succeeded").await;
        until(async || runs(&pool, "succeeded").await, |now| *now > before).await;
        kill_holder(&mut nodes, node).await;
    }
    feed.until(|stats| stats.late > 10).await;
    feed.control(json!({ "freeze": true })).await;
    eventually(SOON, async || differences(&pool, &feed).await.map_or(Ok(()), Err)).await;
    for node in &mut nodes {
        node.stop().await;
    }
    let stats = feed.stats().await;
    assert_eq!((stats.rate_violations, stats.under_way_max, stats.under_way), (0, 1, 0), "{stats:?}");
}

#[tokio::test]
async fn a_span_too_long_for_one_run_is_covered_by_several() {
    let ((database, pool), feed) = (database().await, Feed::start(&["--backlog", "300", "--page-size", "20"]).await);
    // A page takes 600 ms of rest, so a run of 3 s gets through a third of it at most.
    let _node =
        Process::serve(&database, &feed.url, &["--timeout", "3s", "--feed-large-rows", "10", "--lookback", "1s"]);
    eventually(SOON, async || differences(&pool, &feed).await.map_or(Ok(()), Err)).await;
    assert!(runs(&pool, "timed_out").await >= 1, "one run did it all");
    assert_eq!(feed.stats().await.rate_violations, 0);
}

#[tokio::test]
async fn an_instant_that_fits_on_no_page_is_read_whole() {
    let crowd = (0..50).map(|i| crate::support::order(&format!("{i:03}"), 0));
    let at = crate::support::order("", 3000).updated_at;
    let orders = crowd.map(|order| order_sync::order::Order { updated_at: at, placed_at: at, ..order }).collect();
    let feed = Feed::with(orders, &["--page-size", "7"]).await;
    let (database, pool) = database().await;
    let _node = Process::serve(&database, &feed.url, &[]);
    eventually(SOON, async || differences(&pool, &feed).await.map_or(Ok(()), Err)).await;
}

#[tokio::test]
async fn orders_from_a_file_arrive_with_every_accent() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/orders.csv");
    let ((database, pool), feed) = (database().await, Feed::start(&["--orders", file]).await);
    let _node = Process::serve(&database, &feed.url, &[]);
    eventually(SOON, async || differences(&pool, &feed).await.map_or(Ok(()), Err)).await;
    assert_eq!(feed.stats().await.orders, 4);
}
