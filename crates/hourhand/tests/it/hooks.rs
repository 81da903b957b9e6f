//! A job's hooks are told of each event once in the fleet, and do the scheduler no harm.

use std::future::{pending, ready};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hourhand::{Failure, Forgetting, Job, JobEvent, Operator, Outcome, Retry, Run, Schedule};
use hourhand_testkit::eventually;
use jiff::SignedDuration;

use crate::world::{JOB, Journal, World, daily, yearly};

/// What hooks were told, by the hook's name.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(&'static str, JobEvent)>>>);

impl Told {
    fn hook(&self, name: &'static str) -> impl Fn(JobEvent) -> std::future::Ready<()> + Send + Sync + use<> {
        let told = self.0.clone();
        move |event| {
            told.lock().unwrap().push((name, event));
            ready(())
        }
    }

    fn all(&self) -> Vec<(&'static str, JobEvent)> {
        self.0.lock().unwrap().clone()
    }

    async fn are(&self, names: &[&str]) -> Vec<JobEvent> {
        eventually(Duration::from_secs(10), async || {
            let told = self.all();
            let found: Vec<&str> = told.iter().map(|(name, _)| *name).collect();
            if found == names {
                Ok(told.into_iter().map(|(_, event)| event).collect())
            } else {
                Err(format!("{found:?}"))
            }
        })
        .await
    }
}

/// A job whose first runs fail, with hooks for everything.
fn failing_at_first(failures: usize, told: &Told) -> Job {
    let count = Arc::new(AtomicUsize::new(0));
    let job = Job::new(JOB, daily(), move |_: Run| {
        let turn = count.fetch_add(1, Ordering::SeqCst) + 1;
        ready(if turn <= failures { Err(Failure::transient(format!("no. {turn}"))) } else { Ok(()) })
    });
    job.on_failure(told.hook("failure")).on_recovery(told.hook("recovery"))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_failure_and_the_success_after_them_are_told_with_all_that_is_known() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let told = Told::default();
    let retry = Retry::fixed(3, SignedDuration::from_millis(100)).jitter(SignedDuration::from_millis(100));
    let node = world.node("a").job(failing_at_first(2, &told).retry(retry)).start().await.unwrap();
    let events = told.are(&["failure", "failure", "recovery"]).await;
    node.trigger(JOB).await.unwrap();
    world.until(Duration::from_secs(5), "select count(*) from hourhand.history where outcome = 'succeeded'", 2).await;
    node.shutdown().await;
    let second = &events[1];
    assert_eq!((second.job.as_str(), second.outcome), (JOB, Some(Outcome::Failed)));
    assert_eq!((second.error.as_deref(), second.transient, second.retried), (Some("no. 2"), true, true));
    assert!(second.epoch > events[0].epoch && second.scheduled_for.is_some());
    assert_eq!(events.iter().map(|event| event.failures).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!((events[2].outcome, &events[2].error), (Some(Outcome::Succeeded), &None));
    assert_eq!(told.all().len(), 3, "a success after a success is told");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recovery_is_told_on_another_node_than_the_failure_also_if_the_body_completes_it_itself() {
    let world = World::new().await;
    let told = Told::default();
    let a = world.node("a").job(failing_at_first(1, &told)).start().await.unwrap();
    a.trigger(JOB).await.unwrap();
    told.are(&["failure"]).await;
    a.shutdown().await;
    let url = world.database.url();
    let job = Job::new(JOB, daily(), move |run: Run| {
        let url = url.clone();
        async move {
            let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            let sql = format!("select hourhand.complete('{JOB}', {})", run.epoch());
            client.batch_execute(&sql).await?;
            Ok::<_, Failure>(())
        }
    });
    let b = world.node("b").job(job.completes(true).on_recovery(told.hook("recovery"))).start().await.unwrap();
    b.trigger(JOB).await.unwrap();
    told.are(&["failure", "recovery"]).await;
    b.shutdown().await;
    assert_eq!(world.number("select failures::bigint from hourhand.job").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_occurrence_that_waits_too_long_is_told_once_by_one_of_all_nodes() {
    let world = World::new().await;
    world.registered_yesterday().await;
    // Somebody has the lock, so nobody can run what has been due since yesterday.
    world.eye.batch_execute(&format!("select pg_advisory_lock(hourhand.key('{JOB}'))")).await.unwrap();
    let told = Told::default();
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        let job = Journal::default().job_of(name, daily(), Duration::ZERO).on_late(told.hook("late"));
        nodes.push(world.node(name).job(job).start().await.unwrap());
    }
    let events = told.are(&["late"]).await;
    assert!(events[0].scheduled_for.is_some() && events[0].epoch.is_none());
    world.eye.batch_execute("select pg_advisory_unlock_all()").await.unwrap();
    world.until(Duration::from_secs(10), "select count(*) from hourhand.history where outcome = 'succeeded'", 1).await;
    for node in nodes {
        node.shutdown().await;
    }
    assert_eq!(told.all().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_panics_or_never_returns_holds_nothing_up() {
    let world = World::new().await;
    let body = |n: usize| async move { if n.is_multiple_of(2) { Err(Failure::unexpected("no")) } else { Ok(()) } };
    let count = Arc::new(AtomicUsize::new(0));
    let job =
        Job::new(JOB, Schedule::every(Duration::from_secs(1)), move |_| body(count.fetch_add(1, Ordering::SeqCst)));
    let job = job.on_failure(|_| async { panic!("a hook's own fault") }).on_recovery(|_| pending());
    let node = world.node("a").job(job).start().await.unwrap();
    world.until(Duration::from_secs(12), "select count(*) from hourhand.history where outcome <> 'skipped'", 5).await;
    assert!(node.health().await.ok(), "{:?}", node.health().await);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_runs_only_where_its_condition_holds() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let (cold, warm) = (Journal::default(), Journal::default());
    let a = world.node("a").job(cold.job_of("a", daily(), Duration::ZERO).only_if(|| ready(false))).start();
    let a = a.await.unwrap();
    let asked = Arc::new(AtomicBool::new(false));
    let seen = asked.clone();
    let condition = move || {
        seen.store(true, Ordering::SeqCst);
        ready(true)
    };
    let b = world.node("b").job(warm.job_of("b", daily(), Duration::ZERO).only_if(condition)).start().await.unwrap();
    warm.run(1, Duration::from_secs(10)).await;
    assert!(asked.load(Ordering::SeqCst));
    // By hand it runs anywhere.
    a.trigger(JOB).await.unwrap();
    cold.run(1, Duration::from_secs(10)).await;
    a.shutdown().await;
    b.shutdown().await;
    assert_eq!((cold.entries().len(), warm.entries().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_holds_nowhere_leaves_the_occurrence_due_and_shown_and_one_that_panics_does_not_hold() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let job = journal.job_of("a", daily(), Duration::ZERO).only_if(|| async { panic!("a condition's own fault") });
    let quiet = Job::new("quiet", yearly(), async |_| Ok::<_, Failure>(()));
    let node = world.node("a").job(job).job(quiet).start().await.unwrap();
    eventually(Duration::from_secs(5), async || {
        let health = node.health().await.problems;
        if health == [format!("job {JOB}: overdue")] { Ok(()) } else { Err(format!("{health:?}")) }
    })
    .await;
    let status = node.status().await.unwrap();
    assert!(status.iter().any(|job| job.job == JOB && job.overdue), "{status:?}");
    node.shutdown().await;
    assert!(journal.entries().is_empty());
    assert_eq!(world.number("select count(*) from hourhand.history where outcome <> 'skipped'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_condition_holds_nowhere_is_known_to_be_somebodys_and_is_not_forgotten() {
    let world = World::new().await;
    world.registered_yesterday().await;
    world.age("3 days").await;
    let registered = "update hourhand.definition set registered_at = registered_at - interval '4 days'";
    world.eye.batch_execute(registered).await.unwrap();
    let operator = Operator::builder(world.database.url()).connect().await.unwrap();
    assert!(operator.status(Some(JOB)).await.unwrap()[0].orphaned, "nothing tells of anybody who has it");
    let journal = Journal::default();
    let no = || journal.job_of("a", daily(), Duration::ZERO).only_if(|| ready(false));
    let a = world.node("a").job(no()).start().await.unwrap();
    world
        .until(Duration::from_secs(10), "select count(*) from hourhand.definition where known_at is not null", 1)
        .await;
    let status = operator.status(Some(JOB)).await.unwrap().remove(0);
    assert!(status.overdue && !status.orphaned, "{status:?}");
    let Forgetting::Refused(reason) = operator.forget(JOB).await.unwrap() else { panic!("it is forgotten") };
    assert!(reason.starts_with("it is not orphaned"), "{reason}");
    let findings = operator.examine().await.unwrap();
    let overdue = findings.iter().find(|finding| finding.id == "overdue").unwrap_or_else(|| panic!("{findings:?}"));
    assert!(overdue.why.contains("only_if"), "{}", overdue.why);
    // Once a period in the whole fleet.
    let known = "select extract(epoch from known_at)::text from hourhand.definition";
    let noted = world.text(known).await;
    let b = world.node("b").job(no()).start().await.unwrap();
    eventually(Duration::from_secs(10), async || {
        let seen = b.health().await.problems.iter().any(|problem| problem.contains("overdue"));
        if seen { Ok(()) } else { Err("not seen") }
    })
    .await;
    b.shutdown().await;
    a.shutdown().await;
    assert_eq!(world.text(known).await, noted);
    assert!(journal.entries().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_went_back_is_said_by_health() {
    let world = World::new().await;
    world.registered_yesterday().await;
    world.eye.batch_execute("update hourhand.job set handled_until = now() + interval '3 days'").await.unwrap();
    let job = Journal::default().job_of("a", daily(), Duration::ZERO);
    let node = world.node("a").job(job).start().await.unwrap();
    eventually(Duration::from_secs(5), async || {
        let problems = node.health().await.problems;
        if problems.iter().any(|problem| problem.contains("clock went back")) {
            Ok(())
        } else {
            Err(format!("{problems:?}"))
        }
    })
    .await;
    node.shutdown().await;
}
