//! Much history: pages read about what they show, and nothing in proportion to what is kept. 200,000 entries in every run of the tests;
//! 5,000,000 on a server of their own by
//! `cargo test --release -p hourhand-web --test it five_million -- --ignored --nocapture`, which prints the figures of docs/performance.md.

use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{Method, StatusCode};
use hourhand_testkit::{Database, Installation, Server, eventually};
use hourhand_web::Access;

use crate::live::Viewer;
use crate::site::{JOB, Site, ask, operator};

const WITHIN: Duration = Duration::from_millis(100);
/// Each page is asked for so often; the first time nothing is warm.
const TIMES: usize = 9;

/// What is asked, and what it is.
const PAGES: [(&str, &str); 15] = [
    ("the overview", "/"),
    ("a job, the last day", "/job?job=order-sync"),
    ("a job, the last week", "/job?job=order-sync&span=week"),
    ("a run", "/run?job=order-sync&epoch=99999"),
    ("history, the first page", "/history"),
    ("history of a job", "/history?job=order-sync"),
    ("history of a job, its last page", "/history?job=order-sync&before=1000"),
    ("history by a rare outcome", "/history?outcome=panicked"),
    ("history of a job by a rare outcome", "/history?job=order-sync&outcome=panicked"),
    ("history by an outcome that never was", "/history?outcome=lost"),
    ("API: history of a job", "/api/history?job=order-sync&limit=50"),
    ("API: history since now", "/api/history?since=now"),
    ("API: history since an hour ago", "/api/history?since=1h%20ago"),
    ("API: history of a job since now", "/api/history?job=order-sync&since=now"),
    ("API: history since long ago", "/api/history?since=2000-01-01"),
];

/// Jobs with so many ended runs between them, one a second, one of which panicked.
async fn fill(site: &Site, rows: i64) {
    for name in [JOB, "b", "c"] {
        site.registered(name).await;
    }
    let runs = format!(
        "insert into hourhand.history (job, epoch, trigger, scheduled_for, started_at, ended_at, outcome, attempt, node, output) \
         select case n % 4 when 0 then 'b' else 'order-sync' end, n, 'schedule', now() - interval '1 s' * ({rows} - n), \
           now() - interval '1 s' * ({rows} - n), now() - interval '1 s' * ({rows} - n - 1), \
           case when n = 17 then 'panicked' else 'succeeded' end, 1, 'web-1', repeat('x', 100) \
         from generate_series(1, {rows}) n; analyze hourhand.history"
    );
    site.eye.batch_execute(&runs).await.unwrap();
    // What was written is counted once its session is idle.
    eventually(Duration::from_secs(20), async || {
        let counted = site.number("select n_live_tup from pg_stat_user_tables where relname = 'history'").await;
        if counted >= rows * 9 / 10 { Ok(()) } else { Err(counted) }
    })
    .await;
}

/// What one of the columns of the statistics says of history.
async fn counted(site: &Site, column: &str) -> i64 {
    let table = "from pg_stat_user_tables where schemaname = 'hourhand' and relname = 'history'";
    site.number(&format!("select {column} {table}")).await
}

/// How long a page takes: the median, the first time, and the quickest: what else the machine does is not meant.
async fn times(router: &Router, path: &str) -> (Duration, Duration, Duration) {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let begun = Instant::now();
        let answer = ask(router, Method::GET, path, &[]).await;
        times.push(begun.elapsed());
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
        assert!(answer.text.len() < 600_000, "{path} has {} bytes", answer.text.len());
    }
    let first = times[0];
    times.sort();
    (times[TIMES / 2], first, times[0])
}

/// Asks for all pages, by a connection of its own each, which reports what it has read when it ends.
async fn measure(site: &Site) {
    let scans = counted(site, "seq_scan").await;
    println!("| page | median | the first time | entries read |\n| --- | --- | --- | --- |");
    for (what, path) in PAGES {
        let before = counted(site, "idx_scan").await;
        let read = counted(site, "seq_tup_read + idx_tup_fetch").await;
        let router = hourhand_web::router(operator(&site.database), |_| Access::Full);
        let (median, first, quickest) = times(&router, path).await;
        drop(router);
        eventually(Duration::from_secs(20), async || {
            let looked = counted(site, "idx_scan + seq_scan").await - before;
            if looked >= TIMES as i64 { Ok(()) } else { Err(format!("{path}: {looked} scans so far")) }
        })
        .await;
        let read = (counted(site, "seq_tup_read + idx_tup_fetch").await - read) / TIMES as i64;
        println!("| {what} | {:.1} ms | {:.1} ms | {read} |", median.as_secs_f64() * 1e3, first.as_secs_f64() * 1e3);
        assert!(quickest < WITHIN, "{path} takes {quickest:?}");
        assert!(read < 12_000, "{path} reads {read} entries");
    }
    assert_eq!(counted(site, "seq_scan").await, scans, "sequential scans of history");
    let page = site.get("/job?job=order-sync").await;
    assert!(page.text.contains("10,000+"), "counted no further");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_take_less_than_a_tenth_of_a_second_and_never_read_the_whole_history() {
    let site = Site::new().await;
    fill(&site, 200_000).await;
    measure(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "fills five million rows into a server of its own, which takes minutes and gigabytes"]
async fn five_million_entries_cost_pages_no_more() {
    let installation = Installation::for_tests().unwrap();
    let server = Server::builder(&installation).setting("max_wal_size", "4GB").start().unwrap();
    let site = Site::on(Database::create_on(server.url()).await).await;
    hourhand::migrate(&site.database.url(), "hourhand").await.unwrap();
    let begun = Instant::now();
    fill(&site, 5_000_000).await;
    let bytes = site.number("select pg_total_relation_size('hourhand.history')").await;
    println!("PostgreSQL {}: filled in {:?}, {} MB", installation.version(), begun.elapsed(), bytes >> 20);
    measure(&site).await;
    let mut viewer = Viewer::of(&site).await;
    viewer.drain(Duration::from_millis(1500)).await;
    let changed = Instant::now();
    let answer = site.post("/do/pause", "job=b").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let told = viewer.hears("\"b\"", Duration::from_secs(2)).await;
    println!("a change is told after {told:?}, {:?} after it was asked for", changed.elapsed());
    assert!(told < Duration::from_secs(1), "told after {told:?}");
}
