//! What the file wants told of a job's ends, and that a hook never hurts.

use hourhand_testkit::eventually;
use serde_json::Value;

use super::service::{Answer, Call, Service};
use super::{SOON, World};

fn event(call: &Call) -> Value {
    assert_eq!(call.header("content-type"), "application/json");
    serde_json::from_str(&call.body).unwrap()
}

#[tokio::test]
async fn urls_are_told_of_failure_recovery_and_success() {
    let (world, service) = (World::new().await, Service::that(Answer::FailsOnce("/sync")).await);
    let url = &service.url;
    world.configure(&format!(
        "[job.sync]\nschedule = \"every 1s\"\nhttp = {{ url = \"{url}/sync\" }}\n\
         on_failure = {{ url = \"{url}/failed\" }}\non_recovery = {{ url = \"{url}/recovered\" }}\n\
         on_success = {{ url = \"{url}/succeeded\", body = \"fine\" }}\n"
    ));
    let _up = world.up();
    let failed = service.call_of("/failed").await;
    let told = event(&failed);
    assert_eq!((&told["job"], &told["event"], &told["outcome"]), (&"sync".into(), &"failure".into(), &"failed".into()));
    assert!(told["error"].as_str().unwrap().contains("500") && told["failures"] == 1, "{told}");
    assert_eq!(failed.header("hourhand-epoch"), told["epoch"].to_string());
    let told = event(&service.call_of("/recovered").await);
    assert_eq!((&told["event"], &told["outcome"]), (&"recovery".into(), &"succeeded".into()));
    let succeeded = service.call_of("/succeeded").await;
    assert_eq!((succeeded.body.as_str(), succeeded.header("hourhand-event")), ("fine", "success"));
    let paths: Vec<String> = service.calls().iter().map(|call| call.uri.path().to_owned()).collect();
    assert_eq!(paths.iter().filter(|path| *path == "/failed").count(), 1, "{paths:?}");
}

#[tokio::test]
async fn a_command_is_told_by_its_environment() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(500, String::new())).await);
    let words = "echo told of $HOURHAND_EVENT of $HOURHAND_JOB for $WHOM: $HOURHAND_ERROR";
    world.configure(&format!(
        "[job.sync]\nschedule = \"every 1s\"\nhttp = {{ url = \"{}\" }}\n\
         on_failure = {{ command = [\"sh\", \"-c\", \"{words}\"], env = {{ WHOM = \"us\" }} }}\n",
        service.url
    ));
    let up = world.up();
    let wanted = format!("told of failure of sync for us: POST {}: answered 500 Internal Server Error", service.url);
    up.says(&wanted, 1).await;
}

#[tokio::test]
async fn a_hook_that_fails_or_hangs_is_said_and_leaves_nothing_behind_and_runs_go_on() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(200, String::new())).await);
    let pid = world.home.path().join("pid");
    world.configure(&format!(
        "[job.sync]\nschedule = \"every 1s\"\nhttp = {{ url = \"{url}/sync\" }}\n\
         on_success = {{ command = [\"false\"] }}\n\
         [job.other]\nschedule = \"every 1s\"\nhttp = {{ url = \"{url}/other\" }}\n\
         on_success = {{ command = [\"sh\", \"-c\", \"(sleep 3600 & echo $! >> {pid}; wait)\"] }}\n",
        url = service.url,
        pid = pid.display(),
    ));
    let up = world.up();
    up.says("the hook failed: false: exit status 1", 2).await;
    up.says("took longer than 10s", 1).await;
    let first: i32 = std::fs::read_to_string(&pid).unwrap().lines().next().unwrap().parse().unwrap();
    eventually(SOON, async || {
        // A zombie of somebody else's is none of ours either.
        let state = std::fs::read_to_string(format!("/proc/{first}/stat")).unwrap_or_default();
        if state.is_empty() || state.contains(") Z") { Ok(()) } else { Err(state) }
    })
    .await;
    let runs = "select count(*) from hourhand.history where outcome = 'succeeded'";
    world.until(runs, 10).await;
}

#[tokio::test]
async fn a_hooks_command_and_what_it_started_end_with_a_sidecar_that_is_killed() {
    let world = World::new().await;
    let pids = world.home.path().join("pids");
    // Two that do not end by SIGTERM, the second in a session of its own.
    let deaf = |id: &str| format!("trap : TERM; echo {id} >> {}; while :; do sleep 1; done", pids.display());
    let script = world.home.path().join("family");
    std::fs::write(&script, format!("setsid sh -c '{}' & {}", deaf("$$"), deaf("$$"))).unwrap();
    world.configure(&format!(
        "[job.sync]\nschedule = \"every 1s\"\ncommand = [\"true\"]\non_success = {{ command = [\"sh\", {script:?}] }}\n"
    ));
    let mut up = world.up();
    let started = eventually(SOON, async || {
        let text = std::fs::read_to_string(&pids).unwrap_or_default();
        let pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if pids.len() >= 2 { Ok(pids) } else { Err(text) }
    })
    .await;
    up.process.signal(hourhand_testkit::Signal::KILL);
    tokio::task::spawn_blocking(move || crate::scene::gone(&started, std::time::Duration::from_secs(5))).await.unwrap();
}

#[tokio::test]
async fn a_url_is_told_of_an_occurrence_that_waits_too_long() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(200, String::new())).await);
    let url = &service.url;
    world.configure(&format!(
        "[job.sync]\nschedule = \"every 1h\"\nhttp = {{ url = \"{url}/sync\" }}\non_late = {{ url = \"{url}/late\" }}\n"
    ));
    let mut up = world.up();
    up.answers("/healthz", 200).await;
    up.process.stop(hourhand_testkit::Signal::TERM, SOON).unwrap();
    world.become_overdue("sync").await;
    let _up = world.up();
    let told = event(&service.call_of("/late").await);
    assert_eq!((&told["event"], &told["epoch"]), (&"late".into(), &Value::Null));
    assert!(told["scheduled_for"].is_string(), "{told}");
}
