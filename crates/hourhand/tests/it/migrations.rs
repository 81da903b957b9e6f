//! The schema: made by replicas at once, by a role with little, never by a scheduler that was not told to.

use std::time::Duration;

use hourhand::Schedule;
use hourhand_testkit::eventually;
use tokio_postgres::{Config, NoTls};

use crate::world::{JOB, Journal, World, yearly};

#[tokio::test(flavor = "multi_thread")]
async fn twenty_four_migrations_at_once_all_succeed_and_leave_one_version() {
    let world = World::unmigrated().await;
    let tasks: Vec<_> = (0..24).map(|_| world.database.url()).collect();
    let tasks = tasks.into_iter().map(|url| tokio::spawn(async move { hourhand::migrate(&url, "hourhand").await }));
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap().unwrap();
    }
    assert_eq!(world.number("select count(*) from hourhand.migration").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_waits_for_another_one_beyond_every_bound_of_its_role() {
    let world = World::unmigrated().await;
    let bounds = format!(
        "alter database {} set statement_timeout = '500ms'; alter database {0} set lock_timeout = '500ms'",
        world.database.name()
    );
    world.eye.batch_execute(&bounds).await.unwrap();
    world.eye.batch_execute("select pg_advisory_lock(2678981607186244039)").await.unwrap();
    let url = world.database.url();
    let migrating = tokio::spawn(async move { hourhand::migrate(&url, "hourhand").await });
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!migrating.is_finished(), "{:?}", migrating.await);
    world.eye.batch_execute("select pg_advisory_unlock(2678981607186244039)").await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), migrating).await.unwrap().unwrap().unwrap();
    assert_eq!(world.number("select count(*) from hourhand.migration").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_changes_no_schema_unless_told_and_runs_as_soon_as_somebody_migrates() {
    let world = World::unmigrated().await;
    let journal = Journal::default();
    let job = journal.job_of("a", Schedule::every(Duration::from_secs(1)), Duration::ZERO);
    let node = world.node("a").job(job).start().await.unwrap();
    let health = node.health().await;
    assert!(health.problems.iter().any(|problem| problem.contains("hourhand migrate")), "{health:?}");
    assert_eq!(world.number("select count(*) from pg_namespace where nspname = 'hourhand'").await, 0);
    hourhand::migrate(&world.database.url(), "hourhand").await.unwrap();
    journal.run(1, Duration::from_secs(10)).await;
    eventually(Duration::from_secs(2), async || {
        let health = node.health().await;
        if health.ok() { Ok(()) } else { Err(format!("{health:?}")) }
    })
    .await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_dropped_under_us_and_made_again_is_registered_anew() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = journal.job_of("a", Schedule::every(Duration::from_secs(1)), Duration::ZERO);
    let node = world.node("a").job(job).start().await.unwrap();
    journal.run(1, Duration::from_secs(5)).await;
    world.eye.batch_execute("drop schema hourhand cascade").await.unwrap();
    eventually(Duration::from_secs(5), async || if node.health().await.ok() { Err("well") } else { Ok(()) }).await;
    hourhand::migrate(&world.database.url(), "hourhand").await.unwrap();
    let before = journal.entries().len();
    journal.run(before + 1, Duration::from_secs(15)).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_owns_the_schema_and_may_not_create_in_the_database_can_migrate_and_run() {
    let world = World::unmigrated().await;
    let role = format!("owner_{}", world.database.name());
    let database = world.database.name();
    let setup = format!(
        "create role {role} login password 'secret-of-the-role'; revoke create on database \"{database}\" from public; \
         create schema hourhand authorization {role}"
    );
    world.eye.batch_execute(&setup).await.unwrap();
    let mut config: Config = world.database.url().parse().unwrap();
    config.user(&role).password("secret-of-the-role");
    let (client, connection) = config.connect(NoTls).await.unwrap();
    let driven = tokio::spawn(connection);
    client.batch_execute("select 1").await.unwrap();
    drop(client);
    driven.await.unwrap().unwrap();
    let url = world.database.url();
    let rest = url.split_once('@').unwrap().1;
    let url = format!("postgres://{role}:secret-of-the-role@{rest}");
    hourhand::migrate(&url, "hourhand").await.unwrap();
    let journal = Journal::default();
    let builder = hourhand::Scheduler::builder(&url).several_in_one_process();
    let node = builder.job(journal.job_of("a", yearly(), Duration::ZERO)).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    journal.run(1, Duration::from_secs(2)).await;
    node.shutdown().await;
    world.eye.batch_execute(&format!("drop owned by {role} cascade; drop role {role}")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_privilege_is_said_clearly_and_changes_nothing() {
    let world = World::unmigrated().await;
    let role = format!("poor_{}", world.database.name());
    let database = world.database.name();
    let setup = format!(
        "create role {role} login password 'secret-of-the-role'; revoke create on database \"{database}\" from public"
    );
    world.eye.batch_execute(&setup).await.unwrap();
    let url = world.database.url();
    let url = format!("postgres://{role}:secret-of-the-role@{}", url.split_once('@').unwrap().1);
    let error = hourhand::migrate(&url, "hourhand").await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains("permission denied") && !text.contains("secret-of-the-role"), "{text}");
    assert_eq!(world.number("select count(*) from pg_namespace where nspname = 'hourhand'").await, 0);
    world.eye.batch_execute(&format!("drop role {role}")).await.unwrap();
}
