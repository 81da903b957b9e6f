//! P5, P6: holder, watcher and those who stay outside hold up nobody: no transaction, no snapshot, no wait.

use std::time::{Duration, Instant};

use crate::world::{Journal, World, daily};

const OURS: &str = "from pg_stat_activity where application_name like 'hourhand%' and datname = current_database()";

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_built_concurrently_while_three_nodes_want_one_job_and_none_is_ever_idle_in_a_transaction() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let hostile = "alter database \"{}\" set idle_in_transaction_session_timeout = '200ms'";
    world.eye.batch_execute(&hostile.replace("{}", world.database.name())).await.unwrap();
    let journal = Journal::default();
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        nodes.push(world.node(name).job(journal.endless_job(name, daily())).start().await.unwrap());
    }
    journal.run(1, Duration::from_secs(5)).await;
    let watch = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 2 \
                 and database = (select oid from pg_database where datname = current_database())";
    world.until(Duration::from_secs(5), watch, 1).await;
    let builder = world.database.connect().await;
    builder.batch_execute("create table page as select i as number from generate_series(1, 1000) i").await.unwrap();
    let begun = Instant::now();
    let mut built = 0;
    // Some pings and tries of the watcher long.
    while begun.elapsed() < Duration::from_secs(6) {
        let each = Instant::now();
        builder.batch_execute("create index concurrently on page (number)").await.unwrap();
        built += 1;
        assert!(each.elapsed() < Duration::from_secs(2), "an index took {:?} beside the nodes", each.elapsed());
        let held_up = format!(
            "select count(*) {OURS} and (state like 'idle in%' or (state = 'idle' and backend_xmin is not null))"
        );
        assert_eq!(world.number(&held_up).await, 0, "a session of ours stays in a transaction");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(built > 20, "{built} indexes");
    assert_eq!(journal.entries().len(), 1, "the run was lost on the way");
    for node in nodes {
        node.shutdown().await;
    }
}
