//! A sidecar whose database is not there yet.

use hourhand_testkit::{Database, Installation, Server, Shutdown};

use super::service::{Answer, Service};
use super::up;

#[tokio::test]
async fn it_starts_says_so_once_and_runs_when_the_database_is_back() {
    let service = Service::that(Answer::Status(200, String::new())).await;
    let mut server = Server::start(&Installation::for_tests().unwrap()).unwrap();
    let database = Database::create_on(server.url()).await;
    hourhand::migrate(&database.url(), "hourhand").await.unwrap();
    server.stop(Shutdown::Fast).unwrap();

    let home = tempfile::tempdir().unwrap();
    let job = format!("[job.sync]\nschedule = \"every 1s\"\nhttp = {{ url = \"{}\" }}\n", service.url);
    std::fs::write(home.path().join("hourhand.toml"), format!("database_url = {:?}\n{job}", database.url())).unwrap();
    let up = up(&home, &[]);
    up.says("up jobs=1", 1).await;
    assert!(up.answers("/healthz", 503).await.contains("the database can't be had"));
    assert_eq!(up.get("/livez").await.0, 200);
    server.start_again().unwrap();
    service.call(1).await;
    up.answers("/healthz", 200).await;
    let log = up.log();
    assert_eq!(log.matches("can't be had").count(), 1, "{log}");
    assert_eq!(log.matches("the scheduler's database answers").count(), 1, "{log}");
}

/// A sidecar on a database without the schema.
async fn unmigrated(more: &[&str]) -> (Database, Service, super::Up, tempfile::TempDir) {
    let service = Service::that(Answer::Status(200, String::new())).await;
    let (database, home) = (Database::create().await, tempfile::tempdir().unwrap());
    let job = format!("[job.sync]\nschedule = \"every 1s\"\nhttp = {{ url = \"{}\" }}\n", service.url);
    std::fs::write(home.path().join("hourhand.toml"), format!("database_url = {:?}\n{job}", database.url())).unwrap();
    let up = up(&home, more);
    (database, service, up, home)
}

#[tokio::test]
async fn a_schema_that_is_missing_is_said_with_the_remedy_and_waited_for() {
    let (database, service, up, _home) = unmigrated(&[]).await;
    up.says("make the schema: `hourhand migrate`", 1).await;
    up.answers("/healthz", 503).await;
    hourhand::migrate(&database.url(), "hourhand").await.unwrap();
    service.call(1).await;
    assert_eq!(up.log().matches("make the schema").count(), 1, "{}", up.log());
}

#[tokio::test]
async fn a_schema_that_is_missing_is_made_if_it_may_be() {
    let (_database, service, up, _home) = unmigrated(&["--migrate"]).await;
    service.call(1).await;
    assert!(!up.log().contains("WARN"), "{}", up.log());
}
