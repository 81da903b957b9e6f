//! An outage of the feed is a warning, anything else an error; neither ends the loop.

use hourhand_testkit::eventually;
use serde_json::json;

use crate::support::{Feed, Parrot, Process, SOON, database, differences, runs, until};

#[tokio::test]
async fn an_outage_is_a_warning_and_afterwards_the_copy_catches_up() {
    let ((database, pool), feed) = (database().await, Feed::start(&["--change-every", "100ms"]).await);
    let node = Process::serve(&database, &feed.url, &[]);
    until(async || runs(&pool, "succeeded").await, |runs| *runs > 0).await;
    feed.control(json!({ "outage_for_seconds": 600 })).await;
    until(async || node.log(), |log| log.contains("the feed is out of order")).await;
    feed.control(json!({ "outage_for_seconds": 0, "errors_for_seconds": 600 })).await;
    until(async || node.log(), |log| log.contains("500 Internal Server Error")).await;
    // Users notice nothing of it.
    assert_eq!(node.get("/healthz").await["ok"], true);
    feed.control(json!({ "errors_for_seconds": 0, "freeze": true })).await;
    eventually(SOON, async || differences(&pool, &feed).await.map_or(Ok(()), Err)).await;
    let log = node.log();
    assert!(log.contains("WARN") && !log.contains("ERROR"), "{log}");
    assert_eq!(feed.stats().await.rate_violations, 0);
}

#[tokio::test]
async fn an_answer_that_never_should_be_is_an_error_and_the_loop_goes_on() {
    let ((database, pool), feed) = (database().await, Parrot::start(401, ("x-why", "none"), "who are you?").await);
    let node = Process::serve(&database, &feed.url, &[]);
    until(async || runs(&pool, "failed").await, |runs| *runs >= 2).await;
    let log = node.log();
    let error = log.lines().find(|line| line.contains("ERROR")).unwrap_or_else(|| panic!("no error: {log}"));
    assert!(error.contains("401 Unauthorized who are you?"), "{error}");
}

#[tokio::test]
async fn a_page_that_can_not_be_stored_is_an_error_that_says_so_and_leaves_nothing_half_saved() {
    let page = r#"{"page":1,"pages":1,"orders":[
        {"id":"1","customer":"A","status":"paid","placed_at":"2020-01-01T00:00:00Z","updated_at":"2099-01-01T00:00:00Z",
         "ship_name":"","ship_address":"","ship_city":"","ship_country":"","items":1,"total_cents":1}]}"#;
    let ((database, pool), feed) = (database().await, Parrot::start(200, ("x-why", "none"), page).await);
    let node = Process::serve(&database, &feed.url, &[]);
    until(async || runs(&pool, "failed").await, |runs| *runs > 0).await;
    until(async || node.log(), |log| log.contains("order 1 of 2099-01-01T00:00:00Z lies outside")).await;
    let rows: i64 = sqlx::query_scalar("select count(*) from orders").fetch_one(&pool).await.unwrap();
    assert_eq!(rows, 0);
}
