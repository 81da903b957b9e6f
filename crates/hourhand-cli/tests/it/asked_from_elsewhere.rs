//! trigger, backfill: runs asked for by somebody who has no scheduler.

use serde_json::json;

use crate::world::{World, golden};

#[tokio::test(flavor = "multi_thread")]
async fn a_connected_node_takes_a_trigger_at_once_and_its_end_can_be_waited_for() {
    let world = World::new().await;
    let node = world.resident().await;
    let started = golden(world.json(&["trigger", "listener"]).await);
    assert_eq!(started, json!({"job": "listener", "answer": "started", "epoch": "EPOCH", "node": "web-1"}));
    let again = golden(world.json(&["trigger", "listener"]).await);
    let wanted =
        json!({"job": "listener", "answer": "already_running", "node": "web-1", "since": "TIME", "epoch": "EPOCH"});
    assert_eq!(again, wanted);
    world.say(&["cancel", "listener"]).await.done();

    let waited = golden(world.json(&["trigger", "order-sync", "--wait"]).await);
    let end = json!({"job": "order-sync", "epoch": "EPOCH", "outcome": "succeeded", "error": null, "ended_at": "TIME"});
    let wanted = json!({"job": "order-sync", "answer": "started", "epoch": "EPOCH", "node": "web-1", "end": end});
    assert_eq!(waited, wanted);
    let failed = world.say(&["trigger", "reindex", "--wait"]).await;
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.out.contains("failed: the index \\x{1b}[31mis away\nsecond line"), "{failed:?}");
    assert!(failed.err.contains("reindex: started on web-1"), "{failed:?}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_run_now_says_why() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    world.say(&["pause", "reindex"]).await.done();
    let paused = world.say(&["trigger", "reindex", "--json"]).await;
    assert_eq!((paused.code, paused.out.as_str()), (1, "{\"job\":\"reindex\",\"answer\":\"paused\"}\n"));
    let mut requested = golden(world.json(&["trigger", "listener", "--expires", "10m"]).await);
    requested.as_object_mut().unwrap().remove("request");
    assert_eq!(requested, json!({"job": "listener", "answer": "requested", "by": "TIME", "expires_at": "TIME"}));
    world.say(&["trigger", "ordersync"]).await.refused(1, "is \"order-sync\" meant?");
    world.say(&["trigger", "order-sync", "--expires", "soon"]).await.refused(2, "--expires");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_span_is_run_again() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    let words = ["backfill", "listener", "--from", "2026-11-01T00:00:00Z", "--until", "2026-11-04T00:00:00Z"];
    let mut wanted = json!({
        "job": "listener", "answer": "accepted", "runs": 3,
        "from": "2026-11-01T00:00:00.000000Z", "until": "2026-11-04T00:00:00.000000Z",
    });
    assert_eq!(world.json(&words).await, wanted);
    let again = world.say(&[&words[..], &["--json"]].concat()).await;
    wanted["answer"] = json!("under_way");
    wanted.as_object_mut().unwrap().remove("runs");
    assert_eq!((again.code, serde_json::from_str::<serde_json::Value>(&again.out).unwrap()), (1, wanted));
    world.say(&["backfill", "listener", "--from", "2h", "--until", "1h"]).await.refused(2, "backfill of \"listener\"");
}
