//! Clocks that are wrong or stepped, and processes that stood still: each occurrence once, in time, and no burst afterwards.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hourhand_testkit::{Leashed, Signal};

use crate::book::boot_time;
use crate::child::{Body, Child};
use crate::report;
use crate::scene::Scene;

/// The library that shows a program another time, where Debian's package puts it.
fn library() -> Result<PathBuf, String> {
    let usual = ["x86_64-linux-gnu", "aarch64-linux-gnu"];
    let found = usual.iter().map(|place| Path::new("/usr/lib").join(place).join("faketime/libfaketimeMT.so.1"));
    found.into_iter().find(|path| path.is_file()).ok_or_else(|| "faketime is not installed".to_owned())
}

/// A node that runs a short job every two seconds, with a clock that a file sets (`+5m`).
fn start_with_clock(scene: &Scene, name: &str, clock: &str) -> Result<Leashed, String> {
    let file = scene.book.path().with_extension(format!("{name}.clock"));
    set(&file, clock);
    let library = format!("LD_PRELOAD={}", library()?.display());
    let file = format!("FAKETIME_TIMESTAMP_FILE={}", file.display());
    // Only the wall clock: that is what an operator or NTP steps.
    let words =
        ["env", &library, &file, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1"];
    let url = scene.world.database.url();
    let child = Child { url: &url, node: name, body: Body::Short, book: &scene.book };
    Ok(child.start_under(&words, Duration::from_secs(2)))
}

/// Replaced as a whole, or a reader might find half of it.
fn set(file: &Path, clock: &str) {
    let fresh = file.with_extension("fresh");
    std::fs::write(&fresh, clock).unwrap();
    std::fs::rename(fresh, file).unwrap();
}

fn step(scene: &Scene, name: &str, clock: &str) {
    set(&scene.book.path().with_extension(format!("{name}.clock")), clock);
}

const RUNS: &str = "select count(*) from hourhand.history where outcome = 'succeeded' and trigger = 'schedule'";

/// Waits for so many more runs, and says how late the latest of them began, by the server's clock.
async fn latest_of(scene: &Scene, more: i64) -> Duration {
    let before = scene.world.number(RUNS).await;
    let from = scene.world.text("select max(id)::text from hourhand.history").await.unwrap_or_else(|| "0".to_owned());
    hourhand_testkit::eventually(Duration::from_secs(60), async || {
        let runs = scene.world.number(RUNS).await;
        if runs >= before + more { Ok(()) } else { Err(format!("{} more runs", runs - before)) }
    })
    .await;
    let latest = format!(
        "select (1000 * max(extract(epoch from started_at - scheduled_for)))::bigint from hourhand.history \
         where outcome = 'succeeded' and id > {from} and trigger = 'schedule'"
    );
    Duration::from_millis(scene.world.number(&latest).await.unsigned_abs())
}

/// No occurrence was left out, and none came twice.
async fn each_once(scene: &Scene) {
    let gaps = "select count(*) from (select scheduled_for - lag(scheduled_for) over (order by scheduled_for) as gap \
                from hourhand.history where outcome = 'succeeded') g where gap <> interval '2 s'";
    assert_eq!(scene.world.number(gaps).await, 0, "an occurrence was left out");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_whose_clocks_are_minutes_apart_run_each_occurrence_once_by_the_servers_clock() {
    let fault = "clocks of nodes 7 min ahead, right, 7 min behind: latest start";
    let scene = Scene::unregistered().await;
    let clocks = [("ahead", "+7m"), ("right", "+0"), ("behind", "-7m")];
    let started: Result<Vec<Leashed>, String> =
        clocks.iter().map(|(name, clock)| start_with_clock(&scene, name, clock)).collect();
    let _nodes = match started {
        Ok(nodes) => nodes,
        Err(reason) => return report::skipped(fault, reason),
    };
    let late = latest_of(&scene, 6).await;
    report::within(fault, Duration::from_secs(1), late);
    each_once(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_clock_that_is_stepped_delays_and_repeats_nothing() {
    let scene = Scene::unregistered().await;
    let _node = match start_with_clock(&scene, "a", "+0") {
        Ok(node) => node,
        Err(reason) => return report::skipped("a node's clock stepped", reason),
    };
    latest_of(&scene, 2).await;
    for (what, clock) in [("2 h back", "-2h"), ("2 h ahead of that", "+0"), ("1 day ahead", "+1d")] {
        step(&scene, "a", clock);
        let late = latest_of(&scene, 4).await;
        report::within(&format!("a node's clock stepped {what}: latest start"), Duration::from_secs(3), late);
    }
    each_once(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn a_process_that_stood_still_for_a_minute_catches_up_with_one_run() {
    let fault = "process stopped for 60 s (SIGSTOP), job every 2 s: runs in the 3 s after it is woken";
    let scene = Scene::unregistered().await;
    let url = scene.world.database.url();
    let child = Child { url: &url, node: "a", body: Body::Short, book: &scene.book };
    let mut node = child.start_under(&["env"], Duration::from_secs(2));
    scene.book.until(Duration::from_secs(15), "a", "began", 2).await;
    node.freeze();
    // Not a wait for anything: the fault is that long.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = scene.book.of("a", "began").len();
    let log = node.log().to_owned();
    let lines = || std::fs::read_to_string(&log).unwrap().lines().filter(|line| line.contains("hourhand")).count();
    let said = lines();
    node.thaw();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (runs, said) = (scene.book.of("a", "began").len() - before, lines() - said);
    report::measured(fault, "1 to 3", runs);
    report::measured(
        "process stopped for 60 s (SIGSTOP), job every 2 s: lines logged in the 3 s after it is woken",
        "< 20",
        said,
    );
    let log = std::fs::read_to_string(&log).unwrap();
    assert!((1..=3).contains(&runs) && said < 20, "{runs} runs, {said} lines of\n{log}");
    let skipped = "select coalesce(sum(count), 0)::bigint from hourhand.history where outcome = 'skipped'";
    assert!(scene.world.number(skipped).await >= 25, "what was passed over is not on record");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_told_to_end_stops_its_run_and_another_has_it_at_once() {
    let scene = Scene::new().await;
    let mut holder = scene.start("holder", Body::Endless);
    scene.book.until(Duration::from_secs(15), "holder", "began", 1).await;
    let _watcher = scene.start("watcher", Body::Endless);
    scene.watched(Duration::from_secs(15)).await;
    let told = boot_time();
    holder.signal(Signal::TERM);
    let taken_over = scene.book.until(Duration::from_secs(30), "watcher", "began", 1).await;
    // The body is left alone for as long as the grace (here 2 s) allows it, and is then told.
    report::within("SIGTERM during a run, grace 2 s: it runs elsewhere", Duration::from_secs(4), taken_over.at - told);
    let ended = tokio::task::block_in_place(|| holder.wait(Duration::from_secs(5))).unwrap();
    assert!(ended.is_some_and(|status| status.success()), "the process has not ended: {ended:?}");
    let outcome = scene.world.text("select outcome from hourhand.history where outcome <> 'skipped'").await;
    assert_eq!(outcome.as_deref(), Some("cancelled"));
    assert_eq!(scene.book.most_at_once(), 1);
}
