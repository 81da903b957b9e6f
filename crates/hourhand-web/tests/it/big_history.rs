//! Two hundred thousand ended runs: pages read what they show, and nothing in proportion to the history.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use hourhand_testkit::eventually;

use crate::site::{JOB, Site, ask, operator};

const ROWS: i64 = 200_000;
const WITHIN: Duration = Duration::from_millis(100);

async fn site() -> Site {
    let site = Site::new().await;
    for name in [JOB, "b", "c"] {
        site.registered(name).await;
    }
    let runs = format!(
        "insert into hourhand.history (job, epoch, trigger, scheduled_for, started_at, ended_at, outcome, attempt, node, output) \
         select case n % 4 when 0 then 'b' else 'order-sync' end, n, 'schedule', now() - interval '1 s' * ({ROWS} - n), \
           now() - interval '1 s' * ({ROWS} - n), now() - interval '1 s' * ({ROWS} - n - 1), \
           case when n = 17 then 'panicked' else 'succeeded' end, 1, 'web-1', repeat('x', 100) \
         from generate_series(1, {ROWS}) n; analyze hourhand.history"
    );
    site.eye.batch_execute(&runs).await.unwrap();
    site
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_take_less_than_a_tenth_of_a_second_and_never_read_the_whole_history() {
    let site = site().await;
    let scans = "select seq_scan from pg_stat_user_tables where schemaname = 'hourhand' and relname = 'history'";
    // What was written is counted once its session is idle.
    eventually(Duration::from_secs(20), async || {
        let rows = site.number("select n_live_tup from pg_stat_user_tables where relname = 'history'").await;
        if rows >= ROWS { Ok(()) } else { Err(rows) }
    })
    .await;
    let before = site.number(scans).await;
    // One of its own, whose session ends, and with it reports what it has read.
    let router = hourhand_web::router(operator(&site.database), |_| hourhand_web::Access::Full);
    let paths = [
        "/",
        "/job?job=order-sync",
        "/job?job=order-sync&span=week",
        "/run?job=order-sync&epoch=99999",
        "/history",
        "/history?job=order-sync",
        "/history?job=order-sync&before=1000",
        "/history?outcome=panicked",
        "/history?job=order-sync&outcome=panicked",
        "/history?outcome=lost",
        "/api/history?job=order-sync&limit=50",
    ];
    for path in paths {
        let mut quickest = Duration::MAX;
        for _ in 0..5 {
            let begun = Instant::now();
            let answer = ask(&router, axum::http::Method::GET, path, &[]).await;
            quickest = quickest.min(begun.elapsed());
            assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
            assert!(answer.text.len() < 600_000, "{path} has {} bytes", answer.text.len());
        }
        eprintln!("{path}: {quickest:?}");
        assert!(quickest < WITHIN, "{path} takes {quickest:?}");
    }
    let page = ask(&router, axum::http::Method::GET, "/job?job=order-sync", &[]).await;
    assert!(page.text.contains("10,000+"), "counted no further");
    drop(router);
    let index = "select idx_scan from pg_stat_user_tables where schemaname = 'hourhand' and relname = 'history'";
    eventually(Duration::from_secs(20), async || {
        let looked = site.number(index).await;
        if looked > 50 { Ok(()) } else { Err(format!("{looked} index scans so far")) }
    })
    .await;
    assert_eq!(site.number(scans).await, before, "sequential scans of history");
}
