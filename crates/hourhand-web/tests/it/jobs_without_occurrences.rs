//! Continuous jobs and those that run when asked: nothing of them is due, so no page speaks of a next occurrence, or offers to run a
//! span of them again.

use axum::http::StatusCode;
use hourhand::{Failure, Job, Run, Schedule};
use std::time::Duration;

use hourhand_testkit::eventually;

use crate::site::{JOB, Site};

/// What a page says between its heading and its end.
fn main_part(page: &str) -> &str {
    page.split("<main").nth(1).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuous_job_is_said_to_run_always_and_is_never_due() {
    let site = Site::new().await;
    let job = Job::new("listener", Schedule::continuous(), |run: Run| async move {
        run.cancelled().await;
        Ok::<(), Failure>(())
    });
    let node = site.node("web-1").job(job).start().await.unwrap();
    let page = eventually(Duration::from_secs(10), async || {
        let page = site.get("/job?job=listener").await.text;
        if page.contains("badge busy") { Ok(page) } else { Err(page) }
    })
    .await;
    let page = main_part(&page);
    for text in ["always running, on one node", "When it runs", "started anew a moment later", "data covered until"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    for text in ["Next occurrences", "<dt>Next</dt>", "do/backfill", "handled until", "counts as handled", "time zone"]
    {
        assert!(!page.contains(text), "{text}: {page}");
    }
    let overview = site.get("/").await.text;
    assert!(overview.contains("always running, on one node") && overview.contains(">always</span>"), "{overview}");
    let running = site.number("select epoch from hourhand.job").await;
    let run = site.get(&format!("/run?job=listener&epoch={running}")).await.text;
    assert!(run.contains("always on") && run.contains("started anew") && !run.contains("by hand"), "{run}");
    let backfill = site.post("/do/backfill", "job=listener&from=2026-01-01&until=2026-02-01").await;
    assert!(backfill.status == StatusCode::BAD_REQUEST && backfill.text.contains("continuous"), "{}", backfill.text);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuous_job_that_nobody_runs_is_late_without_having_been_due() {
    let site = Site::new().await;
    let never = Job::new("listener", Schedule::continuous(), |_: Run| std::future::pending::<Result<(), Failure>>());
    let node = site.node("gone").job(never).start().await.unwrap();
    node.shutdown().await;
    let late = "update hourhand.job set not_before = now() - interval '10 min', deaths = 0; \
                update hourhand.definition set counts_from = now() - interval '1 h', registered_at = now() - interval '1 h'";
    site.eye.batch_execute(late).await.unwrap();
    let page = site.get("/job?job=listener").await.text;
    let page = main_part(&page);
    assert!(page.contains("It should be running, and no process runs it"), "{page}");
    assert!(!page.contains("Due ") && !page.contains("due, and"), "{page}");
    let health = site.get("/health").await.text;
    assert!(health.contains("should be running at all times") && !health.contains("came due"), "{health}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_only_commands_run_says_so_where_others_have_a_schedule() {
    let site = Site::new().await;
    let job = Job::on_demand("backup", |_: Run| async { Ok::<(), Failure>(()) });
    site.node("cron-1").job(job).run_once(Duration::ZERO).await.unwrap();
    let page = site.get("/job?job=backup").await.text;
    let page = main_part(&page);
    for text in ["runs when it is asked for", "hourhand exec", "No definition is registered", "by hand"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    for text in ["<code></code>", "id=\"run-now\"", "do/backfill", "Next occurrences", "<dt>Next</dt>"] {
        assert!(!page.contains(text), "{text}: {page}");
    }
    let overview = site.get("/").await.text;
    assert!(overview.contains("runs when it is asked for") && overview.contains(">when asked</span>"), "{overview}");
    let refused = site.post("/do/backfill", "job=backup&from=2026-01-01&until=2026-02-01").await;
    assert!(refused.text.contains("it has no schedule"), "{}", refused.text);
    let kept = site.post("/do/forget", "job=backup").await;
    assert!(kept.status == StatusCode::CONFLICT && kept.text.contains("it has no schedule"), "{}", kept.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_of_a_later_version_is_shown_as_it_stands() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let later = r#"update hourhand.definition set body = '{"schedule": "@fortnightly", "time_zone": "UTC"}'"#;
    site.eye.batch_execute(later).await.unwrap();
    let page = site.get("/job?job=order-sync").await.text;
    assert!(page.contains("this one cannot read") && page.contains("<code>@fortnightly</code>"), "{page}");
    assert!(!main_part(&page).contains("do/backfill") && page.contains("id=\"run-now\""), "{page}");
}
