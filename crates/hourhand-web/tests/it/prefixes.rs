//! Mounted anywhere, links lead to where it is mounted.

use axum::Router;
use axum::http::{Method, StatusCode};
use hourhand_web::Access;

use crate::site::{JOB, Site, ask};

/// All addresses that a page links to, loads or posts to.
fn addresses(html: &str) -> Vec<&str> {
    let attributes = ["href=\"", "src=\"", "action=\"", "data-events=\""];
    let found = attributes.iter().flat_map(|attribute| html.split(attribute).skip(1));
    found.filter_map(|rest| rest.split('"').next()).filter(|address| !address.starts_with('#')).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn links_of_every_page_stay_below_the_mount_with_and_without_its_slash() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let app = Router::new().nest_service("/admin/jobs", site.dashboard(Access::Full).into_router());
    let paths = ["", "/", "/job?job=order-sync", "/history", "/locks", "/nodes", "/health", "/audit", "/nowhere"];
    for path in paths {
        let page = ask(&app, Method::GET, &format!("/admin/jobs{path}"), &[]).await;
        assert!(page.status == StatusCode::OK || path == "/nowhere", "{path}: {}", page.status);
        let addresses = addresses(&page.text);
        assert!(addresses.len() > 8, "{path}: {addresses:?}");
        for address in addresses {
            assert!(address.starts_with("/admin/jobs/"), "{path} leads to {address}");
            let address = address.replace("&#38;", "&").replace("&amp;", "&");
            if !address.contains("/do/") && !address.contains("/events") {
                let there = ask(&app, Method::GET, &address, &[]).await;
                assert_eq!(there.status, StatusCode::OK, "{path} leads to {address}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_takes_a_part_of_the_path_away_is_told_by_name() {
    let site = Site::new().await;
    let router = site.dashboard(Access::Full).public_path("/behind/proxy/").into_router();
    let page = ask(&router, Method::GET, "/", &[]).await;
    assert!(addresses(&page.text).iter().all(|address| address.starts_with("/behind/proxy/")), "{}", page.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_after_an_act_leads_below_the_mount() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let app = Router::new().nest_service("/a", site.dashboard(Access::Full).into_router());
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let answer = ask(&app, Method::POST, "/a/do/resume?", &headers).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "a form without a job");
    let site = Site { router: app, ..site };
    let answer = site.post("/a/do/resume", "job=order-sync").await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (StatusCode::SEE_OTHER, "/a/job?job=order-sync&said=not_paused")
    );
}
