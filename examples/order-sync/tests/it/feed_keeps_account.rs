//! The feed's word about its callers can be relied on: it is what the demo's zeros rest on.

use std::time::Duration;

use hourhand_testkit::eventually;
use order_sync::feed::Stats;
use order_sync::order::OrderPage;
use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;
use serde_json::json;

use crate::support::{Feed, SOON, order};

#[tokio::test]
async fn a_call_too_soon_is_answered_429_with_the_time_left_and_counted() {
    let feed = Feed::start(&["--feed-interval", "2s"]).await;
    assert_eq!(reqwest::get(feed.orders_url()).await.unwrap().status(), StatusCode::OK);
    let refused = reqwest::get(feed.orders_url()).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let seconds: u64 = refused.headers()[RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=2).contains(&seconds), "{seconds}");
    let Stats { calls, answers, rate_violations, under_way, .. } = feed.stats().await;
    assert_eq!((calls, answers, rate_violations, under_way), (2, 1, 1, 0));
}

#[tokio::test]
async fn a_large_answer_asks_for_the_rest() {
    let feed = Feed::start(&["--feed-interval", "1ms", "--feed-rest", "60s", "--feed-large-rows", "5"]).await;
    let page: OrderPage = reqwest::get(feed.orders_url()).await.unwrap().json().await.unwrap();
    assert_eq!(page.orders.len(), 20);
    let refused = reqwest::get(feed.orders_url()).await.unwrap();
    let seconds: u64 = refused.headers()[RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((50..=60).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn a_call_is_under_way_until_its_client_is_gone() {
    let feed = Feed::start(&["--answer-min", "10m", "--answer-max", "10m", "--feed-interval", "1ms"]).await;
    let calls: Vec<_> = (0..2).map(|_| tokio::spawn(reqwest::get(feed.orders_url()))).collect();
    let seen = |under_way, left| {
        let feed = &feed;
        async move {
            eventually(SOON, async || {
                let stats = feed.stats().await;
                if (stats.under_way, stats.left) == (under_way, left) { Ok(()) } else { Err(format!("{stats:?}")) }
            })
            .await;
        }
    };
    // The second may have come too soon: then it was answered at once, and counted all the same.
    eventually(SOON, async || if feed.stats().await.calls == 2 { Ok(()) } else { Err("one call") }).await;
    let violations = feed.stats().await.rate_violations;
    assert!(feed.stats().await.under_way == 2 - violations);
    calls.iter().for_each(|call| call.abort());
    seen(0, 2 - violations).await;
    assert_eq!(feed.stats().await.answers, 0);
}

#[tokio::test]
async fn calls_at_the_same_time_are_seen_as_such() {
    let feed = Feed::start(&["--answer-min", "10m", "--answer-max", "10m", "--feed-interval", "1ms"]).await;
    let first = tokio::spawn(reqwest::get(feed.orders_url()));
    eventually(SOON, async || if feed.stats().await.under_way == 1 { Ok(()) } else { Err("not begun") }).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let second = tokio::spawn(reqwest::get(feed.orders_url()));
    eventually(SOON, async || if feed.stats().await.under_way_max == 2 { Ok(()) } else { Err("not begun") }).await;
    first.abort();
    second.abort();
}

#[tokio::test]
async fn an_outage_cuts_calls_off_and_errors_are_500_until_told_otherwise() {
    let feed = Feed::start(&["--feed-interval", "0s"]).await;
    assert_eq!(feed.control(json!({ "outage_for_seconds": 600 })).await, StatusCode::OK);
    let answer = reqwest::get(feed.orders_url()).await;
    let whole = match answer {
        Ok(response) => response.bytes().await.map(drop),
        Err(error) => Err(error),
    };
    assert!(whole.is_err(), "an answer came through");
    feed.control(json!({ "outage_for_seconds": 0, "errors_for_seconds": 600 })).await;
    assert_eq!(reqwest::get(feed.orders_url()).await.unwrap().status(), StatusCode::INTERNAL_SERVER_ERROR);
    feed.control(json!({ "errors_for_seconds": 0 })).await;
    assert_eq!(reqwest::get(feed.orders_url()).await.unwrap().status(), StatusCode::OK);
    let Stats { calls, answers, failures, .. } = feed.stats().await;
    assert_eq!((calls, answers, failures), (3, 1, 2));
}

#[tokio::test]
async fn a_frozen_feed_shows_everything_and_changes_no_more() {
    let feed = Feed::start(&["--change-every", "1ms", "--late-max", "10m"]).await;
    eventually(SOON, async || if feed.stats().await.held_back > 3 { Ok(()) } else { Err("nothing late") }).await;
    feed.control(json!({ "freeze": true })).await;
    let (truth, stats) = (feed.truth().await, feed.stats().await);
    assert!(truth.frozen && stats.frozen && stats.held_back == 0);
    assert_eq!(truth.orders.len() as u64, stats.orders);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(feed.truth().await.orders, truth.orders);
}

#[tokio::test]
async fn pages_are_cut_from_the_window_oldest_change_first() {
    let orders = (0..7).map(|i| order(&i.to_string(), 100 - i)).collect();
    let feed = Feed::with(orders, &["--page-size", "3", "--feed-interval", "0s"]).await;
    let mut ids = Vec::new();
    for page in 1..=4 {
        let url = format!("{}&page={page}", feed.orders_url());
        let answer: OrderPage = reqwest::get(url).await.unwrap().json().await.unwrap();
        assert_eq!((answer.page, answer.pages), (page, 3));
        ids.extend(answer.orders.into_iter().map(|order| order.id));
    }
    assert_eq!(ids.join(""), "0123456");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let feed = Feed::start(&["--feed-interval", "0s"]).await;
    for wrong in [
        json!({ "outage_for_seconds": -1 }),
        json!({ "errors_for_seconds": 1e300 }),
        json!({ "outage_for_second": 5 }),
        json!([]),
    ] {
        assert_eq!(feed.control(wrong).await, StatusCode::BAD_REQUEST);
    }
    for wrong in ["", "?updated_from=yesterday&updated_until=2100-01-01T00:00:00Z"] {
        let answer = reqwest::get(format!("{}/orders{wrong}", feed.url)).await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    }
    for wrong in ["0", "-1", "4294967296"] {
        let answer = reqwest::get(format!("{}&page={wrong}", feed.orders_url())).await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "page {wrong}");
    }
    assert_eq!(reqwest::get(format!("{}&page=4294967295", feed.orders_url())).await.unwrap().status(), StatusCode::OK);
}
