//! Nothing is served without the host's word, and read-only means it.

use axum::http::{Method, StatusCode};
use hourhand_web::Access;

use crate::site::{JOB, Site, ask};

const SEEN: [&str; 12] = [
    "/",
    "/job?job=order-sync",
    "/run?job=order-sync&epoch=1",
    "/history",
    "/locks",
    "/health",
    "/nodes",
    "/audit",
    "/events",
    "/static/style.css",
    "/api/openapi.json",
    "/api/status",
];
const DONE: [&str; 8] =
    ["/do/trigger", "/do/backfill", "/do/pause", "/do/resume", "/do/cancel", "/do/window", "/do/evict", "/do/forget"];

#[tokio::test(flavor = "multi_thread")]
async fn who_is_denied_is_served_nothing_at_all() {
    let site = Site::new().await;
    let router = site.dashboard(Access::default()).into_router();
    for path in SEEN.iter().chain(&["/nowhere"]) {
        let answer = ask(&router, Method::GET, path, &[]).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
        assert!(!answer.text.contains("hourhand"), "{path}: {}", answer.text);
    }
    for path in DONE {
        assert_eq!(ask(&router, Method::POST, path, &[]).await.status, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_look_sees_no_buttons_and_none_would_work() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let router = site.dashboard(Access::ReadOnly).into_router();
    let page = ask(&router, Method::GET, "/job?job=order-sync", &[]).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(!page.text.contains("method=\"post\"") && page.text.contains("You may look, not act"), "{}", page.text);
    let own = [("sec-fetch-site", "same-origin")];
    for path in DONE.iter().copied().chain(["/api/pause?job=order-sync", "/api/forget?job=order-sync"]) {
        let answer = ask(&router, Method::POST, path, &own).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
    }
    assert_eq!(site.number("select count(*) from hourhand.pause").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_sites_forms_are_refused_and_leave_nothing_done() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let foreign: [&[(&str, &str)]; 4] = [
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("host", "dash.example"), ("origin", "https://evil.example")],
        &[("host", "dash.example"), ("origin", "null")],
    ];
    for headers in foreign {
        for path in ["/do/pause", "/api/pause?job=order-sync"] {
            let answer = ask(&site.router, Method::POST, path, headers).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {headers:?}");
        }
    }
    assert_eq!(site.number("select count(*) from hourhand.pause").await, 0);
    let own = [("host", "dash.example"), ("origin", "https://dash.example")];
    let answer = ask(&site.router, Method::POST, "/api/pause?job=order-sync", &own).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(site.number("select count(*) from hourhand.pause where active").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_forbids_what_is_inline_and_what_is_foreign() {
    let site = Site::new().await;
    site.registered(JOB).await;
    for path in ["/", "/job?job=order-sync", "/nowhere", "/static/script.js", "/api/status", "/run?job=x&epoch=1"] {
        let answer = site.get(path).await;
        let policy = answer.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        if answer.header("content-type").starts_with("text/html") {
            for inline in [" style=", "<style", " onclick=", "javascript:", "http://", "https://"] {
                assert!(!answer.text.contains(inline), "{path} contains {inline}");
            }
            let scripts = answer.text.matches("<script").count();
            assert_eq!(scripts, answer.text.matches("<script src=\"/static/").count(), "{path}");
        }
    }
}
