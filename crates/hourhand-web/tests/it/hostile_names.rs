//! Whatever a job is called, says or writes: it is text.

use axum::http::StatusCode;

use crate::site::{Site, quick_job};

const NAMES: [&str; 6] =
    ["<script>alert(1)</script>", "..", "a/b?c&d=e#f", "\"'><img src=x onerror=alert(1)>", "%2e%2e%2f", "時計 ⏰ ünï"];

/// Not to be registered, but perhaps there.
const REFUSED: [&str; 2] = ["pay\u{202e}gpj.exe", "order-\u{200b}sync"];

/// What a terminal or the eye would obey.
fn steers(sign: char) -> bool {
    sign.is_control() && sign != '\n' && sign != '\t' || "\u{202e}\u{200b}\u{2066}\u{feff}".contains(sign)
}

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
    for name in REFUSED {
        site.registered_though_refused(name).await;
    }
    for (at, name) in NAMES.iter().chain(&REFUSED).enumerate() {
        let entry = format!(
            "insert into hourhand.history (job, epoch, trigger, started_at, outcome, reason, attempt, node, error, output) values \
             ({0}, {at}, '<i>', now(), 'failed', '<u>', 1, '<b>node</b>', e'</pre><script>alert(2)</script>\u{1b}[2J\u{2066}', e'<svg onload=x>\u{9b}\u{1b}[31mred\u{1b}[0m\r\n\u{202e}')",
            format_args!("'{}'", name.replace('\'', "''"))
        );
        site.eye.batch_execute(&entry).await.unwrap();
        let name = encoded(name);
        let pause = format!("job={name}&reason={}", encoded("<script>alert(3)</script>"));
        assert_eq!(site.post("/do/pause", &pause).await.status, StatusCode::SEE_OTHER);
        let paths = [format!("/job?job={name}"), format!("/run?job={name}&epoch={at}"), format!("/history?job={name}")];
        for path in paths.iter().map(String::as_str).chain(["/", "/history", "/audit", "/nodes", "/locks"]) {
            let page = site.get(path).await;
            assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text);
            for tag in ["<script>", "<img", "onload=x>", "<b>node", "<i>", "<u>", "</pre><script"] {
                assert!(!page.text.contains(tag), "{path} has {tag}");
            }
            assert_eq!(page.text.find(steers), None, "{path}: {:?}", page.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nul_is_refused_and_taken_for_no_trouble_of_the_database() {
    let site = Site::new().await;
    site.registered("order-sync").await;
    let pages = [
        "/job?job=%00",
        "/history?job=a%00",
        "/run?job=%00&epoch=1",
        "/locks?names=%00",
        "/audit?job=%00",
        "/?find=%00",
    ];
    for path in pages.into_iter().chain(["/api/status?job=%00", "/api/history?job=%00", "/api/locks?names=%00"]) {
        let page = site.get(path).await;
        assert!(page.status == StatusCode::BAD_REQUEST && page.text.contains("a NUL"), "{path}: {}", page.text);
        assert!(path.starts_with("/api/") == page.header("content-type").starts_with("application/json"), "{path}");
    }
    for form in ["job=%00", "job=order-sync&reason=%00", "job=order-sync&reason=\0", &"x".repeat(100_000)] {
        let page = site.post("/do/pause", form).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{}", page.text);
    }
    assert_eq!(site.number("select count(*) from hourhand.pause").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_seen_is_shown_and_forms_still_send_the_name_as_it_is() {
    let site = Site::new().await;
    site.registered_though_refused("pay\u{202e}gpj.exe").await;
    let page = site.get(&format!("/job?job={}", encoded("pay\u{202e}gpj.exe"))).await.text;
    assert!(page.contains("<h1>pay⟨U+202E⟩gpj.exe "), "{page}");
    // As a browser reads it: the name itself, which the form sends.
    assert!(page.contains("name=\"job\" value=\"pay&#8238;gpj.exe\""), "{page}");
    assert!(page.contains("data-job=\"pay&#8238;gpj.exe\""), "{page}");
    let run = "insert into hourhand.history (job, epoch, trigger, started_at, outcome, attempt, output) values \
               (e'pay\\u202egpj.exe', 1, 'manual', now(), 'succeeded', 1, e'\\x1b[1;32mok\\x1b[0m\\r\\n10 %\\r20 %')";
    site.eye.batch_execute(run).await.unwrap();
    let page = site.get(&format!("/run?job={}&epoch=1", encoded("pay\u{202e}gpj.exe"))).await.text;
    assert!(page.contains(">ok\n10 %⟨CR⟩20 %</pre>"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_not_there_is_told_with_the_near_names_and_as_text() {
    let site = Site::new().await;
    site.registered("order-sync").await;
    let page = site.get("/job?job=ordersync").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.text.contains("order-sync"), "{}", page.text);
    let page = site.get(&format!("/job?job={}", encoded("<script>"))).await;
    assert!(page.status == StatusCode::NOT_FOUND && !page.text.contains("<script>"), "{}", page.text);
}
