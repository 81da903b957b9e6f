//! Buttons do what they say, and the page after says what came of it.

use std::time::Duration;

use axum::http::StatusCode;
use hourhand::Triggered;
use hourhand_testkit::eventually;

use crate::site::{JOB, Site, endless_job};

#[tokio::test(flavor = "multi_thread")]
async fn pause_with_reason_and_expiry_is_shown_and_resume_ends_it() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let answer = site.post("/do/pause", "job=order-sync&reason=moving+house&length=3600").await;
    assert_eq!((answer.status, answer.header("location")), (StatusCode::SEE_OTHER, "/job?job=order-sync&said=paused"));
    let page = site.get(answer.header("location")).await;
    for text in ["Paused: nothing starts until", "moving house", "by ann", "Resume and catch up", "badge held"] {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
    let hour = "select count(*) from hourhand.pause where until between now() + interval '59 min' and now() + interval '61 min'";
    assert_eq!(site.number(hour).await, 1);
    assert!(site.get("/").await.text.contains("moving house"));
    let answer = site.post("/do/resume", "job=order-sync").await;
    assert!(answer.header("location").ends_with("said=resumed"), "{answer:?}");
    assert!(!site.get("/job?job=order-sync").await.text.contains("moving house"));
    let audit = site.get("/audit").await;
    assert!(audit.text.contains("moving house") && audit.text.contains("resume") && audit.text.contains("ann"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_under_way_is_shown_and_can_be_cancelled_by_its_epoch_only() {
    let site = Site::new().await;
    let node = site.node("web-1").job(endless_job(JOB)).start().await.unwrap();
    let Triggered::Started { epoch } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let run = format!("/run?job=order-sync&epoch={epoch}");
    for path in ["/", "/job?job=order-sync", &run] {
        let page = site.get(path).await;
        assert!(page.text.contains("badge busy") && page.text.contains("web-1"), "{path}: {}", page.text);
    }
    assert!(site.get("/nodes").await.text.contains("web-1"));
    let other = site.post("/do/cancel", "job=order-sync&epoch=7").await;
    assert!(other.header("location").ends_with("said=not_running"), "{other:?}");
    let answer = site.post("/do/cancel", &format!("job=order-sync&epoch={epoch}")).await;
    assert_eq!(answer.header("location"), format!("/job?job=order-sync&said=cancelled&of={epoch}"));
    let page = eventually(Duration::from_secs(8), async || {
        let page = site.get(&run).await;
        if page.text.contains("⊘") { Ok(page.text) } else { Err(page.text) }
    })
    .await;
    assert!(page.contains("Its cancelling was asked for by ann"), "{page}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_with_what_would() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let long = "x".repeat(501);
    let forms = [
        ("/do/pause", "job=order-sync&length=-1".to_owned(), "number of seconds"),
        ("/do/pause", format!("job=order-sync&reason={long}"), "at most 500"),
        ("/do/window", "job=order-sync&from=yesterday".to_owned(), "is not an instant"),
    ];
    for (path, form, told) in forms {
        let answer = site.post(path, &form).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path} {form}");
        assert!(answer.text.contains(told), "{}", answer.text);
    }
    let answer = site.post("/do/pause", "job=order-synk").await;
    assert!(answer.status == StatusCode::NOT_FOUND && answer.text.contains("order-sync"), "{answer:?}");
    let answer = site.post("/do/forget", "job=order-sync").await;
    assert!(answer.status == StatusCode::CONFLICT && answer.text.contains("stays"), "{answer:?}");
    assert_eq!(site.number("select count(*) from hourhand.audit").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_moved_and_the_session_of_a_stranger_ended() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let answer = site.post("/do/window", "job=order-sync&from=2026-01-02T03%3A04").await;
    assert!(answer.header("location").ends_with("said=window"), "{answer:?}");
    assert!(site.get("/job?job=order-sync").await.text.contains("2026-01-02 03:04:00"));
    let stranger = site.database.connect().await;
    stranger
        .batch_execute("set application_name = 'django'; select pg_advisory_lock(hourhand.key('order-sync'))")
        .await
        .unwrap();
    for path in ["/", "/job?job=order-sync", "/locks"] {
        assert!(site.get(path).await.text.contains("django"), "{path}");
    }
    let answer = site.post("/do/evict", "job=order-sync").await;
    assert!(answer.header("location").ends_with("said=evicted"), "{answer:?}");
    eventually(Duration::from_secs(5), async || {
        let page = site.get("/locks").await.text;
        if page.contains("django") { Err(page) } else { Ok(()) }
    })
    .await;
}
