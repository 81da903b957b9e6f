//! One job, run once, for programs that are started when there is something to do.

use std::time::Duration;

use hourhand::{Exclusion, Failure, Job, Once, Outcome, Run, Schedule, SchedulerBuilder};

use crate::world::{JOB, Journal, World};

fn now(takes: Duration) -> Job {
    Job::on_demand(JOB, move |run: Run| async move {
        run.output("at it");
        tokio::time::sleep(takes).await;
        Ok::<_, Failure>(())
    })
}

async fn once(builder: SchedulerBuilder, wait: Duration) -> Once {
    builder.run_once(wait).await.unwrap()
}

fn ran(once: &Once) -> Option<Outcome> {
    match once {
        Once::Ran { outcome, .. } => *outcome,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_at_once_one_runs_and_the_other_is_told_or_waits_by_either_kind_of_exclusion() {
    for exclusion in [Exclusion::Session, Exclusion::Lease] {
        let world = World::new().await;
        let node = |name: &str, takes: u64| {
            world.node(name).migrate(true).exclusion(exclusion).job(now(Duration::from_millis(takes)))
        };
        let first = tokio::spawn(once(node("a", 1500), Duration::ZERO));
        world.until(Duration::from_secs(5), "select count(*) from hourhand.job where epoch > ended_epoch", 1).await;
        let told = once(node("b", 0), Duration::ZERO).await;
        assert!(matches!(&told, Once::AlreadyRunning { epoch: Some(_), .. }), "{told:?}");
        let waited = once(node("c", 0), Duration::from_secs(20)).await;
        assert_eq!(ran(&waited), Some(Outcome::Succeeded), "{exclusion:?}");
        assert_eq!(ran(&first.await.unwrap()), Some(Outcome::Succeeded), "{exclusion:?}");
        assert_eq!(world.outcomes().await, ["succeeded", "succeeded"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn if_due_is_asked_of_what_the_fleet_has_done_and_changes_nothing_for_it() {
    let world = World::new().await;
    let journal = Journal::default();
    let yearly = || Schedule::cron("0 0 1 1 *");
    let node = world.node("a").job(journal.job_of("a", yearly(), Duration::ZERO)).start().await.unwrap();
    world.age("2 years").await;
    let definition = "select count(*) from hourhand.definition where registered_at < clock_timestamp()";
    assert_eq!(world.number(definition).await, 1);
    node.shutdown().await;
    let due = |name: &str| world.node(name).job(Job::new(JOB, yearly(), async |_| Ok::<_, Failure>(())));
    assert_eq!(ran(&once(due("b"), Duration::ZERO).await), Some(Outcome::Succeeded));
    assert!(matches!(once(due("c"), Duration::ZERO).await, Once::NotDue { next: Some(_) }));
    // The fleet sees it done.
    let node = world.node("a").job(journal.job_of("a", yearly(), Duration::ZERO)).start().await.unwrap();
    assert!(node.status().await.unwrap()[0].last_success_at.is_some());
    node.shutdown().await;
    assert_eq!((journal.entries().len(), world.number(definition).await), (0, 1));
    assert_eq!(world.outcomes().await, ["succeeded"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_from_elsewhere_is_left_to_those_who_are_there_all_the_time() {
    let world = World::new().await;
    let requests = "select count(*) from hourhand.request";
    assert_eq!(
        ran(&once(world.node("a").migrate(true).job(now(Duration::ZERO)), Duration::ZERO).await),
        Some(Outcome::Succeeded)
    );
    let operator = hourhand::Operator::builder(world.database.url()).connect().await.unwrap();
    operator.trigger(JOB, None).await.unwrap();
    assert_eq!(world.number(requests).await, 1);
    assert_eq!(ran(&once(world.node("b").job(now(Duration::ZERO)), Duration::ZERO).await), Some(Outcome::Succeeded));
    assert_eq!(world.number(requests).await, 1, "asked for, and not by us");
    assert_eq!(world.outcomes().await, ["succeeded", "succeeded"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_is_refused_and_what_is_the_matter_with_the_database_is_said_at_once() {
    let world = World::unmigrated().await;
    let error = world.node("a").job(now(Duration::ZERO)).run_once(Duration::ZERO).await.unwrap_err();
    assert!(error.is_not_migrated(), "{error}");
    let error = world.node("a").run_once(Duration::ZERO).await.unwrap_err();
    assert!(error.is_config(), "no job: {error}");
    let due = Job::new(JOB, Schedule::hourly(), async |_| Ok::<_, Failure>(()));
    let error = world.node("a").history(false).job(due).run_once(Duration::ZERO).await.unwrap_err();
    assert!(error.is_config() && error.to_string().contains("on_demand"), "{error}");
    let leased = world.node("a").history(false).exclusion(Exclusion::Lease).job(now(Duration::ZERO));
    assert!(leased.run_once(Duration::ZERO).await.unwrap_err().is_config());
    let error = world.node("a").job(now(Duration::ZERO)).start().await.unwrap_err();
    assert!(error.is_config() && error.to_string().contains("run_once"), "{error}");
    let alone = world.node("a").history(false).job(now(Duration::ZERO)).run_once(Duration::ZERO).await.unwrap();
    assert_eq!(ran(&alone), Some(Outcome::Succeeded), "the lock alone needs no schema");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_lock_is_told_when_it_comes_free_and_tries_for_those_who_die_without_a_word() {
    let world = World::new().await;
    let waiting = |name: &str| tokio::spawn(once(world.node(name).job(now(Duration::ZERO)), Duration::from_secs(60)));
    let ended = "select coalesce(extract(epoch from max(ended_at) filter (where node = $N) - max(ended_at) filter (where node = 'a')) * 1000, -1)::bigint from hourhand.history";
    let first = tokio::spawn(once(world.node("a").job(now(Duration::from_millis(1500))), Duration::ZERO));
    world.until(Duration::from_secs(5), "select count(*) from hourhand.job where epoch > ended_epoch", 1).await;
    assert_eq!(ran(&waiting("b").await.unwrap()), Some(Outcome::Succeeded));
    first.await.unwrap();
    let late = world.number(&ended.replace("$N", "'b'")).await;
    assert!((0..1_000).contains(&late), "{late} ms after the end that was said: nothing is tried so often");

    // A session that ends without letting go says nothing.
    let holder = world.database.connect().await;
    holder
        .batch_execute(
            "set application_name = 'hourhand/5 dying'; select pg_try_advisory_lock(hourhand.key('order-sync'))",
        )
        .await
        .unwrap();
    let waiting = waiting("c");
    let connected =
        "select count(*) from pg_stat_activity where application_name like 'hourhand/5 c%' and state = 'idle'";
    world.until(Duration::from_secs(5), connected, 1).await;
    tokio::time::sleep(Duration::from_millis(1200)).await;
    drop(holder);
    let told = std::time::Instant::now();
    assert_eq!(ran(&waiting.await.unwrap()), Some(Outcome::Succeeded));
    assert!(told.elapsed() < Duration::from_secs(8), "{:?}", told.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_lock_waits_through_an_outage_of_the_database() {
    let world = World::new().await;
    let holder = world.database.connect().await;
    let first = once(world.node("a").job(now(Duration::ZERO)), Duration::ZERO).await;
    assert_eq!(ran(&first), Some(Outcome::Succeeded));
    holder.batch_execute("select pg_try_advisory_lock(hourhand.key('order-sync'))").await.unwrap();
    let waiting = tokio::spawn(once(world.node("b").job(now(Duration::ZERO)), Duration::from_secs(60)));
    let sessions = "select count(*) from pg_stat_activity where application_name like 'hourhand/5 b%' and datname = current_database()";
    world.until(Duration::from_secs(5), sessions, 1).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    // Refused from elsewhere: no session can shut out its own database.
    let (name, url) = (world.database.name(), world.database.url());
    let (elsewhere, driving) =
        tokio_postgres::connect(&url.replace(&format!("/{name}"), "/postgres"), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(driving);
    let allow = async |word: &str| {
        elsewhere.batch_execute(&format!("alter database \"{name}\" with allow_connections {word}")).await.unwrap();
    };
    allow("false").await;
    let end = format!(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{name}' and application_name like 'hourhand/5 b%'"
    );
    elsewhere.batch_execute(&end).await.unwrap();
    // Longer than it tries between, and than a first refusal takes.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(!waiting.is_finished());
    drop(holder);
    allow("true").await;
    assert_eq!(ran(&waiting.await.unwrap()), Some(Outcome::Succeeded));
}
