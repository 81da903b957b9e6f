//! window, evict, forget: what a person does when things have gone wrong.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use hourhand_testkit::eventually;
use serde_json::{Value, json};

use crate::command::hourhand;
use crate::world::{World, golden};

/// Takes the lock of a job in a session that is nobody's, as a pool would that it has leaked into.
async fn leak(world: &World, job: &str) -> (tokio_postgres::Client, i32) {
    let client = world.database.connect().await;
    let take = format!("set application_name = 'a pool'; select pg_try_advisory_lock(hourhand.key('{job}'))");
    client.batch_execute(&take).await.unwrap();
    let pid = client.query_typed_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    (client, pid)
}

async fn is_gone(world: &World, pid: i32) {
    world.until(&format!("select not exists (select from pg_stat_activity where pid = {pid})")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_shown_and_moved() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    let shown = golden(world.json(&["window", "order-sync"]).await);
    let wanted =
        json!({"job": "order-sync", "from": "TIME", "covered_until": "TIME", "lookback": 0.0, "running": null});
    assert_eq!(shown, wanted);
    let moved = world.json(&["window", "order-sync", "--from", "2026-11-01T00:00:00Z"]).await;
    assert_eq!(moved["from"], json!("2026-11-01T00:00:00.000000Z"));
    assert_eq!(world.json(&["window", "order-sync"]).await, moved);
    let told = world.say(&["window", "order-sync"]).await.out;
    assert!(told.contains("begins at 2026-11-01T00:00:00.000000Z"), "{told}");
    world.say(&["window", "order-sync", "--from", "later"]).await.refused(2, "--from: \"later\" is not an instant");
    world.say(&["window", "order-sync", "--from", "2099-01-01T00:00:00Z"]).await.refused(2, "is ahead");
}

#[tokio::test(flavor = "multi_thread")]
async fn evict_ends_a_session_that_holds_the_lock_for_nothing() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    assert_eq!(
        world.json(&["evict", "order-sync", "--yes"]).await,
        json!({"job": "order-sync", "answer": "not_held", "holder": null})
    );
    let (_leaked, pid) = leak(&world, "order-sync").await;
    let said = world.json(&["evict", "order-sync", "--yes"]).await;
    assert_eq!(said["answer"], json!("ended"));
    assert_eq!((&said["holder"]["pid"], &said["holder"]["epoch"]), (&json!(pid), &Value::Null));
    let fields: Vec<&String> = said["holder"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["application", "client", "epoch", "pid", "role", "silent_seconds"]);
    let fields: Vec<&String> = said["holder"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["application", "client", "epoch", "pid", "role", "silent_seconds"]);
    is_gone(&world, pid).await;
    assert_eq!(world.json(&["history", "--audit"]).await[0]["action"], json!("evict"));
}

#[tokio::test(flavor = "multi_thread")]
async fn evict_ends_nobody_where_nobody_can_be_asked() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    let (leaked, pid) = leak(&world, "order-sync").await;
    let said = world.say(&["evict", "order-sync"]).await;
    said.refused(2, "say --yes");
    said.refused(2, &format!("session {pid} of a pool"));
    leaked.batch_execute("select 1").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn evict_asks_whoever_sits_at_a_terminal_and_only_yes_is_yes() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    let (leaked, pid) = leak(&world, "order-sync").await;
    assert_eq!(at_a_terminal(&world, "\n").await, (Some(1), true));
    assert_eq!(at_a_terminal(&world, "no\n").await, (Some(1), true));
    leaked.batch_execute("select 1").await.unwrap();
    assert_eq!(at_a_terminal(&world, "y\n").await, (Some(0), true));
    is_gone(&world, pid).await;
}

/// Types an answer to `evict order-sync` at a terminal: the exit status, and whether it had asked.
async fn at_a_terminal(world: &World, answer: &str) -> (Option<i32>, bool) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let seat = std::fs::File::options().read(true).write(true).open(name).unwrap();
    let mut command = hourhand(["evict", "order-sync"]);
    command.env("HOURHAND_DATABASE_URL", world.database.url());
    let mut child = command.stdin(seat).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::fs::File::from(terminal).write_all(answer.as_bytes()).unwrap();
    let status = eventually(Duration::from_secs(10), async || child.try_wait().unwrap().ok_or("it goes on")).await;
    let mut told = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut told).unwrap();
    (status.code(), told.contains("? [y/N]"))
}

#[tokio::test(flavor = "multi_thread")]
async fn forget_keeps_what_somebody_cares_for_and_removes_an_orphan() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    world.say(&["forget", "listener"]).await.refused(1, "listener stays: it is not orphaned");
    let old = "update hourhand.job set handled_until = handled_until - interval '9 days', started_at = null;
        update hourhand.definition set registered_at = registered_at - interval '9 days',
          counts_from = counts_from - interval '9 days'";
    world.eye.batch_execute(old).await.unwrap();
    let status = world.say(&["status"]).await.out;
    assert!(status.contains("listener    orphaned"), "{status}");
    assert_eq!(world.json(&["forget", "listener"]).await, json!({"job": "listener", "forgotten": true}));
    world.say(&["status", "listener"]).await.refused(1, "no job \"listener\"");
}
