//! status, history, pause, resume, cancel: golden JSON, and what people are told.

use serde_json::{Value, json};

use crate::world::{World, golden};

#[tokio::test(flavor = "multi_thread")]
async fn status_tells_of_every_job_what_a_script_may_read() {
    let world = World::new().await;
    assert_eq!(world.json(&["status"]).await, json!([]));
    let node = world.node().await;
    world.run(&node, "order-sync").await;
    node.trigger("listener").await.unwrap();
    world.say(&["pause", "reindex", "--reason", "moved", "--until", "2h"]).await.done();
    let said = golden(world.json(&["status"]).await);
    let paused = said[2]["paused"]["actor"].as_str().unwrap().to_owned();
    let wanted = json!([
        {
            "job": "listener", "schedule": "every 24h", "time_zone": "UTC", "next_at": "TIME", "last_success_at": null,
            "last_outcome": null, "running": {"node": "web-1", "pid": "NUMBER", "since": "TIME", "epoch": "EPOCH"},
            "paused": null, "overdue": false, "orphaned": false,
        },
        {
            "job": "order-sync", "schedule": "0 0 1 1 *", "time_zone": "UTC", "next_at": "TIME", "last_success_at": "TIME",
            "last_outcome": "succeeded", "running": null, "paused": null, "overdue": false, "orphaned": false,
        },
        {
            "job": "reindex", "schedule": "0 0 1 1 *", "time_zone": "UTC", "next_at": "TIME", "last_success_at": null,
            "last_outcome": null, "running": null, "paused": {"until": "TIME", "reason": "moved", "actor": paused},
            "overdue": false, "orphaned": false,
        },
    ]);
    assert_eq!(said, wanted);
    assert_eq!(golden(world.json(&["status", "order-sync"]).await), json!([wanted[1]]));
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_see_who_runs_what_and_what_is_paused() {
    let world = World::new().await;
    let node = world.node().await;
    node.trigger("listener").await.unwrap();
    world.say(&["pause", "reindex", "--reason", "moved"]).await.done();
    let said = world.say(&["status"]).await;
    let line = |job: &str| said.out.lines().find(|line| line.starts_with(job)).unwrap().to_owned();
    assert!(line("listener").contains("running on web-1 for "), "{}", said.out);
    assert!(line("reindex").contains("paused: moved ("), "{}", said.out);
    assert!(line("order-sync").contains("waiting"), "{}", said.out);
    assert!(!said.out.contains('\u{1b}'), "colours where no terminal is: {}", said.out);
    let full = world.say(&["status", "order-sync"]).await.out;
    assert!(full.contains("schedule      0 0 1 1 *: at 00:00 on day 1 of January\n"), "{full}");
    let full = world.say(&["status", "listener"]).await.out;
    assert!(full.starts_with("listener\nstate         running on web-1 for "), "{full}");
    assert!(full.contains("schedule      every 24h\n"), "{full}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_tells_of_every_end_what_a_script_may_read() {
    let world = World::new().await;
    let node = world.node().await;
    world.run(&node, "order-sync").await;
    world.run(&node, "reindex").await;
    node.shutdown().await;
    let said = world.json(&["history"]).await;
    let end = |job: &str, outcome: &str, error: Value| {
        json!({
            "id": "NUMBER", "job": job, "epoch": "EPOCH", "trigger": "manual", "scheduled_for": null,
            "started_at": "TIME", "ended_at": "TIME", "end_seen": true, "outcome": outcome, "reason": null, "count": null, "error": error,
            "attempt": 1, "takeover": 0, "window": {"from": "TIME", "until": "TIME"}, "node": "web-1", "recorded_by": "web-1", "output": null,
        })
    };
    let failed = json!("the index \u{1b}[31mis away\nsecond line");
    assert_eq!(
        golden(said.clone()),
        json!([end("reindex", "failed", failed), end("order-sync", "succeeded", Value::Null)])
    );

    let epoch = said[1]["epoch"].to_string();
    let whole = world.json(&["history", "order-sync", "--epoch", &epoch]).await;
    assert_eq!(whole[0]["output"], json!("7 orders saved\n"));
    assert_eq!(world.json(&["history", "--outcome", "failed"]).await, json!([said[0]]));
    assert_eq!(world.json(&["history", "--limit", "1"]).await, json!([said[0]]));
    assert_eq!(world.json(&["history", "--since", "in 1h"]).await, json!([]));
    assert_eq!(world.json(&["history", "--since", "1h"]).await, said, "an hour ago, not ahead");
    world.say(&["history", "order-sync", "--epoch", "7"]).await.refused(1, "no ended run 7 of job \"order-sync\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_passed_over_has_a_reason_and_a_count_and_no_epoch() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    let skip = "insert into hourhand.history (job, outcome, reason, count, scheduled_for, ended_at) \
                values ('order-sync', 'skipped', 'overlap', 3, now(), now())";
    world.eye.batch_execute(skip).await.unwrap();
    let wanted = json!([{
        "id": "NUMBER", "job": "order-sync", "epoch": null, "trigger": null, "scheduled_for": "TIME", "started_at": null,
        "ended_at": "TIME", "outcome": "skipped", "reason": "overlap", "count": 3, "error": null, "attempt": null,
        "takeover": null, "window": null, "node": null, "recorded_by": null, "end_seen": true, "output": null,
    }]);
    let said = golden(world.json(&["history", "--outcome", "skipped"]).await);
    assert_eq!(said, wanted);
    let told = world.say(&["history"]).await.out;
    assert!(told.contains("skipped ×3") && told.contains("overlap"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_only_exec_has_run_has_a_schedule_in_words() {
    let world = World::new().await;
    world.say(&["exec", "console", "--", "true"]).await.done();
    let told = world.say(&["status"]).await.out;
    assert!(told.lines().nth(1).unwrap().contains("  when asked  "), "{told}");
    assert_eq!(world.json(&["status"]).await[0]["schedule"], json!(""));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_be_typed_is_quoted_for_a_shell() {
    let world = World::new().await;
    world.say(&["exec", "it's due", "--", "true"]).await.done();
    world.say(&["pause", "it's due", "--until", "in 2h"]).await.done();
    let told = world.say(&["trigger", "it's due"]).await;
    assert!(told.out.contains(r"hourhand resume 'it'\''s due' first"), "{told:?}");
    let told = world.say(&["status"]).await.out;
    assert!(told.contains("paused until ") && told.contains(" (in 1 h 59 min) ("), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_job_says_steers_no_terminal() {
    let world = World::new().await;
    let node = world.node().await;
    world.run(&node, "reindex").await;
    node.shutdown().await;
    let list = world.say(&["history"]).await.out;
    assert!(list.contains("the index \\x{1b}[31mis away\n") && !list.contains("second line"), "{list}");
    let epoch = world.json(&["history"]).await[0]["epoch"].to_string();
    let whole = world.say(&["history", "reindex", "--epoch", &epoch]).await.out;
    assert!(whole.ends_with("error\nthe index \\x{1b}[31mis away\nsecond line\noutput\npage 1\n"), "{whole}");
    let raw = world.say(&["history", "--json"]).await.out;
    assert!(!raw.contains('\u{1b}'), "{raw}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pause_resume_and_cancel_answer_and_are_on_record() {
    let world = World::new().await;
    let node = world.node().await;
    assert_eq!(
        golden(world.json(&["pause", "order-sync", "--until", "2h"]).await),
        json!({"job": "order-sync", "until": "TIME", "running_epoch": null})
    );
    assert_eq!(world.json(&["resume", "order-sync"]).await, json!({"job": "order-sync", "resumed": true}));
    assert_eq!(world.json(&["resume", "order-sync"]).await, json!({"job": "order-sync", "resumed": false}));

    let idle = world.say(&["cancel", "listener", "--json"]).await;
    assert_eq!(idle.code, 1, "{idle:?}");
    assert_eq!(
        idle.out,
        "{\"job\":\"listener\",\"answer\":\"not_running\",\"epoch\":null,\"lost_epoch\":null,\"withdrawn\":0}\n"
    );
    node.trigger("listener").await.unwrap();
    let paused = world.say(&["pause", "listener"]).await;
    assert!(paused.out.contains("is paused until somebody resumes it\nits run "), "{paused:?}");
    assert_eq!(world.say(&["cancel", "listener", "--epoch", "7"]).await.code, 1);
    let cancelled = golden(world.json(&["cancel", "listener"]).await);
    assert_eq!(
        cancelled,
        json!({"job": "listener", "answer": "cancelling", "epoch": "EPOCH", "lost_epoch": null, "withdrawn": 0})
    );
    world.until("select count(*) = 1 from hourhand.history where job = 'listener' and outcome = 'cancelled'").await;

    let acts = golden(world.json(&["history", "--audit"]).await);
    let told: Vec<_> = acts.as_array().unwrap().iter().map(|act| (act["action"].clone(), act["job"].clone())).collect();
    let wanted = [("cancel", "listener"), ("pause", "listener"), ("resume", "order-sync"), ("pause", "order-sync")];
    assert_eq!(told, wanted.map(|(action, job)| (json!(action), json!(job))));
    let fields: Vec<&String> = acts[0].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["action", "actor", "at", "detail", "id", "job"]);
    assert!(world.say(&["history", "--audit"]).await.out.contains("cancel"), "{acts}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_not_there_is_1_and_the_near_names_are_said() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    for word in ["status", "history", "pause", "resume", "cancel"] {
        world
            .say(&[word, "ordersync", "--json"])
            .await
            .refused(1, "no job \"ordersync\" in schema hourhand: is \"order-sync\" meant?");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_the_schema_is_2_and_the_way_out_is_said() {
    let database = hourhand_testkit::Database::create().await;
    let said = crate::command::say(&["status", "--json", "--database", &database.url()]);
    said.refused(2, "hourhand migrate");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_says_what_it_took_back_and_of_a_lost_run_that_nobody_is_there_to_be_told() {
    let world = World::new().await;
    world.node().await.shutdown().await;
    let asked =
        "insert into hourhand.request (job, kind, expires_at) values ('listener', 'trigger', now() + interval '1 h')";
    world.eye.batch_execute(asked).await.unwrap();
    let said = world.say(&["cancel", "listener"]).await;
    assert_eq!((said.code, said.out.as_str()), (0, "listener: what was asked for and has not begun is taken back\n"));
    let lost =
        "update hourhand.job set epoch = 7, pid = 1, trigger = 'manual', started_at = now() where name = 'listener'";
    world.eye.batch_execute(lost).await.unwrap();
    world.eye.batch_execute(asked).await.unwrap();
    let said = world.say(&["cancel", "listener"]).await;
    let wanted = "not running: run 7 of listener is lost, its process is gone; its occurrence runs again, if it has one: to prevent that, \
                  hourhand pause listener\nlistener: what was asked for and has not begun is taken back\n";
    assert_eq!((said.code, said.out.as_str()), (0, wanted));
    assert_eq!(world.say(&["cancel", "listener"]).await.code, 1, "there was nothing left to do");
}
