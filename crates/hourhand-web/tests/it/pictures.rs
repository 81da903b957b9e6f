//! The pictures of the documentation, of real pages about jobs that could be somebody's. Made by hand:
//! `cargo test -p hourhand-web --test it pictures -- --ignored`.

use std::time::Duration;

use hourhand::Triggered;

use crate::browser::serve;
use crate::chromium::{Browser, Look};
use crate::site::{Site, endless_job, quick_job};

const NAMES: [&str; 7] = [
    "order-sync",
    "price-import",
    "invoice-mails",
    "reindex-search",
    "purge-carts",
    "exchange-rates",
    "nightly-report",
];

/// Schedules, some days of history, and states that call for somebody.
const STORY: &str = include_str!("pictures.sql");

#[tokio::test(flavor = "multi_thread")]
#[ignore = "makes the pictures of the documentation"]
async fn pictures_of_the_main_pages_in_light_and_dark() {
    let site = Site::new().await;
    let idle = NAMES.into_iter().map(quick_job).fold(site.node("web-2"), |node, job| node.job(job));
    idle.start().await.unwrap().shutdown().await;
    let node = site.node("web-1").job(endless_job("order-sync")).start().await.unwrap();
    let Triggered::Started { .. } = node.trigger("order-sync").await.unwrap() else { panic!("not started") };
    site.eye.batch_execute(STORY).await.unwrap();
    let home = serve(&site).await;
    let failed =
        site.number("select max(epoch) from hourhand.history where job = 'price-import' and outcome = 'failed'").await;
    let pages = [
        ("overview", String::new()),
        ("job", "/job?job=price-import".to_owned()),
        ("run", format!("/run?job=price-import&epoch={failed}")),
        ("history", "/history?outcome=failed".to_owned()),
        ("locks", "/locks".to_owned()),
        ("health", "/health".to_owned()),
    ];
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/screenshots");
    std::fs::create_dir_all(&directory).unwrap();
    for (is_dark, scheme) in [(false, "light"), (true, "dark")] {
        for (size, width) in [((1280, 860), ""), ((400, 800), "-phone")] {
            let Some(browser) = Browser::start(Look { is_dark, has_script: true, size }).await else { return };
            for (name, path) in &pages {
                if !width.is_empty() && (is_dark || *name != "overview" && *name != "job") {
                    continue;
                }
                browser.open(&format!("{home}{path}")).await;
                browser.sees("live", Duration::from_secs(10)).await;
                let picture = browser.client.screenshot().await.unwrap();
                std::fs::write(directory.join(format!("{name}{width}-{scheme}.png")), picture).unwrap();
            }
            browser.end().await;
        }
    }
    node.shutdown().await;
}
