//! P9: between runs a node holds no connection and sends no statement. P5, P6: nothing waits, nothing stays open.

use std::time::Duration;

use hourhand::{Failure, Job, Schedule, SchedulerBuilder};

use crate::world::{JOB, Journal, World, daily};

const SESSIONS: &str = "select count(*) from pg_stat_activity where application_name like 'hourhand%' \
                        and datname = current_database()";
const LOCKS: &str = "select count(*) from pg_locks where locktype = 'advisory' \
                     and database = (select oid from pg_database where datname = current_database())";

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_nothing_due_soon_holds_no_connection() {
    let world = World::new().await;
    let journal = Journal::default();
    let yearly = Schedule::cron("0 0 1 1 *");
    let node = world.node("a").job(journal.job_of("a", yearly, Duration::ZERO)).start().await.unwrap();
    world.until(Duration::from_secs(2), SESSIONS, 0).await;
    node.trigger(JOB).await.unwrap();
    journal.run(1, Duration::from_secs(1)).await;
    world.until(Duration::from_secs(2), SESSIONS, 0).await;
    // And it stays so: nobody knocks again.
    let knocks = "select coalesce(sum(sessions), 0)::bigint from pg_stat_database where datname = current_database()";
    let before = world.number(knocks).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    world.eye.batch_execute("select pg_stat_clear_snapshot()").await.unwrap();
    assert_eq!(world.number(knocks).await, before, "a connection was opened at rest");
    node.shutdown().await;
}

/// Twenty of once a day, each busy for half a second.
fn twenty_jobs(world: &World, node: &str, journal: &Journal) -> SchedulerBuilder {
    (0..20).fold(world.node(node), |builder, number| {
        let journal = journal.clone();
        builder.job(Job::new(format!("job-{number}"), daily(), move |run| {
            let journal = journal.clone();
            async move {
                let _under_way = journal.begin("a", &run);
                tokio::time::sleep(Duration::from_millis(500)).await;
                Ok::<_, Failure>(())
            }
        }))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_jobs_due_together_cost_one_connection_of_the_schedulers() {
    let world = World::new().await;
    let journal = Journal::default();
    twenty_jobs(&world, "0", &journal).start().await.unwrap().shutdown().await;
    world.until(Duration::from_secs(5), SESSIONS, 0).await;
    world.age("1 day").await;
    let node = twenty_jobs(&world, "a", &journal).start().await.unwrap();
    hourhand_testkit::eventually(Duration::from_secs(20), async || {
        let sessions = world.number(SESSIONS).await;
        assert!(sessions <= 1, "{sessions} sessions for twenty jobs");
        let ended = world.number("select count(*) from hourhand.history where outcome = 'succeeded'").await;
        if ended == 20 { Ok(()) } else { Err(format!("{ended} of 20")) }
    })
    .await;
    assert!(journal.most_at_once() > 1, "they ran one after another, which shows nothing");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resident_node_keeps_one_idle_connection_that_sends_nothing() {
    let world = World::new().await;
    let yearly = Schedule::cron("0 0 1 1 *");
    let job = Journal::default().job_of("a", yearly, Duration::ZERO);
    let node = world.node("a").job(job).resident(true).start().await.unwrap();
    let last_statement = "select (extract(epoch from max(query_start)) * 1000000)::bigint from pg_stat_activity \
                          where application_name like 'hourhand%' and datname = current_database()";
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = world.number(last_statement).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(world.number(last_statement).await, before);
    assert_eq!(world.number(SESSIONS).await, 1);
    node.shutdown().await;
    world.until(Duration::from_secs(1), SESSIONS, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_costs_two_connections_however_many_nodes_there_are_and_no_open_transaction() {
    let world = World::new().await;
    let journal = Journal::default();
    let daily = || Schedule::every(Duration::from_secs(86_400));
    world.node("0").job(journal.endless_job("0", daily())).start().await.unwrap().shutdown().await;
    world.age("1 day").await;
    let mut nodes = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        nodes.push(world.node(name).job(journal.endless_job(name, daily())).start().await.unwrap());
    }
    journal.run(1, Duration::from_secs(5)).await;
    world.until(Duration::from_secs(4), SESSIONS, 2).await;
    // The lock and the watch, nothing else, and nothing that waits.
    world.until(Duration::from_secs(2), LOCKS, 2).await;
    for _ in 0..20 {
        let waits = format!("{LOCKS} and not granted");
        assert_eq!(world.number(&waits).await, 0, "a statement waits for an advisory lock");
        let open = format!("{SESSIONS} and state like 'idle in transaction%'");
        assert_eq!(world.number(&open).await, 0, "a transaction is open while the body runs");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for node in &nodes {
        node.shutdown().await;
    }
    assert_eq!(world.number(LOCKS).await, 0);
    assert_eq!(journal.most_at_once(), 1);
}
