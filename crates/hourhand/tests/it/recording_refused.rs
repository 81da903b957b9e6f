//! P4: what the database refuses to record is tried with less, then said, let go, and written later.

use std::time::Duration;

use hourhand_testkit::eventually;

use crate::world::{JOB, Journal, World, yearly};

#[tokio::test(flavor = "multi_thread")]
async fn with_history_refused_the_row_alone_records_the_success() {
    let world = World::new().await;
    let refuse = "create function no() returns trigger language plpgsql as $$ begin raise 'history is full'; end $$; \
                  create trigger no before insert on hourhand.history for each row execute function no()";
    world.eye.batch_execute(refuse).await.unwrap();
    let journal = Journal::default();
    let node = world.node("a").job(journal.job_of("a", yearly(), Duration::ZERO)).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    let recorded = "select count(*) from hourhand.job where ended_epoch = epoch and last_outcome = 'succeeded'";
    world.until(Duration::from_secs(6), recorded, 1).await;
    assert!(world.outcomes().await.is_empty());
    // The lock was let go only afterwards; and the next run is not in its way.
    eventually(Duration::from_secs(3), async || match node.trigger(JOB).await.unwrap() {
        hourhand::Triggered::Started { .. } => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_everything_refused_for_ttl_it_is_unrecorded_let_go_and_written_when_it_can_be() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.job_of("a", yearly(), Duration::from_millis(300))).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    journal.run(1, Duration::from_secs(2)).await;
    let refuse = "create function no() returns trigger language plpgsql as $$ begin raise 'disk full'; end $$; \
                  create trigger no before update on hourhand.job for each row execute function no()";
    world.eye.batch_execute(refuse).await.unwrap();
    let locks = "select count(*) from pg_locks where locktype = 'advisory' \
                 and database = (select oid from pg_database where datname = current_database())";
    assert_eq!(world.number(locks).await, 1, "the lock is kept while the end is not durable");
    world.until(Duration::from_secs(9), locks, 0).await;
    let health = node.health().await;
    assert!(health.problems.iter().any(|problem| problem.contains("not recorded")), "{health:?}");
    world.eye.batch_execute("drop trigger no on hourhand.job").await.unwrap();
    // Any later session writes it.
    node.status().await.unwrap();
    eventually(Duration::from_secs(5), async || {
        node.status().await.unwrap();
        match world.outcomes().await.as_slice() {
            [one] if one == "succeeded" => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    assert!(node.health().await.ok(), "{:?}", node.health().await);
    node.shutdown().await;
}
