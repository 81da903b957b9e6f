//! In the serving process only, and only when switched on and fully configured.

use std::time::Duration;

use hourhand_testkit::Database;
use reqwest::StatusCode;
use sqlx::PgPool;

use crate::support::{Feed, Process, database};

#[tokio::test]
async fn migrate_makes_all_tables_starts_no_scheduler_and_ends() {
    let (database, feed) = (Database::create().await, Feed::start(&[]).await);
    let url = database.url();
    let environment = [
        ("DATABASE_URL", url.as_str()),
        ("FEED_URL", feed.url.as_str()),
        ("ORDER_SYNC_SCHEDULER", "on"),
        ("ORDER_SYNC_SCHEDULE", "every 1s"),
        ("ORDER_SYNC_START_DELAY", "0s"),
    ];
    // Twice: what is there already is no error.
    for _ in 0..2 {
        let mut migrate = Process::start(&["migrate"], &environment);
        assert_eq!(migrate.code().await, 0, "{}", migrate.log());
    }
    let pool = PgPool::connect(&url).await.unwrap();
    let count = async |table: &str| -> i64 {
        let statement = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
        sqlx::query_scalar(statement).fetch_one(&pool).await.unwrap()
    };
    assert_eq!(count("orders").await, 0);
    // A scheduler that had started would have registered its job.
    assert_eq!((count("hourhand.job").await, count("hourhand.history").await), (0, 0));
    assert_eq!(feed.stats().await.calls, 0);
}

/// Serves without a scheduler: answers, says why once, and leaves the feed alone.
async fn assert_serves_without(database: &Database, feed: &Feed, (off, why): (&[(&str, &str)], &str)) {
    let url = database.url();
    let schedule = ["--schedule", "every 1s", "--start-delay", "0s", "--ttl", "5s"];
    let serve = [&["serve", "--database-url", &url, "--listen", "127.0.0.1:0"][..], &schedule].concat();
    let mut node = Process::start(&serve, off);
    assert_eq!(reqwest::get(format!("{}/orders", node.url().await)).await.unwrap().status(), StatusCode::OK);
    assert_eq!(reqwest::get(format!("{}/healthz", node.url().await)).await.unwrap().status(), StatusCode::OK);
    assert_eq!(node.get("/sync").await["scheduler"], "off");
    assert_eq!(node.sync_now().await.0, StatusCode::SERVICE_UNAVAILABLE);
    node.stop().await;
    assert_eq!(node.log().matches("without the scheduler").count(), 1, "{}", node.log());
    assert_eq!(node.log().matches(why).count(), 1, "{}", node.log());
    assert_eq!(feed.stats().await.calls, 0);
}

#[tokio::test]
async fn switched_off_or_without_a_feed_the_service_serves_and_says_so_once() {
    let ((database, _pool), feed) = (database().await, Feed::start(&[]).await);
    let off = [("ORDER_SYNC_SCHEDULER", "off"), ("FEED_URL", feed.url.as_str())];
    assert_serves_without(&database, &feed, (&off, "ORDER_SYNC_SCHEDULER=off")).await;
    assert_serves_without(&database, &feed, (&off[..1], "ORDER_SYNC_SCHEDULER=off")).await;
    assert_serves_without(&database, &feed, (&[], "FEED_URL is not set")).await;
    assert_serves_without(&database, &feed, (&[("FEED_URL", "")], "FEED_URL is not set")).await;
}

#[tokio::test]
async fn a_schedule_that_is_none_starts_nothing() {
    let ((database, _pool), feed) = (database().await, Feed::start(&[]).await);
    for wrong in ["every now and then", "61 * * * *", "hourly", "every 0s"] {
        let mut node = Process::serve(&database, &feed.url, &["--schedule", wrong]);
        assert_eq!(node.code().await, 2, "{wrong}: {}", node.log());
        assert!(node.log().contains("schedule"), "{wrong}: {}", node.log());
        assert!(!node.log().contains("listening on"), "{wrong}: {}", node.log());
    }
}

#[tokio::test]
async fn the_start_delay_keeps_the_first_run_back() {
    let ((database, _pool), feed) = (database().await, Feed::start(&[]).await);
    let begun = std::time::Instant::now();
    let _node = Process::serve(&database, &feed.url, &["--start-delay", "4s", "--schedule", "every 1s"]);
    feed.until(|stats| stats.calls > 0).await;
    assert!(begun.elapsed() >= Duration::from_secs(4), "{:?}", begun.elapsed());
}
