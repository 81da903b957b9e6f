//! What an outage is and what a bug: one is waited out, the other goes to the error tracker.

use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::routing::get;
use jiff::Timestamp;
use order_sync::client::{FeedClient, FeedError};
use order_sync::order::OrderPage;
use order_sync::terms::Terms;
use order_sync::walk::Ask;
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::Feed;

const ASK: Ask = Ask { from: Timestamp::constant(0, 0), until: Timestamp::constant(4_000_000_000, 0), page: 1 };

fn client(url: &str) -> FeedClient {
    let terms = Terms { interval: Duration::from_millis(1), large_rows: 50, rest: Duration::from_secs(5) };
    FeedClient::new(url, &terms, Duration::from_millis(800)).unwrap()
}

/// A feed that answers one thing, whatever it is asked.
async fn answering(
    status: StatusCode,
    headers: &'static [(header::HeaderName, &'static str)],
    body: &'static str,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = move || async move { (status, axum::response::AppendHeaders(headers.iter().cloned()), body) };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/orders", get(answer))).await });
    url
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
    let away = answering(StatusCode::SERVICE_UNAVAILABLE, &[(header::RETRY_AFTER, "7")], "").await;
    let Err(FeedError::Outage { retry_after, .. }) = ask(&away).await else { panic!("no outage") };
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
        (StatusCode::OK, "<html>Sign in</html>", "not a page of orders"),
        (StatusCode::OK, r#"{"page":1,"pages":1,"orders":[{"id":5}]}"#, "not a page of orders"),
        (StatusCode::UNAUTHORIZED, "who are you?", "401 Unauthorized who are you?"),
        (StatusCode::FOUND, "", "302 Found"),
    ] {
        let url = answering(status, &[(header::LOCATION, "/elsewhere")], body).await;
        let Err(FeedError::Unexpected(what)) = ask(&url).await else { panic!("{status} was expected") };
        assert!(what.contains(expected), "{what}");
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
