//! What an outage is and what a bug: one is waited out, the other goes to the error tracker.

use std::time::Duration;

use jiff::Timestamp;
use order_sync::client::{FeedClient, FeedError};
use order_sync::order::OrderPage;
use order_sync::terms::Terms;
use order_sync::walk::Ask;
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::{Feed, Parrot};

const ASK: Ask = Ask { from: Timestamp::constant(0, 0), until: Timestamp::constant(4_000_000_000, 0), page: 1 };

fn client(url: &str) -> FeedClient {
    let terms = Terms { interval: Duration::from_millis(1), large_rows: 50, rest: Duration::from_secs(5) };
    FeedClient::new(url, &terms, Duration::from_millis(800)).unwrap()
}

async fn ask(url: &str) -> Result<OrderPage, FeedError> {
    client(url).orders(ASK).await
}

#[tokio::test]
async fn a_page_is_a_page() {
    let feed = Feed::start(&[]).await;
    assert_eq!(ask(&feed.url).await.unwrap().orders.len(), 20);
}

#[tokio::test]
async fn nobody_there_is_an_outage() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    assert!(matches!(ask(&url).await, Err(FeedError::Outage { .. })));
}

#[tokio::test]
async fn no_answer_in_time_half_an_answer_and_5xx_are_outages() {
    let slow = Feed::start(&["--answer-min", "10m", "--answer-max", "10m"]).await;
    assert!(matches!(ask(&slow.url).await, Err(FeedError::Outage { .. })));
    let feed = Feed::start(&["--feed-interval", "0s"]).await;
    feed.control(json!({ "outage_for_seconds": 600 })).await;
    assert!(matches!(ask(&feed.url).await, Err(FeedError::Outage { .. })));
    feed.control(json!({ "outage_for_seconds": 0, "errors_for_seconds": 600 })).await;
    assert!(matches!(ask(&feed.url).await, Err(FeedError::Outage { retry_after: None, .. })));
    let away = Parrot::start(503, ("retry-after", "7"), "").await;
    let Err(FeedError::Outage { retry_after, .. }) = ask(&away.url).await else { panic!("no outage") };
    assert_eq!(retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn a_429_asks_for_the_rest_it_names() {
    let feed = Feed::start(&["--feed-interval", "30s"]).await;
    ask(&feed.url).await.unwrap();
    let Err(FeedError::Busy(rest)) = ask(&feed.url).await else { panic!("not refused") };
    assert!((20..=30).contains(&rest.as_secs()), "{rest:?}");
}

#[tokio::test]
async fn anything_else_is_unexpected_and_says_what_it_was() {
    for (status, body, expected) in [
        (200, "<html>Sign in</html>", "not a page of orders"),
        (200, r#"{"page":1,"pages":1,"orders":[{"id":5}]}"#, "not a page of orders"),
        (401, "who are you?", "401 Unauthorized who are you?"),
        (302, "", "302 Found"),
    ] {
        let feed = Parrot::start(status, ("location", "/elsewhere"), body).await;
        let Err(FeedError::Unexpected(what)) = ask(&feed.url).await else { panic!("{status} was expected") };
        assert!(what.contains(expected), "{what}");
        assert_eq!(feed.calls(), 1);
    }
}

#[tokio::test]
async fn the_limiter_keeps_calls_apart_even_if_nobody_else_does() {
    let feed = Feed::start(&["--feed-interval", "1ms", "--feed-large-rows", "100"]).await;
    let terms = Terms { interval: Duration::from_millis(150), large_rows: 50, rest: Duration::ZERO };
    let client = FeedClient::new(&feed.url, &terms, Duration::from_secs(10)).unwrap();
    let begun = std::time::Instant::now();
    for _ in 0..4 {
        client.orders(ASK).await.unwrap();
    }
    assert!(begun.elapsed() >= Duration::from_millis(450), "{:?}", begun.elapsed());
}
