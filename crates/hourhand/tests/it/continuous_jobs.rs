//! A continuous job's body is always running, on exactly one node; when it ends it comes back after a backoff that nobody forgets.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hourhand::{CatchUp, Job, Overlap, Retry, Schedule, Scheduler, Trigger, Triggered};
use hourhand_testkit::eventually;

use crate::world::{JOB, Journal, World, daily};

const URL: &str = "HOURHAND_IT_CONTINUOUS_URL";
const SOON: Duration = Duration::from_secs(5);
const WATCHES: &str = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 2 \
                       and database = (select oid from pg_database where datname = current_database())";

/// Works until it is told to stop.
fn endless(journal: &Journal, node: &str) -> Job {
    journal.endless_job(node, Schedule::continuous())
}

/// Has no business returning, and returns.
fn restless(journal: &Journal, node: &str) -> Job {
    journal.job_of(node, Schedule::continuous(), Duration::ZERO)
}

/// Not a test: the process that is to die.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the child of other tests"]
async fn child() {
    let Ok(url) = std::env::var(URL) else { return };
    let job = endless(&Journal::default(), "child");
    let node = Scheduler::builder(url).node("child").ttl(SOON).job(job).start().await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_three_nodes_one_runs_it_and_another_takes_over_at_once_when_that_one_shuts_down() {
    let (world, journal) = (World::new().await, Journal::default());
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        nodes.push((name, world.node(name).job(endless(&journal, name)).start().await.unwrap()));
    }
    let first = journal.run(1, SOON).await;
    assert_eq!((first.run.trigger(), first.run.scheduled_for(), first.run.attempt()), (Trigger::Continuous, None, 1));
    world.until(SOON, WATCHES, 1).await;
    let status = nodes[2].1.status().await.unwrap();
    assert_eq!(status[0].running.as_ref().map(|running| running.epoch), Some(first.run.epoch()));
    assert!(!status[0].overdue);

    let (_, holder) = nodes.remove(nodes.iter().position(|(name, _)| *name == first.node).unwrap());
    let told = Instant::now();
    holder.shutdown().await;
    let second = journal.run(2, SOON).await;
    println!("taken over {:?} after the shutdown began", told.elapsed());
    assert!(told.elapsed() < Duration::from_secs(2), "{:?}", told.elapsed());
    assert_ne!(second.node, first.node);
    assert_eq!((second.run.attempt(), second.run.takeover()), (1, 0), "a shutdown costs nothing");
    assert_eq!(world.outcomes().await, ["cancelled"]);
    for (_, node) in nodes {
        node.shutdown().await;
    }
    assert_eq!(journal.most_at_once(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_holder_is_taken_over_within_two_seconds_and_its_loss_is_recorded() {
    let world = World::new().await;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "continuous_jobs::child", "--ignored", "--nocapture"]);
    let mut holder = command.env(URL, world.database.url()).stdout(Stdio::null()).spawn().unwrap();
    world.until(Duration::from_secs(10), "select count(*) from hourhand.job where node = 'child'", 1).await;
    let journal = Journal::default();
    let standby = world.node("b").job(endless(&journal, "b")).start().await.unwrap();
    world.until(SOON, WATCHES, 1).await;
    let killed = Instant::now();
    holder.kill().unwrap();
    holder.wait().unwrap();
    let taken_over = journal.run(1, Duration::from_secs(10)).await.run;
    println!("continuous job taken over {:?} after kill -9", killed.elapsed());
    assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
    assert_eq!((taken_over.takeover(), taken_over.trigger()), (1, Trigger::Continuous));
    assert_eq!(world.outcomes().await, ["lost"]);
    standby.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deaths_in_a_row_wait_ever_longer_and_nothing_is_given_up() {
    let world = World::new().await;
    world.node("a").job(endless(&Journal::default(), "a")).start().await.unwrap().shutdown().await;
    world.eye.batch_execute(&format!("select pg_advisory_lock(hourhand.key('{JOB}'))")).await.unwrap();
    let dies = async |ran: &str| -> (i64, i64) {
        let run = format!(
            "update hourhand.job set epoch = epoch + 1, ended_epoch = epoch, trigger = 'continuous', \
             started_at = clock_timestamp() - interval '{ran}'"
        );
        world.eye.batch_execute(&run).await.unwrap();
        let settle = format!("select s.deaths::bigint from hourhand.job j, hourhand.settle('{JOB}', j.epoch, true) s");
        let deaths = world.number(&settle).await;
        let waits = "select round(extract(epoch from not_before - clock_timestamp()))::bigint from hourhand.job";
        (deaths, world.number(waits).await)
    };
    world.eye.batch_execute("update hourhand.job set deaths = 0").await.unwrap();
    let waits = [0, 30, 60, 120, 240, 300, 300];
    for (wait, deaths) in waits.into_iter().zip(1..) {
        assert_eq!(dies("1 min").await, (deaths, wait));
    }
    assert_eq!(dies("11 min").await.1, 0, "after ten minutes of running the count begins anew");
    assert_eq!(world.number("select deaths::bigint from hourhand.job").await, 1);
    assert!(world.outcomes().await[1..].iter().all(|outcome| outcome == "lost"), "none is given up as failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_returns_comes_back_after_a_backoff_that_another_node_keeps_to() {
    let (world, journal) = (World::new().await, Journal::default());
    let node = world.node("a").job(restless(&journal, "a")).start().await.unwrap();
    journal.run(3, Duration::from_secs(8)).await;
    eventually(SOON, async || match world.outcomes().await.len() {
        3 => Ok(()),
        ends => Err(format!("{ends} ends")),
    })
    .await;
    node.shutdown().await;
    let node = world.node("b").job(restless(&journal, "b")).start().await.unwrap();
    let fourth = journal.run(4, Duration::from_secs(8)).await;
    assert_eq!(fourth.node, "b");
    let runs: Vec<_> = journal.entries().into_iter().map(|entry| entry.run).collect();
    let attempts: Vec<u32> = runs.iter().map(|run| run.attempt()).collect();
    assert_eq!(attempts, [1, 2, 3, 4]);
    for (pair, wait) in runs.windows(2).zip([1, 2, 4]) {
        let waited = pair[1].started_at().duration_since(pair[0].started_at()).as_secs_f64();
        assert!((f64::from(wait)..f64::from(wait) + 1.5).contains(&waited), "{waited} s instead of {wait} s");
        // What was missed while nobody ran begins where the last run's window ended.
        assert_eq!(pair[1].window().from, pair[0].window().until);
    }
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asked_for_by_hand_it_starts_before_its_backoff_has_passed_unless_it_runs() {
    let (world, journal) = (World::new().await, Journal::default());
    world.node("0").job(endless(&journal, "0")).start().await.unwrap().shutdown().await;
    let wait = "update hourhand.job set not_before = clock_timestamp() + interval '4 min'";
    world.eye.batch_execute(wait).await.unwrap();
    let began = journal.entries().len();
    let node = world.node("a").job(endless(&journal, "a")).start().await.unwrap();
    assert_eq!(journal.entries().len(), began, "it waits");
    let Triggered::Started { epoch } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let run = journal.run(began + 1, SOON).await.run;
    assert_eq!((run.epoch(), run.trigger()), (epoch, Trigger::Continuous));
    let again = node.trigger(JOB).await.unwrap();
    assert!(matches!(again, Triggered::AlreadyRunning { epoch: Some(running), .. } if running == epoch), "{again:?}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_it_starts_anew_and_paused_it_stays_down_until_resumed() {
    let (world, journal) = (World::new().await, Journal::default());
    let node = world.node("a").job(endless(&journal, "a")).start().await.unwrap();
    let first = journal.run(1, SOON).await.run;
    assert_eq!(node.cancel(JOB, None, Some("ann")).await.unwrap(), Some(first.epoch()));
    let second = journal.run(2, Duration::from_secs(8)).await.run;
    assert!(second.started_at().duration_since(first.started_at()).as_secs_f64() >= 1.0, "after the backoff");
    assert_eq!(node.pause(JOB, None, Some("upgrade"), Some("ann")).await.unwrap(), Some(second.epoch()));
    assert_eq!(journal.under_way(), 1, "a run under way goes on");
    node.cancel(JOB, Some(second.epoch()), None).await.unwrap();
    world.until(SOON, "select count(*) from hourhand.history where outcome = 'cancelled'", 2).await;
    world.eye.batch_execute("update hourhand.job set not_before = now() - interval '10 min'").await.unwrap();
    let status = node.status().await.unwrap();
    assert!(status[0].paused.is_some() && status[0].running.is_none() && !status[0].overdue, "{status:?}");
    assert_eq!(journal.entries().len(), 2);
    assert!(node.resume(JOB, false, None).await.unwrap());
    journal.run(3, SOON).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn not_running_for_longer_than_a_minute_it_is_overdue() {
    let world = World::new().await;
    let job = || endless(&Journal::default(), "a");
    world.node("a").job(job()).start().await.unwrap().shutdown().await;
    let foreign = world.database.connect().await;
    foreign.batch_execute(&format!("select pg_advisory_lock(hourhand.key('{JOB}'))")).await.unwrap();
    world.age("1 hour").await;
    world.eye.batch_execute("update hourhand.job set not_before = now() - interval '55 s'").await.unwrap();
    let node = world.node("a").job(job()).start().await.unwrap();
    assert!(!node.status().await.unwrap()[0].overdue);
    eventually(Duration::from_secs(8), async || match node.status().await.unwrap()[0].overdue {
        true => Ok(()),
        false => Err("not overdue"),
    })
    .await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_may_move_what_is_covered_up_to_the_present_and_no_further() {
    let (world, journal) = (World::new().await, Journal::default());
    let node = world.node("a").job(endless(&journal, "a")).start().await.unwrap();
    let run = journal.run(1, SOON).await.run;
    let advance = format!("select hourhand.advance('{JOB}', {}, now() + interval '1 hour')", run.epoch());
    world.eye.batch_execute(&advance).await.unwrap();
    let to_the_present =
        "select count(*) from hourhand.job where covered_until > window_until and covered_until <= clock_timestamp()";
    assert_eq!(world.number(to_the_present).await, 1);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_is_pruned_while_its_body_runs() {
    let world = World::new().await;
    let fill = format!(
        "insert into hourhand.history (job, epoch, outcome, trigger, ended_at) \
         select '{JOB}', n, 'failed', 'continuous', now() - interval '30 days' from generate_series(1, 2500) n"
    );
    world.eye.batch_execute(&fill).await.unwrap();
    let journal = Journal::default();
    let builder = world.node("a").job(endless(&journal, "a")).prune_interval(Duration::from_secs(6));
    let node = builder.start().await.unwrap();
    journal.run(1, SOON).await;
    world.until(Duration::from_secs(10), "select count(*) from hourhand.history", 1).await;
    assert_eq!(journal.under_way(), 1);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_of_occurrences_are_refused_by_name_all_at_once() {
    let minute = Duration::from_secs(60);
    let job = Job::new(JOB, Schedule::continuous(), async |_run| Ok::<_, hourhand::Failure>(()))
        .timeout(minute)
        .retry(Retry::fixed(2, jiff::SignedDuration::from_secs(1)))
        .catch_up(CatchUp::None)
        .catch_up_window(minute)
        .deadline(minute)
        .overlap(Overlap::Skip)
        .jitter(minute)
        .window_max(minute);
    let other = Journal::default().job_of("a", daily(), Duration::ZERO);
    let error = Scheduler::builder("postgres://nowhere").job(job).job(other).start().await.unwrap_err();
    assert!(error.is_config());
    let text = format!("{error:?} {error}");
    for policy in ["timeout", "retry", "catch_up", "catch_up_window", "deadline", "overlap", "jitter", "window_max"] {
        assert!(text.contains(&format!("{policy}: a continuous job")), "{policy}: {text}");
    }
    let full = Scheduler::builder("postgres://nowhere").runs_max(1);
    let job = Job::new("tail", Schedule::continuous(), async |_run| Ok::<_, hourhand::Failure>(()));
    let other = Journal::default().job_of("a", daily(), Duration::ZERO);
    let error = full.job(job).job(other).start().await.unwrap_err();
    assert!(error.is_config() && format!("{error:?} {error}").contains("runs_max: 1"), "{error:?}");
}
