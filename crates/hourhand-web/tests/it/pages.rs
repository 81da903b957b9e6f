//! What pages show in each state: nothing yet, late, failed, the database away.

use axum::http::StatusCode;
use hourhand::Operator;
use hourhand_web::Access;

use crate::site::{JOB, Site, ask};

#[tokio::test(flavor = "multi_thread")]
async fn without_jobs_the_overview_says_how_one_gets_there() {
    let page = Site::new().await.get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("No job has been registered yet") && page.text.contains("hourhand up"), "{}", page.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_is_said_and_the_page_looks_again_by_itself() {
    let operator = Operator::builder("postgres://u:secret@127.0.0.1:1/x").connect_lazily().unwrap();
    let router = hourhand_web::router(operator, |_| Access::Full);
    for path in ["/", "/job?job=x", "/history", "/locks", "/nodes"] {
        let page = ask(&router, axum::http::Method::GET, path, &[]).await;
        assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(page.text.contains("The database does not answer") && page.text.contains("http-equiv=\"refresh\""));
        assert!(!page.text.contains("secret"), "{}", page.text);
    }
    let answer = ask(&router, axum::http::Method::GET, "/api/status", &[]).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.json()["error"].as_str().unwrap().contains("127.0.0.1"), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_takes_too_long_is_given_up_soon_and_said_with_what_may_be_the_matter() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let other = site.database.connect().await;
    other.batch_execute("begin; lock table hourhand.history in access exclusive mode").await.unwrap();
    let begun = std::time::Instant::now();
    let page = site.get("/history").await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(6), "given up after {:?}", begun.elapsed());
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    for text in ["The database takes too long", "given up after 4s", "somebody holds a lock on a table"] {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
    let answer = site.get("/api/history").await;
    assert!(answer.json()["error"].as_str().unwrap().contains("given up after 4s"), "{}", answer.text);
    let waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    assert_eq!(site.number(waits).await, 0, "the server goes on with none of it");
    other.batch_execute("rollback").await.unwrap();
    assert_eq!(site.get("/history").await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_wait_for_nobodys_row_and_nobody_waits_for_theirs() {
    let site = Site::new().await;
    site.registered(JOB).await;
    // As a fence holds it, and an open act of somebody else's: every row that a run or an order touches.
    let other = site.database.connect().await;
    let tables = ["job", "definition", "pause", "lease", "request", "history"];
    let rows = tables.map(|table| format!("select 1 from hourhand.{table} for update"));
    other.batch_execute(&format!("begin; {}", rows.join("; "))).await.unwrap();
    for path in ["/", "/job?job=order-sync", "/history", "/audit", "/nodes", "/locks", "/api/status"] {
        let begun = std::time::Instant::now();
        assert_eq!(site.get(path).await.status, StatusCode::OK, "{path}");
        assert!(begun.elapsed() < std::time::Duration::from_secs(1), "{path} waited {:?}", begun.elapsed());
    }
    other.batch_execute("rollback").await.unwrap();
    // Between pages the dashboard's connection holds nothing: no transaction, no lock, no snapshot that VACUUM would wait for.
    let left = "select count(*) from pg_stat_activity a left join pg_locks l on l.pid = a.pid where a.datname = current_database() \
                and a.application_name = 'hourhand operator' \
                and (a.state <> 'idle' or a.backend_xmin is not null or a.backend_xid is not null or l.pid is not null)";
    assert_eq!(site.number(left).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_not_there_is_told_with_the_command_that_makes_it() {
    let page = Site::unmigrated().await.get("/").await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(page.text.contains("hourhand migrate"), "{}", page.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_late_is_said_first_and_why() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let late = "update hourhand.job set handled_until = now() - interval '2 days'; \
                update hourhand.definition set counts_from = now() - interval '3 days', registered_at = now() - interval '3 days', \
                  body = '{\"schedule\":\"@daily\",\"time_zone\":\"UTC\"}'";
    site.eye.batch_execute(late).await.unwrap();
    let page = site.get("/").await;
    assert!(page.text.contains("Needs attention"), "{}", page.text);
    let page = site.get("/job?job=order-sync").await;
    assert!(page.text.contains("class=\"missed\""), "missed occurrences are on the timeline: {}", page.text);
    let only = site.get("/?only=late").await;
    assert!(only.text.contains("order-sync"), "{}", only.text);
    assert!(site.get("/?only=running").await.text.contains("None of the 1 jobs is like this"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_jobs_are_pages_of_fifty_with_the_worst_first_and_can_be_found() {
    let site = Site::new().await;
    let jobs = "insert into hourhand.job (name, key, handled_until, covered_until, last_outcome) \
                select 'tenant-' || lpad(n::text, 4, '0'), n, now(), now(), case when n % 50 = 0 then 'failed' else 'succeeded' end \
                from generate_series(1, 1000) n; \
                insert into hourhand.definition (job, body, fingerprint, counts_from) \
                select name, '{\"schedule\":\"@hourly\",\"time_zone\":\"UTC\"}', 1, now() from hourhand.job; \
                insert into hourhand.history (job, epoch, started_at, outcome) \
                select name, n, now(), 'succeeded' from hourhand.job cross join generate_series(1, 30) n; analyze";
    site.eye.batch_execute(jobs).await.unwrap();
    let page = site.get("/").await.text;
    let rows = |page: &str| page.matches("<th scope=\"row\">").count();
    assert_eq!((rows(&page), page.matches("<span class=\"what\">").count()), (50, 10));
    assert!(page.contains("and 10 more:") && page.contains("The next of 1000 jobs"), "{page}");
    assert!(page.len() < 500_000, "{} bytes", page.len());
    let last = site.get("/?from=950").await.text;
    assert!(rows(&last) == 50 && last.contains("tenant-1000") && !last.contains("The next of"), "{last}");
    let found = site.get("/?find=-0420").await.text;
    assert!(rows(&found) == 1 && !found.contains("Needs attention"), "{found}");
    assert_eq!(rows(&site.get("/?only=failing").await.text), 20);
    site.eye
        .batch_execute(
            "update hourhand.job set handled_until = now() - interval '1 day'; \
                            update hourhand.definition set counts_from = now() - interval '2 days'",
        )
        .await
        .unwrap();
    let health = site.get("/health").await.text;
    assert!(health.matches("is overdue").count() == 5 && health.contains("And 995 more of the kind"), "{health}");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_says_what_is_wrong_and_what_to_do_about_it() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let stranger = site.database.connect().await;
    stranger
        .batch_execute("set application_name = 'django'; select pg_advisory_lock(hourhand.key('order-sync'))")
        .await
        .unwrap();
    let page = site.get("/health").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(page.text.contains("What to do:") && page.text.contains("django"), "{}", page.text);
    let diagnosis = site.get("/api/doctor").await.json();
    assert!(!diagnosis["findings"].as_array().unwrap().is_empty(), "{diagnosis}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_shown_with_its_error_its_output_and_its_other_attempts() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let runs = "insert into hourhand.history (job, epoch, trigger, scheduled_for, started_at, outcome, attempt, node, error, output, \
                  window_from, window_until) values \
                ('order-sync', 1, 'schedule', '2026-11-30T10:00Z', now() - interval '5 min', 'failed', 1, 'web-1', 'feed: 503', 'page 1', \
                  now() - interval '1 h', now()), \
                ('order-sync', 2, 'retry', '2026-11-30T10:00Z', now() - interval '3 min', 'succeeded', 2, 'web-2', null, 'done', null, null), \
                ('order-sync', null, null, '2026-11-30T09:00Z', null, 'skipped', null, null, null, null, null, null)";
    site.eye.batch_execute(runs).await.unwrap();
    site.eye
        .batch_execute("update hourhand.history set reason = 'overlap', count = 3 where epoch is null")
        .await
        .unwrap();
    let page = site.get("/run?job=order-sync&epoch=1").await;
    for text in
        ["feed: 503", "page 1", "web-1", "Other attempts at the same occurrence", "/run?job=order-sync&#38;epoch=2"]
    {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
    let page = site.get("/job?job=order-sync").await;
    for text in ["3 × overlap", "median", "feed: 503", "attempt 2"] {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
    let page = site.get("/run?job=order-sync&epoch=99").await;
    assert!(page.status == StatusCode::NOT_FOUND && page.text.contains("older than what is kept"), "{}", page.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn history_goes_on_page_by_page_and_by_outcome() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let runs = "insert into hourhand.history (job, epoch, started_at, outcome) \
                select 'order-sync', n, now(), case when n % 10 = 0 then 'failed' else 'succeeded' end from generate_series(1, 120) n";
    site.eye.batch_execute(runs).await.unwrap();
    let (mut path, mut seen) = (Some("/history?job=order-sync".to_owned()), 0);
    while let Some(next) = path {
        let page = site.get(&next).await;
        seen += page.text.matches("<td data-label=\"Started\">").count();
        let older = page.text.split("<a rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
        path = older.map(|address| address.replace("&#38;", "&"));
    }
    assert_eq!(seen, 120);
    let failed = site.get("/history?outcome=failed").await;
    assert_eq!(failed.text.matches("<td data-label=\"Started\">").count(), 12);
    assert_eq!(site.get("/history?outcome=exploded").await.status, StatusCode::BAD_REQUEST);
}
