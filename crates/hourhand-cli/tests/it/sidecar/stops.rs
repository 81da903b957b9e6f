//! What a sidecar does when it is told to stop.

use std::time::{Duration, Instant};

use hourhand_testkit::Signal;

use super::service::{Answer, Service};
use super::{SOON, World};

fn slow_command(seconds: u32) -> String {
    format!(
        "[job.slow]\nschedule = \"every 1s\"\ncommand = [\"sh\", \"-c\", \"echo begun; sleep {seconds}; echo done\"]\n"
    )
}

#[tokio::test]
async fn a_run_under_way_may_finish_within_the_grace() {
    let world = World::new().await;
    world.configure(&slow_command(3));
    let mut up = world.up();
    up.says("begun", 1).await;
    up.process.signal(Signal::TERM);
    assert_eq!(up.ended(SOON), Some(0), "{}", up.log());
    let (outcome, _, output) = world.first_end("slow").await;
    assert_eq!((outcome.as_str(), output.as_str()), ("succeeded", "begun\ndone\n"));
    assert_eq!(world.number("select count(*) from hourhand.history where outcome <> 'skipped'").await, 1);
}

#[tokio::test]
async fn a_run_that_does_not_finish_is_told_to_stop_within_the_grace_and_is_due_at_once_elsewhere() {
    let world = World::new().await;
    world.configure(&format!("shutdown_grace = \"5s\"\n{}stop_grace = \"1s\"\n", slow_command(3600)));
    let mut up = world.up();
    up.says("begun", 1).await;
    let told = Instant::now();
    up.process.signal(Signal::TERM);
    assert_eq!(up.ended(SOON), Some(0), "{}", up.log());
    assert!(told.elapsed() < Duration::from_secs(7), "{:?}", told.elapsed());
    assert_eq!(world.first_end("slow").await.0, "cancelled");
    let _successor = world.up();
    let again = "select count(*) from hourhand.job where ended_epoch < epoch";
    world.until(again, 1).await;
}

#[tokio::test]
async fn a_second_signal_stops_at_once() {
    let (world, service) = (World::new().await, Service::that(Answer::Never).await);
    let job = format!("[job.sync]\nschedule = \"every 1s\"\nhttp = {{ url = \"{}\" }}\n", service.url);
    world.configure(&format!("shutdown_grace = \"60s\"\n{job}"));
    let mut up = world.up();
    service.call(1).await;
    up.process.signal(Signal::TERM);
    up.says("once more stops at once", 1).await;
    assert!(up.answers("/healthz", 503).await.contains("shuts down"));
    // What comes within a second is the same wish.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let told = Instant::now();
    up.process.signal(Signal::INT);
    assert_eq!(up.ended(SOON), Some(128 + 2), "{}", up.log());
    assert!(told.elapsed() < Duration::from_secs(3), "{:?}", told.elapsed());
}

#[tokio::test]
async fn what_is_said_can_be_one_json_object_a_line() {
    let world = World::new().await;
    world.configure("[job.sync]\nschedule = \"@yearly\"\ncommand = [\"true\"]\n");
    let mut up = super::up(&world.home, &["--log-format", "json"]);
    up.says("\"message\":\"up\"", 1).await;
    up.process.signal(Signal::TERM);
    assert_eq!(up.ended(SOON), Some(0), "{}", up.log());
    for line in up.log().lines() {
        let said: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(said["message"].is_string() && said["level"].is_string(), "{line}");
    }
}

#[tokio::test]
async fn a_signal_that_comes_twice_at_once_is_one() {
    let world = World::new().await;
    world.configure(&slow_command(3));
    let mut up = world.up();
    up.says("begun", 1).await;
    // As `timeout` sends it: to the process, and to its group.
    up.process.signal(Signal::TERM);
    up.says("once more stops at once", 1).await;
    up.process.signal(Signal::TERM);
    assert_eq!(up.ended(SOON), Some(0), "{}", up.log());
    assert_eq!(world.first_end("slow").await.0, "succeeded");
}
