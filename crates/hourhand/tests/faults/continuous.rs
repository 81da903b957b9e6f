//! A continuous job's holder is killed or frozen: its body runs elsewhere in the same bounds as an occurrence, and never twice.

use std::time::Duration;

use hourhand_testkit::{Leashed, Signal};

use crate::book::boot_time;
use crate::child::Body;
use crate::report;
use crate::scene::Scene;

/// The holder and the watcher, both processes, in place.
async fn holder_and_watcher(scene: &Scene, body: Body) -> (Leashed, Leashed) {
    let holder = scene.start_continuous("holder", body);
    scene.book.until(Duration::from_secs(20), "holder", "began", 1).await;
    let watcher = scene.start_continuous("watcher", body);
    scene.watched(Duration::from_secs(10)).await;
    (holder, watcher)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_holder_of_a_continuous_job_is_taken_over() {
    let scene = Scene::unregistered().await;
    let (mut holder, _watcher) = holder_and_watcher(&scene, Body::Endless).await;
    let killed = boot_time();
    holder.signal(Signal::KILL);
    let taken_over = scene.book.until(Duration::from_secs(10), "watcher", "began", 1).await;
    let fault = "holder of a continuous job killed -9: taken over";
    report::within(fault, Duration::from_secs(2), taken_over.at - killed);
    let lost = "select count(*) from hourhand.history where outcome = 'lost' and trigger = 'continuous'";
    scene.world.until(Duration::from_secs(5), lost, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_frozen_holder_of_a_continuous_job_is_evicted_and_its_late_write_refused() {
    let scene = Scene::unregistered().await;
    let (mut holder, _watcher) = holder_and_watcher(&scene, Body::Writing).await;
    scene.book.until(Duration::from_secs(5), "holder", "committed", 1).await;
    let frozen = boot_time();
    holder.freeze();
    let taken_over = scene.book.until(Duration::from_secs(60), "watcher", "began", 1).await;
    let fault = "holder of a continuous job frozen: evicted and taken over";
    report::within(fault, Duration::from_secs(30), taken_over.at - frozen);
    scene.book.until(Duration::from_secs(5), "watcher", "committed", 1).await;
    holder.thaw();
    scene.book.until(Duration::from_secs(10), "holder", "refused", 1).await;
    scene.no_late_effect().await;
}
