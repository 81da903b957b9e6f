//! A sync by hand, over HTTP and from a shell: one at a time, answered at once.

use reqwest::StatusCode;
use serde_json::json;

use crate::support::{Feed, Process, database, differences, get, runs, until};

const SELDOM: [&str; 2] = ["--schedule", "0 0 1 1 *"];
const SLOW: [&str; 4] = ["--answer-min", "1500ms", "--answer-max", "1500ms"];

fn once(database_url: &str, feed: &Feed) -> Process {
    let place = ["sync", "--once", "--database-url", database_url, "--feed-url", &feed.url];
    let same =
        ["--lookback", "10s", "--ttl", "5s", "--feed-interval", "200ms", "--feed-rest", "600ms", "--call-max", "2s"];
    Process::order_sync(&[&place[..], &SELDOM, &same].concat())
}

#[tokio::test]
async fn a_double_click_starts_one_sync_and_the_second_click_learns_of_the_first() {
    let ((database, _pool), feed) = (database().await, Feed::start(&SLOW).await);
    let nodes = [(); 2].map(|()| Process::serve(&database, &feed.url, &SELDOM));
    // Registered and at rest.
    until(async || nodes[0].get("/sync").await, |sync| sync["next_at"].is_string()).await;

    let (status, started) = nodes[0].sync_now().await;
    assert_eq!((status, &started["sync"]), (StatusCode::ACCEPTED, &json!("started")), "{started}");
    assert!(started["since"].is_string() && started["node"].is_string());
    for node in &nodes {
        let (status, refused) = node.sync_now().await;
        assert_eq!((status, &refused["sync"]), (StatusCode::CONFLICT, &json!("already_running")), "{refused}");
        assert_eq!((&refused["node"], &refused["epoch"]), (&started["node"], &started["epoch"]));
        assert!(refused["since"].is_string(), "{refused}");
    }
    let running = nodes[1].get("/sync").await;
    assert_eq!(running["running"]["epoch"], started["epoch"]);
    let ended = until(async || nodes[1].get("/sync").await, |sync| sync["running"].is_null()).await;
    assert_eq!(ended["last_outcome"], "succeeded", "{ended}");
    assert!(ended["last_success_at"].is_string());
    assert_eq!(feed.stats().await.under_way_max, 1);
}

#[tokio::test]
async fn sync_once_does_the_whole_sync_and_ends() {
    let ((database, pool), feed) = (database().await, Feed::start(&[]).await);
    let mut process = once(&database.url(), &feed);
    assert_eq!(process.code().await, 0, "{}", process.log());
    assert_eq!(differences(&pool, &feed).await, None);
    assert_eq!(runs(&pool, "succeeded").await, 1);
}

#[tokio::test]
async fn sync_once_stands_back_while_another_process_is_at_it() {
    let ((database, _pool), feed) = (database().await, Feed::start(&SLOW).await);
    let node = Process::serve(&database, &feed.url, &[&SELDOM[..], &["--node", "web-1"]].concat());
    until(async || node.get("/sync").await, |sync| sync["next_at"].is_string()).await;
    assert_eq!(node.sync_now().await.0, StatusCode::ACCEPTED);
    let mut process = once(&database.url(), &feed);
    assert_eq!(process.code().await, 75, "{}", process.log());
    assert!(process.log().contains("web-1 is at it since "), "{}", process.log());
    assert_eq!(feed.until(|stats| stats.answers == 1).await.under_way_max, 1);
}

#[tokio::test]
async fn sync_once_fails_while_the_feed_is_out() {
    let ((database, _pool), feed) = (database().await, Feed::start(&[]).await);
    feed.control(json!({ "outage_for_seconds": 600 })).await;
    let mut process = once(&database.url(), &feed);
    assert_eq!(process.code().await, 1, "{}", process.log());
    assert!(process.log().contains("the feed is out of order"), "{}", process.log());
}

#[tokio::test]
async fn health_tells_of_the_database_and_of_the_scheduler_besides() {
    let ((database, _pool), feed) = (database().await, Feed::start(&[]).await);
    let node = Process::serve(&database, &feed.url, &SELDOM);
    let url = node.url().await;
    let health = until(
        async || get::<serde_json::Value>(&format!("{url}/healthz")).await,
        |health| health["scheduler"]["ok"] == true,
    )
    .await;
    assert_eq!(health["ok"], true);
}
