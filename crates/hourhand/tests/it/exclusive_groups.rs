//! Jobs of one exclusive group never overlap, whatever nodes run them, and none of them waits for ever.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hourhand::{Exclusion, Failure, Job, Schedule, Scheduler, Triggered};
use hourhand_testkit::eventually;

use crate::world::{Journal, World, daily, yearly};

const URL: &str = "HOURHAND_IT_GROUP_URL";
const SOON: Duration = Duration::from_secs(5);
const GROUP_KEY: &str = "select (body ->> 'group_key')::bigint from hourhand.definition limit 1";

/// A job of the group, whose body takes this long; in the journal it stands under its name.
fn member(journal: &Journal, name: &str, schedule: Schedule, takes: Duration) -> Job {
    let (journal, own) = (journal.clone(), name.to_owned());
    let job = Job::new(name, schedule, move |run| {
        let (journal, own) = (journal.clone(), own.clone());
        async move {
            let _under_way = journal.begin(&own, &run);
            tokio::select! {
                () = tokio::time::sleep(takes) => {}
                () = run.cancelled() => {}
            }
            Ok::<_, Failure>(())
        }
    });
    job.exclusive_group("erp")
}

/// Not a test: the process that is to die.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the child of other tests"]
async fn child() {
    let Ok(url) = std::env::var(URL) else { return };
    let job = member(&Journal::default(), "held", Schedule::every(Duration::from_secs(1)), Duration::from_secs(100));
    let node = Scheduler::builder(url).node("child").ttl(SOON).job(job).start().await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_three_jobs_that_are_always_due_one_runs_at_a_time_and_each_gets_its_turn() {
    let (world, journal) = (World::new().await, Journal::default());
    let due = || Schedule::every(Duration::from_secs(1));
    let takes = Duration::from_millis(700);
    let one = [member(&journal, "a", due(), takes), member(&journal, "b", due(), takes)];
    let two = [member(&journal, "a", due(), takes), member(&journal, "c", due(), takes)];
    let mut nodes = Vec::new();
    for (name, jobs) in [("one", one), ("two", two)] {
        let builder = jobs.into_iter().fold(world.node(name), |builder, job| builder.job(job));
        nodes.push(builder.start().await.unwrap());
    }
    let runs = |name: &str| journal.entries().iter().filter(|entry| entry.node == name).count();
    eventually(Duration::from_secs(30), async || match ["a", "b", "c"].map(runs) {
        [a, b, c] if a >= 4 && b >= 4 && c >= 4 => Ok(()),
        counts => Err(format!("{counts:?}")),
    })
    .await;
    println!("runs of a, b, c: {:?}", ["a", "b", "c"].map(runs));
    for node in nodes {
        node.shutdown().await;
    }
    assert_eq!(journal.most_at_once(), 1, "two of the group ran at once");
    let counts = ["a", "b", "c"].map(runs);
    assert!(counts.iter().max() <= counts.iter().min().map(|least| 2 * least + 2).as_ref(), "unfair: {counts:?}");
    let left = "select count(*) from pg_locks where locktype = 'advisory' \
                and database = (select oid from pg_database where datname = current_database())";
    world.until(SOON, left, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_holder_of_a_group_is_killed_another_job_of_it_runs_within_two_seconds_though_its_node_does_not_know_that_job()
 {
    let (world, journal) = (World::new().await, Journal::default());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "exclusive_groups::child", "--ignored", "--nocapture"]);
    let mut holder = command.env(URL, world.database.url()).stdout(Stdio::null()).spawn().unwrap();
    world.until(Duration::from_secs(10), "select count(*) from hourhand.job where node = 'child'", 1).await;
    let other = member(&journal, "other", Schedule::every(Duration::from_secs(1)), Duration::ZERO);
    let node = world.node("b").job(other).start().await.unwrap();
    let watches = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 2 \
                   and database = (select oid from pg_database where datname = current_database())";
    world.until(SOON, watches, 1).await;
    assert!(journal.entries().is_empty(), "the group is busy");
    let killed = Instant::now();
    holder.kill().unwrap();
    holder.wait().unwrap();
    journal.run(1, SOON).await;
    println!("another job of the group runs {:?} after kill -9", killed.elapsed());
    assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_who_holds_the_groups_lock_is_waited_for_and_reported() {
    let (world, journal) = (World::new().await, Journal::default());
    world.node("0").job(member(&journal, "a", daily(), Duration::ZERO)).start().await.unwrap().shutdown().await;
    world.age("1 day").await;
    let stranger = world.database.connect().await;
    let key = world.number(GROUP_KEY).await;
    stranger.batch_execute(&format!("select pg_advisory_lock({key})")).await.unwrap();
    let node = world.node("a").job(member(&journal, "a", daily(), Duration::ZERO)).start().await.unwrap();
    eventually(Duration::from_secs(8), async || {
        let problems = node.health().await.problems;
        if problems.iter().any(|problem| problem.contains("its lock is held")) {
            Ok(())
        } else {
            Err(problems.join("; "))
        }
    })
    .await;
    assert!(journal.entries().is_empty());
    drop(stranger);
    journal.run(1, SOON).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_of_the_group_that_calls_itself_hourhand_and_has_gone_silent_is_ended() {
    let (world, journal) = (World::new().await, Journal::default());
    world.node("0").job(member(&journal, "a", daily(), Duration::ZERO)).start().await.unwrap().shutdown().await;
    world.age("1 day").await;
    let key = world.number(GROUP_KEY).await;
    let frozen = world.database.connect().await;
    let holds = format!("set application_name = 'hourhand/5 frozen'; select pg_advisory_lock({key})");
    frozen.batch_execute(&holds).await.unwrap();
    let silent_since = Instant::now();
    let node = world.node("a").job(member(&journal, "a", daily(), Duration::ZERO)).start().await.unwrap();
    journal.run(1, Duration::from_secs(15)).await;
    let took = silent_since.elapsed();
    println!("a silent holder of the group is ended, and the job runs after {took:?}");
    assert!(took > Duration::from_millis(6250), "its ttl is 5 s: after {took:?} it might have been alive");
    assert!(took < Duration::from_secs(10), "{took:?}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asked_for_while_another_of_its_group_runs_here_or_elsewhere_it_is_said_to_run_within_two_seconds() {
    let (world, journal) = (World::new().await, Journal::default());
    let long = Duration::from_secs(30);
    let jobs = || [member(&journal, "a", yearly(), long), member(&journal, "b", yearly(), long)];
    let [a, b] = jobs();
    let here = world.node("a").job(a).job(b).start().await.unwrap();
    let [_, b] = jobs();
    let elsewhere = world.node("b").job(b).start().await.unwrap();
    assert!(matches!(here.trigger("a").await.unwrap(), Triggered::Started { .. }));
    for node in [&here, &elsewhere] {
        let asked = Instant::now();
        let answer = node.trigger("b").await.unwrap();
        let said = |node: &str| node.contains("group erp");
        assert!(matches!(&answer, Triggered::AlreadyRunning { node: Some(node), .. } if said(node)), "{answer:?}");
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    }
    assert_eq!(journal.entries().len(), 1);
    here.shutdown().await;
    assert!(matches!(elsewhere.trigger("b").await.unwrap(), Triggered::Started { .. }));
    elsewhere.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_by_sql_needs_the_groups_lock_too() {
    let world = World::new().await;
    world.node("a").job(member(&Journal::default(), "a", yearly(), SOON)).start().await.unwrap().shutdown().await;
    let client = world.database.connect().await;
    client.batch_execute("select pg_advisory_lock(hourhand.key('a'))").await.unwrap();
    let refused = client.batch_execute("select hourhand.begin('a')").await.unwrap_err();
    assert_eq!(refused.code().map(|code| code.code().to_owned()).as_deref(), Some("HH002"));
    let key = world.number(GROUP_KEY).await;
    client.batch_execute(&format!("select pg_advisory_lock({key}); select hourhand.begin('a')")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_among_leases_and_of_a_job_that_never_ends_is_refused_at_the_start() {
    let journal = Journal::default();
    let leases = Scheduler::builder("postgres://nowhere").exclusion(Exclusion::Lease);
    let error = leases.job(member(&journal, "a", yearly(), SOON)).start().await.unwrap_err();
    assert!(error.is_config() && format!("{error} {error:?}").contains("exclusive_group"), "{error:?}");
    let endless = member(&journal, "a", Schedule::continuous(), SOON);
    let error = Scheduler::builder("postgres://nowhere").job(endless).start().await.unwrap_err();
    assert!(error.is_config() && format!("{error} {error:?}").contains("exclusive_group: a continuous"), "{error:?}");
}
