//! The whole of it: several serving processes, a feed that changes, comes late and is rate-limited, holders that die.

use std::time::Duration;

use hourhand_testkit::{Signal, eventually};
use serde_json::json;

use crate::support::{Feed, Process, SOON, database, differences, until};

/// Real terms in small: 100 ms to 300 ms an answer, pages of 20, a rest after more than 10 rows.
const LIVELY: [&str; 16] = [
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
];

#[tokio::test]
async fn three_processes_and_two_deaths_later_every_row_is_the_feeds_and_no_call_came_too_soon() {
    let ((database, pool), feed) = (database().await, Feed::start(&LIVELY).await);
    let large = ["--feed-large-rows", "10"];
    let mut nodes: Vec<Process> = (0..3).map(|_| Process::serve(&database, &feed, &large)).collect();
    let mut deaths = 0;
    // The holder is found by what it serves; it is killed while its call is under way, and while it rests.
    while deaths < 2 {
        let holder = until(
            async || {
                let status = nodes[0].get("/sync").await;
                status["running"]["node"].as_str().map(str::to_owned)
            },
            Option::is_some,
        )
        .await;
        let holder = holder.unwrap_or_default();
        let killed = nodes.iter().position(|node| holder.ends_with(&format!("/{}", node.leashed.pid())));
        if let Some(killed) = killed {
            nodes.remove(killed).leashed.kill();
            nodes.push(Process::serve(&database, &feed, &large));
            deaths += 1;
        }
    }
    feed.control(json!({ "freeze": true })).await;
    eventually(SOON, async || differences(&pool, &feed).await.map_or(Ok(()), Err)).await;

    for node in &mut nodes {
        node.leashed.stop(Signal::TERM, Duration::from_secs(30)).unwrap();
    }
    let stats = feed.stats().await;
    assert!(stats.late > 10 && stats.answers > 10, "too little happened: {stats:?}");
    assert_eq!((stats.rate_violations, stats.under_way_max, stats.under_way), (0, 1, 0), "{stats:?}");
    let lost: i64 = sqlx::query_scalar("select count(*) from hourhand.history where outcome = 'lost'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(lost >= 1, "no run was lost: nobody was killed in mid-run");
}

#[tokio::test]
async fn a_span_too_long_for_one_run_is_covered_by_several() {
    let ((database, pool), feed) = (database().await, Feed::start(&["--backlog", "300", "--page-size", "20"]).await);
    // A page takes 600 ms of rest, so a run of 3 s gets through a third of it at most.
    let _node = Process::serve(&database, &feed, &["--timeout", "3s", "--feed-large-rows", "10", "--lookback", "1s"]);
    eventually(SOON, async || differences(&pool, &feed).await.map_or(Ok(()), Err)).await;
    let timed_out: i64 = sqlx::query_scalar("select count(*) from hourhand.history where outcome = 'timed_out'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(timed_out >= 1, "one run did it all");
    assert_eq!(feed.stats().await.rate_violations, 0);
}

#[tokio::test]
async fn an_instant_that_fits_on_no_page_is_read_whole() {
    let crowd = (0..50).map(|i| crate::support::order(&format!("{i:03}"), 0));
    let at = crate::support::order("", 3000).updated_at;
    let orders = crowd.map(|order| order_sync::order::Order { updated_at: at, placed_at: at, ..order }).collect();
    let feed = Feed::with(orders, &["--page-size", "7"]).await;
    let (database, pool) = database().await;
    let _node = Process::serve(&database, &feed, &[]);
    eventually(SOON, async || differences(&pool, &feed).await.map_or(Ok(()), Err)).await;
}

#[tokio::test]
async fn orders_from_a_file_arrive_with_every_accent() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/orders.csv");
    let ((database, pool), feed) = (database().await, Feed::start(&["--orders", file]).await);
    let _node = Process::serve(&database, &feed, &[]);
    eventually(SOON, async || differences(&pool, &feed).await.map_or(Ok(()), Err)).await;
    assert_eq!(feed.stats().await.orders, 4);
}
