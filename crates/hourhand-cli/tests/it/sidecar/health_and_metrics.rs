//! What the sidecar says of itself over HTTP.

use super::World;
use super::service::{Answer, Service};

#[tokio::test]
async fn health_turns_bad_while_a_job_is_overdue_and_good_when_it_has_run() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(200, String::new())).await);
    world.configure(&format!("[job.sync]\nschedule = \"every 1h\"\nhttp = {{ url = \"{}\" }}\n", service.url));
    let up = world.up();
    assert_eq!(up.answers("/healthz", 200).await, "{\"ok\":true,\"problems\":[]}\n");
    assert_eq!(up.get("/nothing").await.0, 404);
}

#[tokio::test]
async fn runs_are_counted_by_their_outcome() {
    let (world, service) = (World::new().await, Service::that(Answer::Status(500, String::new())).await);
    world.configure(&format!("[job.sync]\nschedule = \"every 1s\"\nhttp = {{ url = \"{}\" }}\n", service.url));
    let up = world.up();
    world.first_end("sync").await;
    hourhand_testkit::eventually(super::SOON, async || {
        let (_, text) = up.get("/metrics").await;
        let counted = text.contains("hourhand_runs_total{job=\"sync\",outcome=\"failed\"} ")
            && text.contains("hourhand_run_duration_seconds_count{job=\"sync\"}")
            && text.contains("hourhand_run_lateness_seconds_count{job=\"sync\"}")
            && text.contains("hourhand_session_up 1");
        if counted { Ok(()) } else { Err(text) }
    })
    .await;
}
