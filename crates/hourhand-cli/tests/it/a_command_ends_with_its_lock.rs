//! A command and everything it has started end with the lock that they run under, whatever becomes of those who watch over them.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use hourhand_testkit::Signal;
use rustix::process::{Pid, kill_process};

use crate::command::hourhand;
use crate::scene::{DEAF_FAMILY, Scene, Started, gone, lives, wait_until};

const SHORT: [&str; 3] = ["family", "--ttl", "5s"];

/// The guardian of an `exec`: its one child.
fn guardian(exec: Pid) -> Pid {
    let path = format!("/proc/{0}/task/{0}/children", exec.as_raw_nonzero());
    let children = fs::read_to_string(path).unwrap();
    Pid::from_raw(children.split_whitespace().next().expect("a guardian").parse().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_of_exec_ends_the_command_and_a_grandchild_in_a_session_of_its_own_within_2_s() {
    let scene = Scene::new().await;
    let exec = scene.start(&["family"], DEAF_FAMILY);
    let pids = scene.pids();
    assert_eq!(pids.len(), 2, "{pids:?}");
    exec.signal(Signal::KILL);
    let took = gone(&pids, Duration::from_secs(5));
    println!("gone {took:?} after kill -9");
    assert!(took < Duration::from_secs(2), "{took:?}");
    let next = scene.say(&["family", "--wait", "5s"], "echo next");
    assert_eq!(next.out, "next\n", "{next:?}");
    let outcomes = "select string_agg(outcome, ' ' order by id) from hourhand.history";
    assert_eq!(scene.text(outcomes).await, "lost succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_exec_loses_its_command_before_the_server_lets_go_of_the_lock() {
    let scene = Scene::new().await;
    let mut exec = scene.start(&SHORT, DEAF_FAMILY);
    let pids = scene.pids();
    let frozen = Instant::now();
    exec.signal(Signal::STOP);
    gone(&pids, Duration::from_secs(10));
    let took = frozen.elapsed();
    println!("gone {took:?} after SIGSTOP");
    assert!(took < Duration::from_secs(5), "ttl is 5 s: {took:?}");
    exec.signal(Signal::CONT);
    assert_eq!(exec.wait(Duration::from_secs(10)).code(), Some(75), "woken, it says what happened");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lock_stops_the_command_within_a_fifth_of_ttl_and_is_75() {
    let scene = Scene::new().await;
    for history in [&[][..], &["--no-history"]] {
        let _ = fs::remove_file(scene.path("ready"));
        let _ = fs::remove_file(scene.path("pids"));
        let mut exec = scene.start(&[&SHORT[..], history].concat(), DEAF_FAMILY);
        let pids = scene.pids();
        let cut = Instant::now();
        let cut_off = "select pg_terminate_backend(pid) from pg_stat_activity \
             where application_name like 'hourhand%' and datname = current_database()";
        scene.eye.batch_execute(cut_off).await.unwrap();
        gone(&pids, Duration::from_secs(5));
        println!("gone {:?} after pg_terminate_backend", cut.elapsed());
        assert!(cut.elapsed() < Duration::from_millis(1500), "{:?}", cut.elapsed());
        assert_eq!(exec.wait(Duration::from_secs(10)).code(), Some(75));
    }
    assert_eq!(scene.text("select string_agg(outcome, ' ') from hourhand.history").await, "lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_of_the_guardian_ends_the_command_and_what_it_has_started() {
    let scene = Scene::new().await;
    let mut exec = scene.start(&["family"], DEAF_FAMILY);
    let pids = scene.pids();
    kill_process(guardian(exec.pid()), Signal::KILL).unwrap();
    let took = gone(&pids, Duration::from_secs(5));
    println!("gone {took:?} after kill -9 of the guardian");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(exec.wait(Duration::from_secs(5)).code(), Some(128 + 9));
    assert!(scene.text("select error from hourhand.history").await.contains("guardian was killed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_of_both_ends_the_command_itself() {
    let scene = Scene::new().await;
    let exec = scene.start(&["family"], "echo $$ > pids; touch ready; trap '' TERM; while :; do sleep 1; done");
    let (guardian, pids) = (guardian(exec.pid()), scene.pids());
    kill_process(guardian, Signal::STOP).unwrap();
    exec.signal(Signal::KILL);
    kill_process(guardian, Signal::KILL).unwrap();
    gone(&pids, Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_guardian_is_killed_when_the_command_is_to_be_stopped() {
    let scene = Scene::new().await;
    let options = ["family", "--timeout", "1s", "--stop-grace", "1s"];
    let mut exec = scene.start(&options, "echo $$ > pids; touch ready; trap '' TERM; while :; do sleep 1; done");
    let pids = scene.pids();
    kill_process(guardian(exec.pid()), Signal::STOP).unwrap();
    assert_eq!(exec.wait(Duration::from_secs(15)).code(), Some(124));
    gone(&pids, Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_leaves_running_is_ended_with_it_and_a_pipe_kept_open_holds_nothing_up() {
    let scene = Scene::new().await;
    let began = Instant::now();
    let said = scene.say(&["leaver"], "setsid sleep 300 & echo $! > pids; sleep 301 & echo $! >> pids; echo left");
    assert_eq!((said.code, said.out.as_str()), (0, "left\n"), "{said:?}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert!(!scene.pids().iter().any(|pid| lives(*pid)));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_is_ended_with_it() {
    let scene = Scene::new().await;
    let mut bystander = std::process::Command::new("sleep").arg("300").spawn().unwrap();
    let exec = scene.start(&["family"], DEAF_FAMILY);
    let pids = scene.pids();
    exec.signal(Signal::KILL);
    gone(&pids, Duration::from_secs(5));
    wait_until("the bystander is looked at", Duration::from_secs(1), || true);
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

/// A sidecar with one command, this family, which it has started.
fn sidecar(scene: &Scene) -> Started {
    let job = format!("schedule = \"* * * * * *\"\ncommand = [\"sh\", \"-c\", {DEAF_FAMILY:?}]\n");
    let file = scene.path("hourhand.toml");
    let dir = scene.path("").display().to_string();
    fs::write(&file, format!("ttl = \"5s\"\n[job.family]\ndir = {dir:?}\n{job}")).unwrap();
    let mut up = hourhand(["up", "-c", file.to_str().unwrap()]);
    let up = up.env("HOURHAND_DATABASE_URL", scene.url()).stdout(Stdio::null()).stderr(Stdio::null());
    let up = Started(up.spawn().unwrap());
    wait_until("the family is there", Duration::from_secs(20), || scene.path("ready").exists());
    up
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_of_a_sidecar_ends_its_commands_families_within_2_s() {
    let scene = Scene::new().await;
    let up = sidecar(&scene);
    let pids = scene.pids();
    assert_eq!(pids.len(), 2, "{pids:?}");
    up.signal(Signal::KILL);
    let took = gone(&pids, Duration::from_secs(5));
    println!("gone {took:?} after kill -9");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_sidecar_loses_its_commands_families_before_the_server_lets_go_of_the_lock() {
    let scene = Scene::new().await;
    let up = sidecar(&scene);
    let pids = scene.pids();
    let frozen = Instant::now();
    up.signal(Signal::STOP);
    gone(&pids, Duration::from_secs(10));
    println!("gone {:?} after SIGSTOP", frozen.elapsed());
    assert!(frozen.elapsed() < Duration::from_secs(5), "ttl is 5 s: {:?}", frozen.elapsed());
    let held = "select count(*)::text from pg_locks where locktype = 'advisory' and database = \
         (select oid from pg_database where datname = current_database()) and objsubid = 1";
    assert_eq!(scene.text(held).await, "1", "the frozen sidecar's session has its lock still");
}
