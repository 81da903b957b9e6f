//! A role's settings that would hurt are overridden, read back, and do no harm.

use std::time::Duration;

use hourhand::{Failure, Job, Run, Schedule};
use hourhand_testkit::eventually;

use crate::world::{JOB, Journal, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_seconds_succeeds_under_a_role_with_every_setting_that_hurts() {
    let world = World::new().await;
    let database = world.database.name();
    let hostile = [
        ("statement_timeout", "150ms"),
        ("lock_timeout", "1ms"),
        ("idle_in_transaction_session_timeout", "50ms"),
        ("idle_session_timeout", "200ms"),
        ("synchronous_commit", "off"),
        ("default_transaction_isolation", "serializable"),
        ("default_transaction_read_only", "on"),
        ("search_path", "pg_temp, public"),
        ("timezone", "Asia/Kolkata"),
        ("datestyle", "German"),
        ("intervalstyle", "sql_standard"),
        ("bytea_output", "escape"),
    ];
    for (name, value) in hostile {
        let value = if name == "search_path" { value.to_owned() } else { format!("'{value}'") };
        world.eye.batch_execute(&format!("alter database \"{database}\" set {name} = {value}")).await.unwrap();
    }
    let journal = Journal::default();
    let node = world.node("a").job(journal.job_of("a", Schedule::cron("0 0 1 1 *"), Duration::from_secs(3)));
    let node = node.start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    journal.run(1, Duration::from_secs(3)).await;
    let settings = "select count(*) from pg_stat_activity where application_name like 'hourhand%a' \
                    and datname = current_database() and state = 'idle'";
    assert_eq!(world.number(settings).await, 1);
    eventually(Duration::from_secs(6), async || match world.outcomes().await.as_slice() {
        [one] if one == "succeeded" => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    node.shutdown().await;
    assert_eq!(journal.entries().len(), 1, "the session was lost on the way");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_columns_of_time_have_a_zone() {
    let world = World::new().await;
    let without = "select count(*) from information_schema.columns where table_schema = 'hourhand' \
                   and data_type = 'timestamp without time zone'";
    assert_eq!(world.number(without).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schedule_and_windows_do_not_depend_on_the_servers_zone() {
    let world = World::new().await;
    let zone = format!("alter database \"{}\" set timezone = 'America/St_Johns'", world.database.name());
    world.eye.batch_execute(&zone).await.unwrap();
    let job = Job::new(JOB, Schedule::cron("30 2 * * *"), async |_run: Run| Ok::<_, Failure>(()));
    let node = world.node("a").job(job).start().await.unwrap();
    let next = node.status().await.unwrap()[0].next_at.unwrap();
    assert_eq!(next.as_second() % 86_400, (2 * 60 + 30) * 60);
    node.shutdown().await;
}
