//! The holder of an exclusive group is frozen: another job of the group, on a node that does not have the holder's, runs within the
//! bound, and nothing that the frozen one does once it is woken is written beside it.

use std::time::Duration;

use crate::book::boot_time;
use crate::child::Body;
use crate::report;
use crate::scene::Scene;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_frozen_holder_of_a_group_is_evicted_for_another_job_and_its_late_write_is_refused() {
    let scene = Scene::unregistered().await;
    let mut holder = scene.start_in_a_group("holder", "first", Body::Writing);
    scene.book.until(Duration::from_secs(20), "holder", "committed", 1).await;
    let _watcher = scene.start_in_a_group("watcher", "second", Body::Writing);
    scene.watched(Duration::from_secs(15)).await;
    let frozen = boot_time();
    holder.freeze();
    let taken_over = scene.book.until(Duration::from_secs(60), "watcher", "began", 1).await;
    let fault = "holder of an exclusive group frozen: another job of the group runs";
    report::within(fault, Duration::from_secs(25), taken_over.at - frozen);
    let lost = "select count(*) from hourhand.history where job = 'first' and outcome = 'lost' and not end_seen";
    assert_eq!(scene.world.number(lost).await, 1, "the frozen run is over before the next of the group begins");
    scene.book.until(Duration::from_secs(5), "watcher", "committed", 1).await;
    holder.thaw();
    scene.book.until(Duration::from_secs(10), "holder", "refused", 1).await;
    let ended = scene.book.until(Duration::from_secs(10), "holder", "ended", 1).await;
    // The other job's body is endless: no run of the first begins beside it, and no row of its lost one is written.
    assert_eq!(scene.book.of("holder", "began").len(), 1, "two of the group at once");
    assert!(ended.at > taken_over.at);
    scene.no_late_effect().await;
    report::measured("holder of an exclusive group frozen, then woken: its fenced write", "0 committed", "0 committed");
}

/// A lost run of the group whose fenced transaction is still open: the next of the group waits for that to end, one way or another.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_holder_of_a_group_that_is_killed_inside_its_fenced_transaction_lets_the_next_run() {
    let scene = Scene::unregistered().await;
    let mut holder = scene.start_in_a_group("holder", "first", Body::Fencing);
    scene.book.until(Duration::from_secs(20), "holder", "fenced", 1).await;
    let _watcher = scene.start_in_a_group("watcher", "second", Body::Endless);
    scene.watched(Duration::from_secs(15)).await;
    let killed = boot_time();
    holder.signal(hourhand_testkit::Signal::KILL);
    let taken_over = scene.book.until(Duration::from_secs(20), "watcher", "began", 1).await;
    let fault = "holder of an exclusive group killed inside its fenced transaction: another job of the group runs";
    report::within(fault, Duration::from_secs(3), taken_over.at - killed);
    assert_eq!(scene.world.number("select count(*) from effect").await, 0);
}

/// Frozen inside its fenced transaction, with nobody but the other job's node to see it: that one ends both of its sessions.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_holder_of_a_group_frozen_inside_its_fenced_transaction_does_not_keep_the_group() {
    let scene = Scene::unregistered().await;
    let mut holder = scene.start_in_a_group("holder", "first", Body::Fencing);
    scene.book.until(Duration::from_secs(20), "holder", "fenced", 1).await;
    let _watcher = scene.start_in_a_group("watcher", "second", Body::Endless);
    scene.watched(Duration::from_secs(15)).await;
    let frozen = boot_time();
    holder.freeze();
    let taken_over = scene.book.until(Duration::from_secs(60), "watcher", "began", 1).await;
    let fault = "holder of an exclusive group frozen inside its fenced transaction: another job of the group runs";
    report::within(fault, Duration::from_secs(30), taken_over.at - frozen);
    holder.thaw();
    scene.book.until(Duration::from_secs(10), "holder", "refused", 1).await;
    assert_eq!(scene.world.number("select count(*) from effect").await, 0);
}
