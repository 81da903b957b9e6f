//! A run's output while it runs: on the node that runs it, and nowhere else before its end.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Method, StatusCode};
use hourhand::{Failure, Job, Run, Schedule, Scheduler, Triggered};
use hourhand_testkit::eventually;
use hourhand_web::Access;
use tokio::sync::{Mutex, mpsc};

use crate::browser::serve_router;
use crate::chromium::{Browser, USUAL};
use crate::site::{JOB, Site, ask};

/// A node with a job that writes the lines it is sent, until there are no more.
struct Writing {
    node: Scheduler,
    lines: mpsc::UnboundedSender<String>,
    epoch: i64,
}

impl Writing {
    async fn at(site: &Site) -> Writing {
        let (lines, receiver) = mpsc::unbounded_channel::<String>();
        let receiver = Arc::new(Mutex::new(receiver));
        let job = Job::new(JOB, Schedule::cron("0 0 1 1 *"), move |run: Run| {
            let receiver = receiver.clone();
            async move {
                while let Some(line) = receiver.lock().await.recv().await {
                    run.output(line);
                }
                Ok::<(), Failure>(())
            }
        });
        let node = site.node("web-1").job(job).start().await.unwrap();
        let Triggered::Started { epoch } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
        Writing { node, lines, epoch }
    }

    /// The dashboard of the process that runs it.
    fn dashboard(&self, site: &Site) -> Router {
        let node = self.node.clone();
        let here = site.dashboard(Access::Full).live_output(move |job, epoch| {
            let node = node.clone();
            async move { node.output(&job, epoch).await }
        });
        here.into_router()
    }

    async fn writes(&self, line: &str) {
        self.lines.send(line.to_owned()).unwrap();
        eventually(Duration::from_secs(5), async || match self.node.output(JOB, self.epoch).await {
            Some(text) if text.contains(line) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_writes_is_on_its_page_at_once_here_and_at_its_end_elsewhere() {
    let site = Site::new().await;
    let writing = Writing::at(&site).await;
    let (here, page) = (writing.dashboard(&site), format!("/run?job=order-sync&epoch={}", writing.epoch));
    let empty = ask(&here, Method::GET, &page, &[]).await.text;
    assert!(empty.contains("Output so far") && empty.contains("It has written nothing yet"), "{empty}");
    writing.writes("page 1 </pre><script>\u{1b}[31mred\u{1b}[0m\u{202e}").await;
    let shown = ask(&here, Method::GET, &page, &[]).await.text;
    assert!(shown.contains("page 1 &#60;/pre&#62;&#60;script&#62;red⟨U+202E⟩\n</pre>"), "{shown}");
    let path = page.replace("/run", "/output");
    let text = ask(&here, Method::GET, &path, &[]).await;
    assert_eq!((text.status, text.header("content-type")), (StatusCode::OK, "text/plain; charset=utf-8"));
    assert_eq!(text.text, "page 1 </pre><script>red⟨U+202E⟩\n");
    let known = [("if-none-match", text.header("etag"))];
    assert_eq!(ask(&here, Method::GET, &path, &known).await.status, StatusCode::NOT_MODIFIED);
    writing.writes("page 2").await;
    assert_eq!(ask(&here, Method::GET, &path, &known).await.status, StatusCode::OK);

    let elsewhere = site.get(&page).await.text;
    assert!(elsewhere.contains("what it writes is shown here once it has ended"), "{elsewhere}");
    assert_eq!(site.get(&path).await.status, StatusCode::NO_CONTENT);
    assert_eq!(ask(&here, Method::GET, "/output?job=order-sync&epoch=7", &[]).await.status, StatusCode::NO_CONTENT);

    let Writing { node, lines, .. } = writing;
    drop(lines);
    let ended = eventually(Duration::from_secs(8), async || {
        let text = site.get(&page).await.text;
        if text.contains("page 2\n</pre>") { Ok(text) } else { Err(text) }
    })
    .await;
    assert!(ended.contains("Recorded by web-1.") && !ended.contains("Output so far"), "{ended}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_lines_come_without_touching_anything() {
    let Some(browser) = Browser::start(USUAL).await else { return };
    let site = Site::new().await;
    let writing = Writing::at(&site).await;
    let home = serve_router(writing.dashboard(&site)).await;
    browser.open(&format!("{home}/run?job=order-sync&epoch={}", writing.epoch)).await;
    browser.sees("It has written nothing yet", Duration::from_secs(10)).await;
    writing.writes("fetched page 1 of 7").await;
    browser.sees("fetched page 1 of 7", Duration::from_secs(4)).await;
    writing.writes("fetched page 2 of 7").await;
    browser.sees("fetched page 2 of 7", Duration::from_secs(4)).await;
    assert!(!browser.text().await.contains("It has written nothing yet"));
    let Writing { node, lines, .. } = writing;
    drop(lines);
    browser.sees("Recorded by web-1.", Duration::from_secs(10)).await;
    browser.sees("fetched page 2 of 7", Duration::from_secs(2)).await;
    browser.end().await;
    node.shutdown().await;
}
