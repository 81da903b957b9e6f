//! Whatever a job is called, says or writes: it is text.

use axum::http::StatusCode;

use crate::site::{Site, quick_job};

const NAMES: [&str; 6] =
    ["<script>alert(1)</script>", "..", "a/b?c&d=e#f", "\"'><img src=x onerror=alert(1)>", "%2e%2e%2f", "時計 ⏰ ünï"];

/// Percent-encoded whole.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_names_errors_and_outputs_are_shown_as_text_on_every_page() {
    let site = Site::new().await;
    let jobs: Vec<_> = NAMES.into_iter().map(quick_job).collect();
    let node = jobs.into_iter().fold(site.node("<b>node</b>"), |node, job| node.job(job));
    node.start().await.unwrap().shutdown().await;
    for (at, name) in NAMES.iter().enumerate() {
        let entry = format!(
            "insert into hourhand.history (job, epoch, trigger, started_at, outcome, reason, attempt, node, error, output) values \
             ({0}, {at}, '<i>', now(), 'failed', '<u>', 1, '<b>node</b>', '</pre><script>alert(2)</script>', '<svg onload=x>')",
            format_args!("'{}'", name.replace('\'', "''"))
        );
        site.eye.batch_execute(&entry).await.unwrap();
        let name = encoded(name);
        let pause = format!("job={name}&reason={}", encoded("<script>alert(3)</script>"));
        assert_eq!(site.post("/do/pause", &pause).await.status, StatusCode::SEE_OTHER);
        let paths =
            [format!("/job?name={name}"), format!("/run?job={name}&epoch={at}"), format!("/history?job={name}")];
        for path in paths.iter().map(String::as_str).chain(["/", "/history", "/audit", "/nodes", "/locks"]) {
            let page = site.get(path).await;
            assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text);
            for tag in ["<script>", "<img", "onload=x>", "<b>node", "<i>", "<u>", "</pre><script"] {
                assert!(!page.text.contains(tag), "{path} has {tag}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_not_there_is_told_with_the_near_names_and_as_text() {
    let site = Site::new().await;
    site.registered("order-sync").await;
    let page = site.get("/job?name=ordersync").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.text.contains("order-sync"), "{}", page.text);
    let page = site.get(&format!("/job?name={}", encoded("<script>"))).await;
    assert!(page.status == StatusCode::NOT_FOUND && !page.text.contains("<script>"), "{}", page.text);
}
