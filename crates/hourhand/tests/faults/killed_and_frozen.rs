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

/// The server goes on with a dead client's statement until it looks at the connection; the job's lock hangs on none of those.
#[tokio::test(flavor = "multi_thread")]
async fn a_holder_killed_while_the_server_works_for_its_body_is_taken_over_as_quickly() {
    let scene = Scene::new().await;
    let (mut holder, _watcher) = holder_and_watcher(&scene, Body::Querying).await;
    let sleeping = "select count(*) from pg_stat_activity where query like '%pg_sleep(30)%' and state = 'active' \
                    and pid <> pg_backend_pid() and datname = current_database()";
    scene.world.until(Duration::from_secs(5), sleeping, 1).await;
    let killed = boot_time();
    holder.signal(Signal::KILL);
    let taken_over = scene.book.until(Duration::from_secs(10), "watcher", "began", 1).await;
    report::within(
        "holder killed -9 while its body's statement runs: its occurrence runs elsewhere",
        Duration::from_secs(2),
        taken_over.at - killed,
    );
    assert!(scene.world.number(sleeping).await >= 1, "the dead client's statement is still under way");
}

/// A process that dies around an instant loses no occurrence and repeats none, whichever statement it dies at.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn killed_at_any_moment_around_an_instant_it_loses_and_repeats_no_occurrence() {
    let scene = Scene::new().await;
    let _steady = scene.start_every("steady", Body::Short, Duration::from_secs(1));
    scene.book.until(Duration::from_secs(15), "steady", "began", 1).await;
    for step in 0..20 {
        let victim = format!("victim-{step}");
        let mut process = scene.start_every(&victim, Body::Short, Duration::from_secs(1));
        let seen = format!(
            "select least(count(*), 1) from pg_stat_activity where application_name like 'hourhand/15 {victim}' \
             and datname = current_database()"
        );
        scene.world.until(Duration::from_secs(15), &seen, 1).await;
        let to_kill =
            format!("select (1000 - extract(milliseconds from clock_timestamp())::bigint % 1000 + {step} * 10)");
        let wait = scene.world.number(&to_kill).await;
        tokio::time::sleep(Duration::from_millis(wait.unsigned_abs())).await;
        process.signal(Signal::KILL);
    }
    let since = "from hourhand.history where job = 'order-sync'";
    let ended = scene.world.number(&format!("select count(*) {since} and outcome = 'succeeded'")).await;
    let enough = format!("select (count(*) >= {ended} + 3)::int::bigint {since} and outcome = 'succeeded'");
    scene.world.until(Duration::from_secs(45), &enough, 1).await;
    // Each second from the first success to the last is one success, or counted in a skip; or it is the one under way.
    let accounts = format!(
        "select extract(epoch from max(scheduled_for) - min(scheduled_for))::bigint + 1 - count(*) \
         - (select coalesce(sum(count), 0)::bigint {since} and outcome = 'skipped') \
         {since} and outcome = 'succeeded'"
    );
    assert_eq!(scene.world.number(&accounts).await, 0, "occurrences that are neither run nor counted, or both");
    let twice = format!(
        "select count(*) from (select scheduled_for {since} and outcome = 'succeeded' group by 1 having count(*) > 1) t"
    );
    assert_eq!(scene.world.number(&twice).await, 0);
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
