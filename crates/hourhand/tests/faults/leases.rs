//! A holder of a lease is killed or frozen: the lease is waited out, and what the frozen one writes once it is woken is refused.

use std::time::Duration;

use hourhand_testkit::{Leashed, Signal};

use crate::book::boot_time;
use crate::child::Body;
use crate::report;
use crate::scene::Scene;

/// The holder at work, and another that comes later.
async fn holder_and_other(scene: &Scene, body: Body) -> (Leashed, Leashed) {
    let holder = scene.start_leased("holder", body);
    scene.book.until(Duration::from_secs(15), "holder", "began", 1).await;
    let other = scene.start_leased("other", body);
    (holder, other)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_killed_holder_of_a_lease_is_waited_out() {
    let scene = Scene::new().await;
    let (mut holder, _other) = holder_and_other(&scene, Body::Endless).await;
    let killed = boot_time();
    holder.signal(Signal::KILL);
    let taken_over = scene.book.until(Duration::from_secs(60), "other", "began", 1).await;
    let fault = "holder of a lease killed -9: waited out and taken over";
    report::within(fault, Duration::from_secs(25), taken_over.at - killed);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_frozen_holder_of_a_lease_is_waited_out_and_its_late_write_refused() {
    let scene = Scene::new().await;
    let (mut holder, _other) = holder_and_other(&scene, Body::Writing).await;
    scene.book.until(Duration::from_secs(5), "holder", "committed", 1).await;
    let frozen = boot_time();
    holder.freeze();
    let taken_over = scene.book.until(Duration::from_secs(60), "other", "began", 1).await;
    let fault = "holder of a lease frozen: waited out and taken over";
    report::within(fault, Duration::from_secs(25), taken_over.at - frozen);
    scene.book.until(Duration::from_secs(5), "other", "committed", 1).await;
    holder.thaw();
    scene.book.until(Duration::from_secs(10), "holder", "refused", 1).await;
    scene.book.until(Duration::from_secs(10), "holder", "ended", 1).await;
    scene.no_late_effect().await;
    let outcomes = "select string_agg(outcome, ' ' order by id) from hourhand.history";
    assert_eq!(scene.world.text(outcomes).await.as_deref(), Some("lost"));
    report::measured("holder of a lease frozen, then woken: its fenced write", "0 committed", "0 committed");
}
