//! locks: every advisory lock of the database, as a script and as a person sees it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::command::{hourhand, run};
use crate::world::{World, golden};

#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_told_key_name_holder_and_verdict_of_every_lock() {
    let world = World::new().await;
    assert_eq!(world.json(&["locks"]).await, json!([]));
    let node = world.node().await;
    node.trigger("listener").await.unwrap();
    let stranger = world.database.connect().await;
    let take = "set application_name = 'shop'; select pg_try_advisory_lock(72707369); select 1";
    stranger.batch_execute(take).await.unwrap();
    let said = world.json(&["locks"]).await;
    let find = |name: &str| said.as_array().unwrap().iter().find(|lock| lock["name"] == json!(name)).unwrap().clone();

    let ours = find("listener");
    let key = world.json(&["key", "listener"]).await;
    for field in ["key", "classid", "objid"] {
        assert_eq!(ours[field], key[0][field]);
    }
    assert_eq!((&ours["granted"], &ours["ours"], &ours["mode"]), (&json!(true), &json!(true), &json!("ExclusiveLock")));
    assert!(ours["application"].as_str().unwrap().starts_with("hourhand/15 web-1"), "{ours}");
    assert!(ours["verdict"].as_str().unwrap().contains("is under way on web-1"), "{ours}");

    let theirs = golden(find("Prisma Migrate"));
    let (idle, client) = (theirs["idle_seconds"].as_f64().unwrap(), theirs["client"].clone());
    assert!((0.0..60.0).contains(&idle), "{theirs}");
    let wanted = json!({
        "key": 72707369, "classid": 0, "objid": 72707369, "objsubid": 1,
        "name": "Prisma Migrate", "ours": false, "mode": "ExclusiveLock", "granted": true, "pid": "NUMBER",
        "application": "shop", "role": theirs["role"], "client": client, "state": "idle", "idle_seconds": idle,
        "query": take, "verdict": "held by an open session",
    });
    assert_eq!(theirs, wanted);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guess_names_a_lock_and_a_hostile_application_steers_no_terminal() {
    let world = World::new().await;
    let stranger = world.database.connect().await;
    let take = "set application_name = E'x\\u202ey'; select pg_try_advisory_lock(hashtext('nightly-report'))";
    stranger.batch_execute(take).await.unwrap();
    let told = world.say(&["locks", "--name", "cleanup", "--name", "nightly-report"]).await.out;
    assert!(told.contains("nightly-report (hashtext)") && !told.contains('\u{202e}'), "{told}");
    let guessed = world.json(&["locks", "--name", "nightly-report"]).await;
    assert_eq!(guessed[0]["name"], json!("nightly-report (hashtext)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_needs_no_schema() {
    let database = hourhand_testkit::Database::create().await;
    let stranger = database.connect().await;
    stranger.batch_execute("select pg_try_advisory_lock(1)").await.unwrap();
    let said = run(hourhand(["locks", "--json"]).env("DATABASE_URL", database.url())).json();
    assert_eq!((&said[0]["key"], &said[0]["name"]), (&json!(1), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn watching_says_a_line_of_json_whenever_something_has_changed() {
    let world = World::new().await;
    let mut command = hourhand(["locks", "--watch", "--every", "100ms", "--json"]);
    command.env("HOURHAND_DATABASE_URL", world.database.url());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let mut next = async || -> Value {
        let line = tokio::time::timeout(std::time::Duration::from_secs(10), lines.recv()).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    };
    assert_eq!(next().await, json!([]));
    let stranger = world.database.connect().await;
    stranger.batch_execute("select pg_try_advisory_lock(7)").await.unwrap();
    assert_eq!(next().await[0]["key"], json!(7));
    stranger.batch_execute("select pg_advisory_unlock(7)").await.unwrap();
    assert_eq!(next().await, json!([]));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_whose_reader_has_gone_ends_though_nothing_changes() {
    let world = World::new().await;
    let mut command = hourhand(["locks", "--watch", "--every", "100ms", "--json"]);
    command.env("HOURHAND_DATABASE_URL", world.database.url()).stdout(Stdio::piped());
    let mut watch = command.spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    assert_eq!(first, "[]\n");
    drop(lines);
    let mut status = None;
    crate::scene::wait_until("the watch ends", std::time::Duration::from_secs(10), || {
        status = watch.try_wait().unwrap();
        status.is_some()
    });
    assert!(status.unwrap().success());
}
