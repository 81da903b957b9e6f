//! With the feature `sentry`: errors reach the tracker, warnings do not.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::routing::any;
use tokio::net::TcpListener;

use crate::support::{Parrot, Process, database, until};

/// A tracker that keeps what it is sent.
async fn tracker() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dsn = format!("http://key@{}/42", listener.local_addr().unwrap());
    let received = Arc::new(Mutex::new(Vec::new()));
    let kept = received.clone();
    let keep = move |body: String| async move {
        kept.lock().unwrap().push(body);
        "{}"
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/api/42/envelope/", any(keep))).await });
    (dsn, received)
}

async fn serve(feed: &Parrot, dsn: &str) -> (Process, hourhand_testkit::Database) {
    let (database, _pool) = database().await;
    let url = database.url();
    let place = ["serve", "--database-url", &url, "--feed-url", &feed.url, "--listen", "127.0.0.1:0"];
    let quick = ["--schedule", "every 1s", "--start-delay", "0s", "--ttl", "5s", "--feed-rest", "0s"];
    (Process::start(&[&place[..], &quick].concat(), &[("SENTRY_DSN", dsn)]), database)
}

#[tokio::test]
async fn an_unexpected_failure_of_the_job_reaches_the_tracker_with_its_message() {
    let (dsn, received) = tracker().await;
    let feed = Parrot::start(401, ("x-why", "none"), "who are you?").await;
    let (_node, _database) = serve(&feed, &dsn).await;
    let seen = until(async || received.lock().unwrap().join("\n"), |seen| seen.contains("who are you?")).await;
    // An event without a level is an error in Sentry's protocol.
    assert!(seen.contains(r#"{"type":"event""#) && !seen.contains(r#""level":"warning""#), "{seen}");
    assert!(seen.contains(r#""job":"order-sync""#), "{seen}");
}

#[tokio::test]
async fn an_outage_stays_out_of_the_tracker() {
    let (dsn, received) = tracker().await;
    let feed = Parrot::start(503, ("x-why", "none"), "").await;
    let (mut node, _database) = serve(&feed, &dsn).await;
    until(async || node.log(), |log| log.matches("503 Service Unavailable").count() > 1).await;
    // Ending sends what has not been sent.
    node.stop().await;
    let seen = received.lock().unwrap().join("\n");
    assert!(!seen.contains("503"), "{seen}");
}
