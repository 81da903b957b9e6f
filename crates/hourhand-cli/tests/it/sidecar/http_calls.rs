//! A job that is a call: what the service is told, and what its answers mean.

use std::time::Duration;

use hourhand_testkit::{Signal, eventually};

use super::service::{Answer, Service};
use super::{SOON, World};

fn job(url: &str, more: &str) -> String {
    format!("[job.sync]\nschedule = \"every 1s\"\nhttp = {{ url = \"{url}/internal/sync?all=1\"{more} }}\n")
}

fn answers(status: u16, body: &str) -> Answer {
    Answer::Status(status, body.to_owned())
}

#[tokio::test]
async fn a_service_is_told_the_facts_of_the_run_and_its_answer_is_the_output() {
    let (world, service) = (World::new().await, Service::that(answers(200, "42 orders\n")).await);
    let more = ", body = \"please\", headers = { authorization = \"Bearer t0ken\" }";
    world.configure(&job(&service.url, more));
    let up = world.up();
    let call = service.call(1).await;
    assert_eq!((call.method.as_str(), call.uri.to_string().as_str()), ("POST", "/internal/sync?all=1"));
    assert_eq!((call.header("authorization"), call.body.as_str()), ("Bearer t0ken", "please"));
    assert_eq!((call.header("hourhand-job"), call.header("hourhand-trigger")), ("sync", "schedule"));
    assert_eq!(call.header("hourhand-attempt"), "1");
    let (outcome, _, output) = world.first_end("sync").await;
    assert_eq!((outcome.as_str(), output.as_str()), ("succeeded", "42 orders\n"));
    let epoch: i64 = call.header("hourhand-epoch").parse().unwrap();
    let facts = "select count(*) from hourhand.history where epoch = {epoch} and scheduled_for = '{for}' \
                 and window_from = '{from}' and window_until = '{until}'";
    let facts = facts
        .replace("{epoch}", &epoch.to_string())
        .replace("{for}", call.header("hourhand-scheduled-for"))
        .replace("{from}", call.header("hourhand-window-from"))
        .replace("{until}", call.header("hourhand-window-until"));
    assert_eq!(world.number(&facts).await, 1, "{facts}");
    assert!(!up.log().contains("t0ken"), "{}", up.log());
}

#[tokio::test]
async fn an_answer_of_500_is_a_failure_with_its_reason() {
    let (world, service) = (World::new().await, Service::that(answers(500, "no such table\nmore\n")).await);
    world.configure(&job(&service.url, ""));
    let _up = world.up();
    let (outcome, error, output) = world.first_end("sync").await;
    let wanted = format!("POST {}: answered 500 Internal Server Error: no such table", service.url);
    assert_eq!((outcome.as_str(), error, output.as_str()), ("failed", wanted, "no such table\nmore\n"));
}

#[tokio::test]
async fn a_busy_service_is_called_again_when_it_asks_to_be_and_is_no_error() {
    let world = World::new().await;
    let service = Service::that(Answer::RetryAfter(503, "2".to_owned())).await;
    let job = job(&service.url, "").replace("every 1s", "every 1h from {anchor}");
    // Due in a moment, and not again: what comes second is the retry, whose own backoff would be an hour.
    let anchor = jiff::Timestamp::now() + Duration::from_secs(3);
    let job = job.replace("{anchor}", &anchor.to_string());
    world.configure(&format!("{job}retry = {{ attempts = 2, backoff = \"1h\" }}\n"));
    let up = world.up();
    service.call(1).await;
    let first = std::time::Instant::now();
    let second = service.call(2).await;
    assert!(first.elapsed() >= Duration::from_millis(1_500), "{:?}", first.elapsed());
    assert_eq!((second.header("hourhand-attempt"), second.header("hourhand-trigger")), ("2", "retry"));
    assert!(up.log().contains("WARN") && !up.log().contains("ERROR"), "{}", up.log());
}

#[tokio::test]
async fn a_service_that_is_not_there_is_an_outage_to_be_expected() {
    let world = World::new().await;
    world.configure(&job("http://127.0.0.1:1", ""));
    let up = world.up();
    let (outcome, error, _) = world.first_end("sync").await;
    assert_eq!(outcome, "failed");
    assert!(error.starts_with("POST http://127.0.0.1:1: could not connect"), "{error}");
    assert!(!up.log().contains("ERROR"), "{}", up.log());
}

#[tokio::test]
async fn a_call_that_hangs_is_broken_off_by_the_jobs_timeout() {
    let (world, service) = (World::new().await, Service::that(Answer::Never).await);
    world.configure(&format!("{}timeout = \"1s\"\n", job(&service.url, "")));
    let _up = world.up();
    let (outcome, ..) = world.first_end("sync").await;
    assert_eq!(outcome, "timed_out");
    eventually(SOON, async || if service.broken_off() > 0 { Ok(()) } else { Err("the call goes on") }).await;
}

#[tokio::test]
async fn a_cancelled_run_breaks_its_call_off() {
    let (world, service) = (World::new().await, Service::that(Answer::Never).await);
    world.configure(&job(&service.url, ""));
    let mut up = world.up();
    service.call(1).await;
    let operator = hourhand::Operator::builder(world.database.url()).connect().await.unwrap();
    assert!(operator.cancel("sync", None).await.unwrap().told.is_some());
    let (outcome, ..) = world.first_end("sync").await;
    assert_eq!(outcome, "cancelled");
    eventually(SOON, async || if service.broken_off() > 0 { Ok(()) } else { Err("the call goes on") }).await;
    up.process.signal(Signal::TERM);
}
