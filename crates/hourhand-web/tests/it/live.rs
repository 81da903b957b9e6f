//! What changes is told to all viewers within a second, at the price of one.

use std::time::{Duration, Instant};

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt;
use hourhand::Triggered;
use hourhand_testkit::eventually;
use hourhand_web::Access;
use tower::ServiceExt;

use crate::site::{JOB, Site, endless_job};

/// A viewer's stream.
pub struct Viewer(BodyDataStream, String);

impl Viewer {
    pub async fn of(site: &Site) -> Viewer {
        let request = Request::get("/events").body(Body::empty()).unwrap();
        let response = site.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Viewer(response.into_body().into_data_stream(), String::new())
    }

    /// The next event whose text has this.
    pub async fn hears(&mut self, text: &str, within: Duration) -> Duration {
        let begun = Instant::now();
        let heard = async {
            while !self.1.contains(text) {
                let piece = self.0.next().await.expect("the stream goes on").unwrap();
                self.1.push_str(std::str::from_utf8(&piece).unwrap());
            }
            self.1.clear();
        };
        tokio::time::timeout(within, heard)
            .await
            .unwrap_or_else(|_| panic!("{text} not heard within {within:?}: {}", self.1));
        begun.elapsed()
    }

    /// Whatever comes until it has been silent for so long.
    pub async fn drain(&mut self, silent: Duration) {
        while let Ok(Some(piece)) = tokio::time::timeout(silent, self.0.next()).await {
            drop(piece);
        }
        self.1.clear();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_and_an_end_are_told_within_a_second_and_the_page_shows_them() {
    let site = Site::new().await;
    let node = site.node("web-1").job(endless_job(JOB)).start().await.unwrap();
    let mut viewer = Viewer::of(&site).await;
    // The first look, and the ear that is opened after it.
    viewer.drain(Duration::from_millis(1500)).await;
    let Triggered::Started { epoch } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let took = viewer.hears("\"order-sync\"", Duration::from_secs(2)).await;
    assert!(took < Duration::from_secs(1), "the start was told after {took:?}");
    assert!(site.get("/").await.text.contains("badge busy"));
    node.cancel(JOB, None, None).await.unwrap();
    eventually(Duration::from_secs(5), async || {
        let ended = site.number(&format!("select count(*) from hourhand.history where epoch = {epoch}")).await;
        if ended == 1 { Ok(()) } else { Err("the run goes on") }
    })
    .await;
    let took = viewer.hears("\"order-sync\"", Duration::from_secs(2)).await;
    assert!(took < Duration::from_secs(1), "the end was told after {took:?}");
    eventually(Duration::from_secs(1), async || {
        let page = site.get("/").await.text;
        if page.contains("badge busy") { Err(page) } else { Ok(()) }
    })
    .await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_viewers_cost_the_database_no_more_than_one() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let statements = async |viewers: usize| {
        let mut all = Vec::new();
        for _ in 0..viewers {
            all.push(Viewer::of(&site).await);
        }
        all[0].drain(Duration::from_millis(1500)).await;
        // Statistics of an idle session appear with its next statement, a second later at the earliest.
        let count =
            "select (xact_commit + xact_rollback)::bigint from pg_stat_database where datname = current_database()";
        let before = site.number(count).await;
        for round in 0..8 {
            // A change, which all viewers are told, and ask for their pages anew.
            let act = if round % 2 == 0 { "/do/pause" } else { "/do/resume" };
            assert_eq!(site.post(act, "job=order-sync").await.status, axum::http::StatusCode::SEE_OTHER);
            all[viewers - 1].hears("order-sync", Duration::from_secs(2)).await;
            for _ in 0..viewers {
                assert!(site.get("/").await.text.contains(JOB));
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        site.number(count).await - before
    };
    let (few, many) = (statements(1).await, statements(50).await);
    // The fifty take longer to be served, in which time more looks fall due; by the viewer it would be a thousand more.
    assert!(many <= few + 40, "{few} transactions for 8 changes with 1 viewer, {many} with 50");
    let sessions = "select count(*) from pg_stat_activity where datname = current_database() and application_name like 'hourhand%'";
    assert!(site.number(sessions).await <= 2, "one line, one ear");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_last_viewer_the_listening_ends() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let ears = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'hourhand dashboard'";
    let mut viewer = Viewer::of(&site).await;
    viewer.drain(Duration::from_millis(500)).await;
    eventually(Duration::from_secs(5), async || match site.number(ears).await {
        1 => Ok(()),
        ears => Err(ears),
    })
    .await;
    drop(viewer);
    eventually(Duration::from_secs(20), async || match site.number(ears).await {
        0 => Ok(()),
        ears => Err(ears),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_the_service_shuts_down() {
    let site = Site::new().await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let dashboard = site.dashboard(Access::Full).shutdown_on(async move { drop(stopped.await) });
    let site = Site { router: dashboard.into_router(), ..site };
    let mut viewer = Viewer::of(&site).await;
    viewer.drain(Duration::from_millis(500)).await;
    stop.send(()).unwrap();
    let ended = async { while viewer.0.next().await.is_some() {} };
    tokio::time::timeout(Duration::from_secs(2), ended).await.expect("the stream ends");
}
