//! What the sidecar says of itself over HTTP.

use hourhand_testkit::eventually;

use super::service::{Answer, Service};
use super::{SOON, World};

#[tokio::test]
async fn health_turns_bad_while_a_job_is_overdue_and_good_when_it_has_run() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(200, String::new())).await);
    world.configure(&format!("[job.sync]\nschedule = \"every 1h\"\nhttp = {{ url = \"{}\" }}\n", service.url));
    let mut up = world.up();
    assert_eq!(up.answers("/healthz", 200).await, "{\"ok\":true,\"problems\":[]}\n");
    assert_eq!(up.get("/nothing").await.0, 404);
    up.process.stop(hourhand_testkit::Signal::TERM, SOON).unwrap();

    world.become_overdue("sync").await;
    let up = world.up();
    eventually(SOON, async || {
        let (status, body) = up.get("/healthz").await;
        let health: serde_json::Value = serde_json::from_str(&body).unwrap();
        let overdue = health["problems"].as_array().unwrap().iter().any(|problem| problem == "job sync: overdue");
        if status == 503 && health["ok"] == false && overdue { Ok(()) } else { Err(format!("{status}: {body}")) }
    })
    .await;
    assert_eq!(up.get("/livez").await.0, 200, "a restart mends none of it");
    world.eye.batch_execute("select pg_advisory_unlock(hourhand.key('sync'))").await.unwrap();
    service.call(1).await;
    up.answers("/healthz", 200).await;
}

#[tokio::test]
async fn runs_are_counted_by_their_outcome() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(500, String::new())).await);
    world.configure(&format!("[job.sync]\nschedule = \"every 1s\"\nhttp = {{ url = \"{}\" }}\n", service.url));
    let up = world.up();
    world.first_end("sync").await;
    eventually(SOON, async || {
        let (_, text) = up.get("/metrics").await;
        let counted = text.contains("hourhand_runs_total{job=\"sync\",outcome=\"failed\"} ")
            && text.contains("hourhand_run_duration_seconds_count{job=\"sync\"}")
            && text.contains("hourhand_run_lateness_seconds_count{job=\"sync\"}")
            && text.contains("hourhand_session_up 1");
        if counted { Ok(()) } else { Err(text) }
    })
    .await;
}

#[tokio::test]
async fn a_backfills_run_is_counted_and_is_not_late() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(200, String::new())).await);
    // Every year: nothing else comes due.
    world.configure(&format!("[job.sync]\nschedule = \"0 0 1 1 *\"\nhttp = {{ url = \"{}\" }}\n", service.url));
    let up = world.up();
    up.answers("/healthz", 200).await;
    let operator = hourhand::Operator::builder(world.database.url()).connect().await.unwrap();
    let (from, until) = ("2020-01-01T00:00:00Z".parse().unwrap(), "2021-01-01T00:00:00Z".parse().unwrap());
    operator.backfill("sync", from, until).await.unwrap();
    eventually(SOON, async || {
        let (_, text) = up.get("/metrics").await;
        let counted = text.contains("hourhand_runs_total{job=\"sync\",outcome=\"succeeded\"} 1");
        if counted { Ok(text) } else { Err(text) }
    })
    .await;
    let (_, text) = up.get("/metrics").await;
    assert!(!text.contains("hourhand_run_lateness_seconds_count"), "{text}");
}
