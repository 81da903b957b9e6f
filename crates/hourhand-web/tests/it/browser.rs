//! The dashboard in a real Chromium, mounted below a path: live, acted on, and without script.

use std::time::{Duration, Instant};

use axum::Router;
use fantoccini::Locator;
use hourhand::{Failure, Job, Run, Schedule, Triggered};
use hourhand_web::Access;

use crate::chromium::{Browser, Look, USUAL};
use crate::site::{JOB, Site, endless_job};

/// A page shows what it is told within this; most of it is the driver's.
const SOON: Duration = Duration::from_secs(10);

/// Serves the site's dashboard below `/admin/jobs`, and says where.
pub async fn serve(site: &Site) -> String {
    serve_router(site.dashboard(Access::Full).into_router()).await
}

/// The same with a dashboard that is there already.
pub async fn serve_router(router: Router) -> String {
    let app = Router::new().nest_service("/admin/jobs", router);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/admin/jobs")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_runs_start_and_end_without_touching_anything() {
    let Some(browser) = Browser::start(USUAL).await else { return };
    let site = Site::new().await;
    let hostile = "<img src=x onerror=document.title='owned'>";
    let node = site.node("web-1").job(endless_job(JOB)).job(endless_job(hostile)).start().await.unwrap();
    browser.open(&serve(&site).await).await;
    browser.sees(hostile, SOON).await;
    browser.sees("live", SOON).await;
    assert_eq!(browser.client.title().await.unwrap(), "Jobs · hourhand");
    // The ear is opened after the first look.
    let ears = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'hourhand dashboard'";
    hourhand_testkit::eventually(SOON, async || match site.number(ears).await {
        1 => Ok(()),
        ears => Err(ears),
    })
    .await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    browser.client.execute(NOTE_CHANGES, vec![]).await.unwrap();
    let begun = Instant::now();
    let Triggered::Started { .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    browser.sees("on web-1, for", SOON).await;
    eprintln!("a start is seen after {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(1), "seen after {:?}", begun.elapsed());
    let ended = Instant::now();
    node.cancel(JOB, None, None).await.unwrap();
    browser.sees("cancelled", SOON).await;
    eprintln!("an end is seen after {:?}", ended.elapsed());
    assert!(ended.elapsed() < Duration::from_secs(1), "seen after {:?}", ended.elapsed());
    let reloads = browser.client.execute("return window.noted === true", vec![]).await.unwrap();
    assert_eq!(reloads, true, "the page was never loaded anew");
    browser.end().await;
    node.shutdown().await;
}

/// Survives as long as the page does.
const NOTE_CHANGES: &str = "window.noted = true";

#[tokio::test(flavor = "multi_thread")]
async fn times_are_in_the_readers_zone_with_utc_beside() {
    let Some(browser) = Browser::start(USUAL).await else { return };
    let site = Site::new().await;
    site.registered(JOB).await;
    let runs = "insert into hourhand.history (job, epoch, trigger, scheduled_for, started_at, ended_at, outcome, attempt) values \
                ('order-sync', 1, 'schedule', '2026-03-04T20:00Z', '2026-03-04T20:00:01Z', '2026-03-04T20:00:02Z', 'succeeded', 1)";
    site.eye.batch_execute(runs).await.unwrap();
    let home = serve(&site).await;
    browser.open(&format!("{home}/history")).await;
    browser.sees("2026-03-05 05:00:01", SOON).await;
    browser.sees("03-04 20:00 UTC", SOON).await;
    browser.sees("Times are in Asia/Seoul", SOON).await;
    browser.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pause_and_resume_are_a_few_clicks() {
    let Some(browser) = Browser::start(USUAL).await else { return };
    let site = Site::new().await;
    site.registered(JOB).await;
    browser.open(&format!("{}/job?job=order-sync", serve(&site).await)).await;
    browser.click("#pause summary").await;
    let reason = browser.client.find(Locator::Css("#pause input[name=reason]")).await.unwrap();
    reason.send_keys("the feed is moved").await.unwrap();
    browser.click("#pause button").await;
    browser.sees("Paused: nothing starts until it is resumed", SOON).await;
    browser.sees("the feed is moved", SOON).await;
    browser.click("#resume").await;
    browser.sees("Resumed.", SOON).await;
    assert!(!browser.text().await.contains("the feed is moved"));
    browser.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn run_now_is_started_seen_running_and_seen_to_end() {
    let Some(browser) = Browser::start(USUAL).await else { return };
    let site = Site::new().await;
    let job = Job::new(JOB, Schedule::cron("0 0 1 1 *"), |run: Run| async move {
        drop(tokio::time::timeout(Duration::from_secs(4), run.cancelled()).await);
        Ok::<_, Failure>(())
    });
    let node = site.node("web-1").job(job).resident(true).start().await.unwrap();
    browser.open(&format!("{}/job?job=order-sync", serve(&site).await)).await;
    browser.click("#run-now").await;
    browser.sees("Started: run", SOON).await;
    browser.sees("on web-1, for", SOON).await;
    browser.sees("✓\nsucceeded", SOON).await;
    assert!(browser.client.find(Locator::Css("#run-now")).await.is_ok(), "the button is back");
    browser.end().await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_alone_are_enough_to_find_a_job_and_run_it() {
    const TAB: &str = "\u{e004}";
    const ENTER: &str = "\u{e007}";
    let Some(browser) = Browser::start(USUAL).await else { return };
    let site = Site::new().await;
    let node = site.node("web-1").job(endless_job(JOB)).resident(true).start().await.unwrap();
    browser.open(&serve(&site).await).await;
    browser.sees("live", SOON).await;
    // From where the page begins: the first key leads past the navigation, what is chosen by it to the first job.
    browser.press(TAB).await;
    assert_eq!(browser.focused().await, "To the content");
    browser.press(ENTER).await;
    let tabs_until = async |text: &str| {
        for _ in 0..20 {
            browser.press(TAB).await;
            if browser.focused().await == text {
                return;
            }
        }
        panic!("{text} is not reached; on {}", browser.focused().await);
    };
    tabs_until(JOB).await;
    browser.press(ENTER).await;
    browser.sees("Next occurrences", SOON).await;
    tabs_until("Run now").await;
    browser.press(ENTER).await;
    browser.sees("Started: run", SOON).await;
    tabs_until("Cancel run…").await;
    browser.press(ENTER).await;
    browser.press(TAB).await;
    assert!(browser.focused().await.starts_with("Cancel run "), "{}", browser.focused().await);
    browser.press(ENTER).await;
    browser.sees("Asked to stop: run", SOON).await;
    browser.end().await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_nothing_is_wider_than_the_screen() {
    let Some(browser) = Browser::start(Look { size: (360, 740), ..USUAL }).await else { return };
    let site = Site::new().await;
    let long = "a-name-without-any-place-to-break-it-".repeat(3);
    site.registered(&long).await;
    let run = format!(
        "insert into hourhand.history (job, epoch, trigger, scheduled_for, started_at, outcome, attempt, node, error, output) values \
         ('{long}', 1, 'schedule', now(), now(), 'failed', 1, '{long}', repeat('x', 500), repeat('y', 500)); \
         update hourhand.job set last_outcome = 'failed'"
    );
    site.eye.batch_execute(&run).await.unwrap();
    let home = serve(&site).await;
    let paths = ["", "/history", "/nodes", "/locks", "/health", "/audit", "/job?job=", "/run?epoch=1&job="];
    for path in paths {
        let name = if path.ends_with('=') { long.as_str() } else { "" };
        browser.open(&format!("{home}{path}{name}")).await;
        browser.sees("live", SOON).await;
        let widths = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]";
        let widths = browser.client.execute(widths, vec![]).await.unwrap();
        assert_eq!(widths[0], widths[1], "{path}: {widths}");
        assert_eq!(widths[1], 360, "{path}");
    }
    browser.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_script_all_of_it_can_be_seen_and_done() {
    let Some(browser) = Browser::start(Look { has_script: false, ..USUAL }).await else { return };
    let site = Site::new().await;
    let job =
        Job::new(JOB, Schedule::cron("0 0 1 1 *"), |_: Run| async { Err::<(), _>(Failure::transient("feed: 503")) });
    let node = site.node("web-1").job(job).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    let home = serve(&site).await;
    hourhand_testkit::eventually(SOON, async || match site.number("select count(*) from hourhand.history").await {
        1 => Ok(()),
        rows => Err(rows),
    })
    .await;
    browser.open(&home).await;
    let text = browser.text().await;
    assert!(text.contains("Needs attention") && text.contains("Times are UTC."), "{text}");
    browser.click("table.jobs th a").await;
    browser.sees("feed: 503", SOON).await;
    browser.click("#history td a").await;
    browser.sees("Recorded by web-1", SOON).await;
    browser.open(&format!("{home}/job?job=order-sync")).await;
    browser.click("#pause summary").await;
    browser.click("#pause button").await;
    browser.sees("Paused: nothing starts", SOON).await;
    browser.end().await;
    node.shutdown().await;
}
