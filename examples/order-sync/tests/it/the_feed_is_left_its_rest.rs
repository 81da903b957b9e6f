//! The rate limit from one process to the next, after a death, and past patience.

use std::time::{Duration, Instant};

use hourhand_testkit::Database;
use sqlx::PgPool;

use crate::support::{Feed, Parrot, Process, database, runs, until};

/// Seldom enough to be at rest unless triggered.
const SELDOM: [&str; 2] = ["--schedule", "0 0 1 1 *"];

/// One sync in a process of its own.
fn once(database: &Database, feed_url: &str, more: &[&str]) -> Process {
    let url = database.url();
    let place = ["sync", "--once", "--database-url", &url, "--feed-url", feed_url, "--ttl", "5s", "--call-max", "2s"];
    Process::order_sync(&[&place[..], &SELDOM, more].concat())
}

async fn next_call_in(pool: &PgPool) -> f64 {
    let statement = "select extract(epoch from next_call_at - clock_timestamp())::float8 from feed_pace";
    sqlx::query_scalar(statement).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn the_next_process_waits_for_the_rest_that_the_last_one_was_asked_for() {
    let terms = ["--feed-interval", "100ms", "--feed-large-rows", "10", "--feed-rest", "3s"];
    let ((database, pool), feed) = (database().await, Feed::start(&terms).await);
    assert_eq!(once(&database, &feed.url, &terms).code().await, 0);
    let rest = next_call_in(&pool).await;
    assert!(rest > 1.0, "{rest} s of 3 are left");
    let begun = Instant::now();
    assert_eq!(once(&database, &feed.url, &terms).code().await, 0);
    assert!(begun.elapsed().as_secs_f64() >= rest, "waited {:?} of {rest} s", begun.elapsed());
    let stats = feed.stats().await;
    assert_eq!((stats.answers, stats.rate_violations, stats.under_way_max), (2, 0, 1), "{stats:?}");
}

#[tokio::test]
async fn after_a_death_in_mid_call_the_longest_call_and_the_longest_rest_are_waited_out() {
    let terms = ["--feed-interval", "100ms", "--feed-large-rows", "10", "--feed-rest", "1500ms"];
    let slow = ["--answer-min", "1s", "--answer-max", "1s"];
    let ((database, pool), feed) = (database().await, Feed::start(&[&terms[..], &slow].concat()).await);
    let mut killed = once(&database, &feed.url, &terms);
    feed.until(|stats| stats.under_way == 1).await;
    killed.leashed.kill();
    feed.until(|stats| stats.left == 1).await;
    // 100 ms for the limiter, 2 s for the call, 1.5 s for the rest, from before the call.
    let rest = next_call_in(&pool).await;
    assert!((1.0..=3.6).contains(&rest), "{rest} s");
    let begun = Instant::now();
    let mut next = once(&database, &feed.url, &terms);
    assert_eq!(next.code().await, 0, "{}", next.log());
    assert!(begun.elapsed().as_secs_f64() >= rest, "waited {:?} of {rest} s", begun.elapsed());
    let stats = feed.stats().await;
    assert_eq!((stats.answers, stats.rate_violations, stats.under_way_max), (1, 0, 1), "{stats:?}");
}

#[tokio::test]
async fn a_frozen_process_that_wakes_up_superseded_saves_nothing_and_calls_nobody() {
    let slow = ["--answer-min", "1s", "--answer-max", "1s", "--page-size", "5"];
    let ((database, pool), feed) = (database().await, Feed::start(&slow).await);
    let mut frozen = Process::serve(&database, &feed.url, &SELDOM);
    until(async || frozen.get("/sync").await, |sync| sync["next_at"].is_string()).await;
    frozen.sync_now().await;
    feed.until(|stats| stats.under_way == 1).await;
    let pid = frozen.get("/sync").await["running"]["pid"].as_i64().unwrap();
    frozen.leashed.freeze();
    // Its lock is taken from it, as by a network that failed.
    sqlx::query("select pg_terminate_backend($1::int4)").bind(pid).execute(&pool).await.unwrap();
    let mut next = once(&database, &feed.url, &[]);
    assert_eq!(next.code().await, 0, "{}", next.log());
    let calls = feed.stats().await.calls;
    let saved: Vec<String> = sqlx::query_scalar("select xmin::text from orders").fetch_all(&pool).await.unwrap();

    frozen.leashed.thaw();
    until(async || frozen.log(), |log| log.contains("run ended") || log.contains("lost")).await;
    frozen.stop().await;
    assert_eq!(feed.stats().await.calls, calls, "{}", frozen.log());
    let after: Vec<String> = sqlx::query_scalar("select xmin::text from orders").fetch_all(&pool).await.unwrap();
    assert_eq!(saved, after);
}

#[tokio::test]
async fn a_feed_that_asks_for_more_rest_than_patience_has_fails_the_run_and_is_left_alone_by_the_next() {
    let ((database, pool), feed) = (database().await, Parrot::start(429, ("retry-after", "3600"), "").await);
    let mut first = once(&database, &feed.url, &[]);
    assert_eq!(first.code().await, 1);
    assert!(first.log().contains("WARN") && first.log().contains("the feed asks for 35"), "{}", first.log());
    assert!(!first.log().contains("ERROR"), "{}", first.log());
    assert_eq!(once(&database, &feed.url, &[]).code().await, 1);
    assert_eq!(feed.calls(), 1);
    assert_eq!(runs(&pool, "failed").await, 2);
}

#[tokio::test]
async fn a_feed_that_is_always_busy_is_asked_again_only_as_long_as_patience_lasts() {
    let ((database, _pool), feed) = (database().await, Parrot::start(429, ("retry-after", "1"), "").await);
    let short = ["--feed-rest", "0s", "--feed-interval", "100ms", "--patience", "3s", "--call-max", "1s"];
    let begun = Instant::now();
    let place = ["sync", "--once", "--database-url", &database.url(), "--feed-url", &feed.url, "--ttl", "5s"];
    let mut process = Process::order_sync(&[&place[..], &SELDOM, &short].concat());
    assert_eq!(process.code().await, 1, "{}", process.log());
    assert!((2..=4).contains(&feed.calls()), "{} calls", feed.calls());
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn no_transaction_is_open_while_the_feed_is_waited_for() {
    let ((database, pool), feed) =
        (database().await, Feed::start(&["--answer-min", "10m", "--answer-max", "10m"]).await);
    let _node = Process::serve(&database, &feed.url, &["--call-max", "5m"]);
    feed.until(|stats| stats.under_way == 1).await;
    for _ in 0..20 {
        let open: Vec<String> = sqlx::query_scalar(
            "select query from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
        )
        .fetch_all(&pool)
        .await
        .unwrap();
        assert!(open.is_empty(), "{open:?}");
    }
}

#[tokio::test]
async fn a_process_that_is_asked_to_end_in_mid_call_lets_go_of_the_call_and_ends() {
    let ((database, pool), feed) =
        (database().await, Feed::start(&["--answer-min", "10m", "--answer-max", "10m"]).await);
    let mut node = Process::serve(&database, &feed.url, &["--call-max", "5m"]);
    feed.until(|stats| stats.under_way == 1).await;
    node.stop().await;
    feed.until(|stats| stats.under_way == 0 && stats.left == 1).await;
    assert_eq!(runs(&pool, "cancelled").await, 1);
    assert!(next_call_in(&pool).await > 0.0, "the next process would call at once");
}
