//! Leases: the same promises by a row that runs out, and the two kinds of exclusion exclude each other.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use hourhand::{Exclusion, Schedule, Scheduler, SchedulerBuilder, Triggered};
use hourhand_testkit::eventually;

use crate::world::{JOB, Journal, World, daily};

fn leased(world: &World, name: &str) -> SchedulerBuilder {
    world.node(name).exclusion(Exclusion::Lease)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_nodes_by_lease_run_each_occurrence_once_and_leave_no_advisory_lock() {
    let world = World::new().await;
    let journal = Journal::default();
    let mut nodes: Vec<Scheduler> = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let job = journal.job_of(name, Schedule::every(Duration::from_secs(1)), Duration::from_millis(100));
        nodes.push(leased(&world, name).job(job).start().await.unwrap());
    }
    journal.run(5, Duration::from_secs(15)).await;
    let locks = "select count(*) from pg_locks where locktype = 'advisory' \
                 and database = (select oid from pg_database where datname = current_database())";
    assert_eq!(world.number(locks).await, 0);
    for node in &nodes {
        node.shutdown().await;
    }
    let occurrences: Vec<_> = journal.entries().iter().map(|entry| entry.run.scheduled_for().unwrap()).collect();
    assert_eq!(occurrences.iter().collect::<HashSet<_>>().len(), occurrences.len(), "twice: {occurrences:?}");
    assert_eq!(journal.most_at_once(), 1);
    assert_eq!(world.number("select count(*) from hourhand.lease where expires_at > now()").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_longer_than_the_lease_is_prolonged_and_runs_once() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let long = Duration::from_secs(8);
    let a = leased(&world, "a").job(journal.job_of("a", daily(), long)).start().await.unwrap();
    let b = leased(&world, "b").job(journal.job_of("b", daily(), long)).start().await.unwrap();
    eventually(Duration::from_secs(15), async || match world.outcomes().await.as_slice() {
        [one] if one == "succeeded" => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    a.shutdown().await;
    b.shutdown().await;
    assert_eq!(journal.entries().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_does_not_lose_the_lease() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let node = leased(&world, "a").job(journal.job_of("a", daily(), Duration::from_secs(4))).start().await.unwrap();
    let run = journal.run(1, Duration::from_secs(5)).await.run;
    for _ in 0..3 {
        let end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'hourhand%' \
                   and datname = current_database()";
        world.eye.batch_execute(end).await.unwrap();
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    assert!(!run.is_cancelled(), "the run was stopped although its lease holds");
    eventually(Duration::from_secs(8), async || match world.outcomes().await.as_slice() {
        [one] if one == "succeeded" => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_lease_stops_the_body_and_its_end_changes_nothing() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let node = leased(&world, "a").job(journal.endless_job("a", daily())).start().await.unwrap();
    let run = journal.run(1, Duration::from_secs(5)).await.run;
    // As if it had run out and somebody else had it, with a later run.
    let steal = "update hourhand.lease set token = gen_random_uuid(), holder = 'b', expires_at = now() + interval '1 hour'; \
                 update hourhand.job set ended_epoch = epoch, epoch = epoch + 1, node = 'b', last_outcome = 'lost'";
    world.eye.batch_execute(steal).await.unwrap();
    tokio::time::timeout(Duration::from_secs(4), run.cancelled()).await.expect("the loss was not noticed");
    world.until(Duration::from_secs(4), "select count(*) from hourhand.history", 0).await;
    let epoch = run.epoch() + 1;
    assert_eq!(world.number("select epoch from hourhand.job").await, epoch);
    node.shutdown().await;
    assert_eq!(
        world.number("select count(*) from hourhand.lease where expires_at > now()").await,
        1,
        "b's lease stands"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_holder_is_waited_out_for_ttl() {
    let world = World::new().await;
    world.registered_yesterday().await;
    // A holder that died without a word: a lease that still runs for 5 s, and a run without an end.
    let dead = "update hourhand.lease set token = gen_random_uuid(), holder = 'dead', epoch = 7, \
                expires_at = now() + interval '5 s'; \
                update hourhand.job set epoch = 7, node = 'dead', trigger = 'schedule', attempt = 1, takeover = 0, \
                scheduled_for = now() - interval '1 hour', open_for = now() - interval '1 hour', started_at = now(), \
                window_from = now(), window_until = now()";
    world.eye.batch_execute(dead).await.unwrap();
    let journal = Journal::default();
    let node = leased(&world, "a").job(journal.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
    let begun = Instant::now();
    journal.run(1, Duration::from_secs(10)).await;
    let took = begun.elapsed();
    println!("taken over {took:?} after the start of a lease of 5 s");
    assert!((Duration::from_secs(4)..Duration::from_millis(7500)).contains(&took), "taken over after {took:?}");
    node.shutdown().await;
    assert_eq!(world.outcomes().await, ["lost", "succeeded"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_by_session_lock_and_one_by_lease_exclude_each_other_both_ways() {
    let world = World::new().await;
    let journal = Journal::default();
    let yearly = || Schedule::cron("0 0 1 1 *");
    let locks = world.node("locks").job(journal.endless_job("locks", yearly())).start().await.unwrap();
    let leases = leased(&world, "leases").job(journal.endless_job("leases", yearly())).start().await.unwrap();
    for (holder, other, name) in [(&locks, &leases, "locks"), (&leases, &locks, "leases")] {
        let Triggered::Started { epoch } = holder.trigger(JOB).await.unwrap() else { panic!("{name} did not start") };
        let answer = other.trigger(JOB).await.unwrap();
        let Triggered::AlreadyRunning { node, epoch: running, .. } = answer else { panic!("{answer:?}") };
        assert_eq!((node.as_deref(), running), (Some(name), Some(epoch)));
        let status = other.status().await.unwrap()[0].running.clone().unwrap();
        assert_eq!((status.node.as_deref(), status.pid.is_some()), (Some(name), name == "locks"));
        let cancel = format!(
            "insert into hourhand.cancel values ('{JOB}', {epoch}) on conflict (job) do update set epoch = {epoch}"
        );
        world.eye.batch_execute(&cancel).await.unwrap();
        world.until(Duration::from_secs(5), "select count(*) from hourhand.job where ended_epoch = epoch", 1).await;
    }
    locks.shutdown().await;
    leases.shutdown().await;
    assert_eq!(journal.most_at_once(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn during_a_deploy_from_one_kind_to_the_other_no_occurrence_runs_twice_or_beside_another() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = |name: &str| journal.job_of(name, Schedule::every(Duration::from_secs(1)), Duration::from_millis(300));
    let mut nodes = Vec::new();
    for (name, exclusion) in
        [("a", Exclusion::Session), ("b", Exclusion::Lease), ("c", Exclusion::Session), ("d", Exclusion::Lease)]
    {
        nodes.push(world.node(name).exclusion(exclusion).job(job(name)).start().await.unwrap());
    }
    journal.run(10, Duration::from_secs(40)).await;
    for node in &nodes {
        node.shutdown().await;
    }
    let occurrences: Vec<_> = journal.entries().iter().map(|entry| entry.run.scheduled_for().unwrap()).collect();
    assert_eq!(occurrences.iter().collect::<HashSet<_>>().len(), occurrences.len(), "twice: {occurrences:?}");
    assert_eq!(journal.most_at_once(), 1);
    assert!(!world.outcomes().await.iter().any(|outcome| outcome == "lost"), "{:?}", world.outcomes().await);
}
