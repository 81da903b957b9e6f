//! Holder and watcher of different roles: what the watcher may not see, or may not end, is said once each, with the grant.

use std::time::Duration;

use hourhand_testkit::eventually;

use crate::book::boot_time;
use crate::child::{Body, Child};
use crate::report;
use crate::scene::Scene;

/// A role that may run jobs, and nothing more; returns a URL with it.
async fn role(scene: &Scene, name: &str) -> (String, String) {
    let role = format!("{name}_{}", std::process::id());
    let rights = format!(
        "create role {role} login password 'x'; grant usage on schema hourhand to {role}; \
         grant all on all tables in schema hourhand to {role}; grant all on all sequences in schema hourhand to {role}; \
         grant execute on all functions in schema hourhand to {role}"
    );
    scene.world.eye.batch_execute(&rights).await.unwrap();
    let url = scene.world.database.url();
    let (before, after) = url.split_once('@').unwrap();
    assert!(before.starts_with("postgres://"));
    (format!("postgres://{role}:x@{after}"), role)
}

/// Waits until the watcher has said something, and checks that it has said it once.
async fn said_once(scene: &Scene, what: &str, within: Duration) {
    let log = scene.book.path().with_extension("watcher.log");
    eventually(within, async || {
        let text = std::fs::read_to_string(&log).unwrap();
        match text.matches(what).count() {
            1 => Ok(()),
            times => Err(format!("{times} times {what:?} in {text}")),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_frozen_holder_of_another_role_is_reported_with_the_grant_and_evicted_once_granted() {
    let scene = Scene::new().await;
    let ((holders, holders_role), (watchers, role_of_watcher)) = (role(&scene, "h").await, role(&scene, "w").await);
    let mut holder = Child { url: &holders, node: "holder", body: Body::Endless, book: &scene.book }.start();
    scene.book.until(Duration::from_secs(15), "holder", "began", 1).await;
    let watcher = Child { url: &watchers, node: "watcher", body: Body::Endless, book: &scene.book }.start();
    scene.watched(Duration::from_secs(15)).await;
    said_once(&scene, "this role may not see", Duration::from_secs(5)).await;
    scene.world.eye.batch_execute(&format!("grant pg_read_all_stats to {role_of_watcher}")).await.unwrap();
    holder.freeze();
    said_once(&scene, "this role may not end it", Duration::from_secs(30)).await;
    said_once(&scene, "this role may not see", Duration::ZERO).await;
    assert_eq!(scene.book.of("watcher", "began").len(), 0);
    scene.world.eye.batch_execute(&format!("grant pg_signal_backend to {role_of_watcher}")).await.unwrap();
    let granted = boot_time();
    let taken_over = scene.book.until(Duration::from_secs(30), "watcher", "began", 1).await;
    let fault = "holder of another role frozen: taken over once pg_signal_backend is granted";
    report::within(fault, Duration::from_secs(5), taken_over.at - granted);
    drop((holder, watcher));
    for role in [holders_role, role_of_watcher] {
        scene.world.eye.batch_execute(&format!("drop owned by {role}; drop role {role}")).await.unwrap();
    }
}
