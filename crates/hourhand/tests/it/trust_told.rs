//! A run can tell another process until when it may go on, and does not have to be there to end it.

use std::time::Duration;

use hourhand_testkit::eventually;
use rustix::time::{ClockId, clock_gettime};

use crate::world::{Journal, World, daily};

/// The clock that the answer is on.
fn machine() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_reaches_three_fifths_of_ttl_at_most_and_each_ping_moves_it_on() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", daily())).start().await.unwrap();
    let run = journal.run(1, Duration::from_secs(5)).await.run;
    let mut trust = run.trust();
    let mut before = *trust.borrow_and_update();
    assert_eq!(before.stop_within, Duration::from_secs(1));
    for _ in 0..3 {
        let now = machine();
        assert!(before.until > now && before.until <= now + Duration::from_secs(3), "{before:?} at {now:?}");
        tokio::time::timeout(Duration::from_secs(3), trust.changed()).await.unwrap().unwrap();
        let after = *trust.borrow_and_update();
        assert!(after.until > before.until, "{before:?} then {after:?}");
        before = after;
    }
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lock_ends_trust_at_once_and_the_next_claim_of_the_node_does_not_bring_it_back() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", daily())).start().await.unwrap();
    let first = journal.run(1, Duration::from_secs(5)).await.run;
    let cut = machine();
    world
        .eye
        .batch_execute(
            "select pg_terminate_backend(pid) from pg_stat_activity \
             where application_name like 'hourhand%' and datname = current_database()",
        )
        .await
        .unwrap();
    let second = journal.run(2, Duration::from_secs(5)).await.run;
    let trust = *first.trust().borrow();
    assert!(trust.until < cut + Duration::from_millis(500), "{trust:?}, cut at {cut:?}");
    let begun = *second.trust().borrow();
    eventually(Duration::from_secs(3), async || {
        if second.trust().borrow().until > begun.until { Ok(()) } else { Err("no ping was answered") }
    })
    .await;
    assert_eq!(*first.trust().borrow(), trust, "what has ended stays so");
    node.shutdown().await;
}
