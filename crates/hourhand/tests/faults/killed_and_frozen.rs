//! A holder's process is killed or frozen: its occurrence goes on elsewhere, and what it does later does no harm.

use std::time::Duration;

use hourhand_testkit::{Leashed, Signal};

use crate::book::boot_time;
use crate::child::Body;
use crate::report;
use crate::scene::{Scene, WATCHES};

/// The holder and the watcher, both processes, in place.
async fn holder_and_watcher(scene: &Scene, body: Body) -> (Leashed, Leashed) {
    let holder = scene.start("holder", body);
    scene.book.until(Duration::from_secs(15), "holder", "began", 1).await;
    let watcher = scene.start("watcher", body);
    scene.watched(Duration::from_secs(15)).await;
    (holder, watcher)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_occurrence_of_a_killed_holder_runs_elsewhere_within_two_seconds() {
    let scene = Scene::new().await;
    let (mut holder, _watcher) = holder_and_watcher(&scene, Body::Endless).await;
    let killed = boot_time();
    holder.signal(Signal::KILL);
    let taken_over = scene.book.until(Duration::from_secs(10), "watcher", "began", 1).await;
    report::within("holder killed -9: its occurrence runs elsewhere", Duration::from_secs(2), taken_over.at - killed);
    let lost = "select count(*) from hourhand.history where outcome = 'lost'";
    scene.world.until(Duration::from_secs(2), lost, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn with_holder_and_watcher_killed_a_third_node_takes_over_within_its_next_look() {
    let scene = Scene::new().await;
    let (mut holder, mut watcher) = holder_and_watcher(&scene, Body::Endless).await;
    let _third = scene.start("third", Body::Endless);
    let sessions = "select count(*) from pg_stat_activity where application_name like 'hourhand/15 third' \
                    and datname = current_database()";
    scene.world.until(Duration::from_secs(15), sessions, 1).await;
    scene.world.until(Duration::from_secs(15), sessions, 0).await;
    let killed = boot_time();
    holder.signal(Signal::KILL);
    watcher.signal(Signal::KILL);
    let taken_over = scene.book.until(Duration::from_secs(60), "third", "began", 1).await;
    report::within(
        "holder and watcher killed -9: a third node runs it",
        Duration::from_secs(42),
        taken_over.at - killed,
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_frozen_holder_is_taken_over_and_once_woken_stops_and_writes_nothing() {
    let scene = Scene::new().await;
    let (mut holder, _watcher) = holder_and_watcher(&scene, Body::Writing).await;
    scene.book.until(Duration::from_secs(5), "holder", "committed", 3).await;
    let frozen = boot_time();
    holder.freeze();
    let taken_over = scene.book.until(Duration::from_secs(60), "watcher", "began", 1).await;
    report::within("holder frozen (SIGSTOP): evicted and taken over", Duration::from_secs(25), taken_over.at - frozen);
    scene.book.until(Duration::from_secs(5), "watcher", "committed", 3).await;
    let before = scene.book.of("holder", "committed").len();
    let woken = boot_time();
    holder.thaw();
    let ended = scene.book.until(Duration::from_secs(10), "holder", "ended", 1).await;
    report::within("holder frozen, then woken: its own body has ended", Duration::from_secs(4), ended.at - woken);
    scene.book.until(Duration::from_secs(1), "holder", "refused", 1).await;
    assert_eq!(scene.book.of("holder", "committed").len(), before, "a superseded run has committed");
    scene.no_late_effect().await;
    let written = scene.book.of("holder", "committed").len() - before;
    report::measured("holder frozen, then woken: its fenced write", "0 committed", format!("{written} committed"));
    scene.book.until(Duration::from_secs(5), "watcher", "committed", 6).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_holder_frozen_inside_its_fenced_transaction_is_taken_over_too() {
    let scene = Scene::new().await;
    let (mut holder, _watcher) = holder_and_watcher(&scene, Body::Fencing).await;
    scene.book.until(Duration::from_secs(5), "holder", "fenced", 1).await;
    let frozen = boot_time();
    holder.freeze();
    let taken_over = scene.book.until(Duration::from_secs(90), "watcher", "began", 1).await;
    let fault = "holder frozen inside its fenced transaction: both its sessions evicted, taken over";
    report::within(fault, Duration::from_secs(30), taken_over.at - frozen);
    scene.book.until(Duration::from_secs(5), "watcher", "fenced", 1).await;
    holder.thaw();
    scene.book.until(Duration::from_secs(10), "holder", "refused", 1).await;
    scene.book.until(Duration::from_secs(10), "holder", "ended", 1).await;
    let written = scene.world.number("select count(*) from effect where node = 'holder'").await;
    let fault = "holder frozen inside its fenced transaction, then woken: its commit";
    report::measured(fault, "0 rows committed", format!("{written} rows committed"));
    assert_eq!(written, 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_frozen_watcher_is_replaced_by_a_node_that_it_kept_out() {
    let scene = Scene::new().await;
    let (mut holder, mut watcher) = holder_and_watcher(&scene, Body::Endless).await;
    let _third = scene.start("third", Body::Endless);
    let by_third =
        format!("{WATCHES} and pid in (select pid from pg_stat_activity where application_name = 'hourhand/15 third')");
    let frozen = boot_time();
    watcher.freeze();
    scene.world.until(Duration::from_secs(120), &by_third, 1).await;
    report::within("watcher frozen: evicted and replaced", Duration::from_secs(60), boot_time() - frozen);
    let killed = boot_time();
    holder.signal(Signal::KILL);
    let taken_over = scene.book.until(Duration::from_secs(10), "third", "began", 1).await;
    report::within(
        "watcher frozen, replaced, then the holder killed -9: taken over",
        Duration::from_secs(2),
        taken_over.at - killed,
    );
}
