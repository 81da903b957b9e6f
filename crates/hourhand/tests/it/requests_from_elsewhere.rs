//! Whoever reaches the database may ask for a run: a connected node takes it at once, one at rest at its next visit, and exactly one
//! node takes it, whatever is lost on the way.

use std::time::{Duration, Instant};

use hourhand::{Asked, Operator, Schedule};
use hourhand_testkit::eventually;
use jiff::{SignedDuration, Timestamp};

use crate::world::{JOB, Journal, World, daily, yearly};

const OPEN: &str = "select count(*) from hourhand.request where answered_at is null";
const MANUAL: &str = "select count(*) from hourhand.history where trigger = 'manual'";
/// What somebody writes whose notice nobody hears.
const UNHEARD: &str = "insert into hourhand.request (job, kind, expires_at) \
                       values ('order-sync', 'trigger', clock_timestamp() + interval '1 hour')";

async fn operator(world: &World) -> Operator {
    Operator::builder(world.database.url()).actor("ann@desk").connect().await.unwrap()
}

/// The job registered, by a node that is gone again.
async fn registered(world: &World, schedule: Schedule) {
    let job = Journal::default().job_of("0", schedule, Duration::ZERO);
    world.node("0").job(job).start().await.unwrap().shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resident_node_starts_it_within_200_ms_and_its_end_is_told_at_once() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = journal.job_of("a", yearly(), Duration::from_millis(300));
    let node = world.node("a").job(job).resident(true).start().await.unwrap();
    let operator = operator(&world).await;
    let mut starts = Vec::new();
    for _ in 0..5 {
        let asked = operator.trigger(JOB, None).await.unwrap();
        let Asked::Started { epoch, node } = asked else { panic!("{asked:?}") };
        assert_eq!(node.as_deref(), Some("a"));
        let took = "select (1000 * extract(epoch from j.started_at - q.asked_at))::bigint from hourhand.request q \
                    join hourhand.job j on j.epoch = q.epoch order by q.id desc limit 1";
        starts.push(world.number(took).await);
        let end = operator.wait(JOB, epoch).await.unwrap();
        let told = Timestamp::now();
        assert_eq!((end.outcome.as_str(), end.epoch), ("succeeded", epoch));
        let late = told.duration_since(end.ended_at.unwrap());
        assert!(late < SignedDuration::from_secs(1), "the end was told after {late:#}");
    }
    starts.sort_unstable();
    println!("from the request to the start, in ms: {starts:?}");
    assert!(starts[2] < 200, "{starts:?}");
    assert_eq!(journal.entries().len(), 5);
    assert_eq!(journal.entries()[0].run.scheduled_for(), None);
    let actor =
        world.text("select concat(actor, ' ', action) from hourhand.audit where job = 'order-sync' limit 1").await;
    assert_eq!(actor.as_deref(), Some("ann@desk trigger"));
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_ask_at_once_each_is_answered_and_one_run_starts() {
    let world = World::new().await;
    let journal = Journal::default();
    let a = world.node("a").job(journal.endless_job("a", yearly())).resident(true).start().await.unwrap();
    let b = world.node("b").job(journal.endless_job("b", yearly())).resident(true).start().await.unwrap();
    let operator = operator(&world).await;
    let asked = futures_util::future::join_all((0..10).map(|_| operator.trigger(JOB, None))).await;
    let epochs: Vec<i64> = asked
        .into_iter()
        .map(|asked| match asked.unwrap() {
            Asked::Started { epoch, .. } | Asked::AlreadyRunning { epoch: Some(epoch), .. } => epoch,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(epochs.iter().all(|epoch| *epoch == epochs[0]), "{epochs:?}");
    assert_eq!(world.number(OPEN).await, 0);
    let Asked::AlreadyRunning { node, since, epoch } = operator.trigger(JOB, None).await.unwrap() else {
        panic!("not found running")
    };
    assert_eq!(epoch, Some(epochs[0]));
    assert!(since.is_some() && ["a", "b"].contains(&node.as_deref().unwrap()));
    a.shutdown().await;
    b.shutdown().await;
    assert_eq!(journal.entries().len(), 1, "{:?}", journal.entries());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_all_nodes_at_rest_it_is_recorded_until_the_next_visit_and_run_once() {
    let world = World::new().await;
    registered(&world, daily()).await;
    let operator = operator(&world).await;
    let asked_at = Instant::now();
    let asked = operator.trigger(JOB, None).await.unwrap();
    assert!(asked_at.elapsed() < Duration::from_secs(4), "answered after {:?}", asked_at.elapsed());
    let Asked::Requested { request, by: Some(by), expires_at } = asked else { panic!("{asked:?}") };
    let day = SignedDuration::from_hours(24);
    let now = Timestamp::now();
    assert!(by > now && by <= now + day && by.as_second() % 86_400 == 0, "{by} is not the next occurrence");
    let (hour, minute) = (SignedDuration::from_hours(1), SignedDuration::from_mins(1));
    let expected = (by + minute).max(now + hour);
    assert!((expires_at - expected).abs() < SignedDuration::from_secs(10), "{expires_at} instead of {expected}");
    // A visit: two nodes start at once.
    let journal = Journal::default();
    let node = |name: &'static str| world.node(name).job(journal.job_of(name, daily(), Duration::ZERO));
    let (a, b, taken) = tokio::join!(node("a").start(), node("b").start(), operator.taken(request));
    world.until(Duration::from_secs(10), MANUAL, 1).await;
    a.unwrap().shutdown().await;
    b.unwrap().shutdown().await;
    assert_eq!((journal.entries().len(), world.number(OPEN).await), (1, 0));
    assert_eq!(taken.unwrap(), Some(journal.entries()[0].run.epoch()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_nobody_has_had_for_two_periods_is_answered_nobody_unless_a_connected_node_takes_it() {
    let world = World::new().await;
    registered(&world, daily()).await;
    let operator = operator(&world).await;
    let old = "update hourhand.definition set registered_at = registered_at - interval '3 days'";
    world.eye.batch_execute(old).await.unwrap();
    assert_eq!(operator.trigger(JOB, None).await.unwrap(), Asked::Nobody);
    assert_eq!(world.number("select count(*) from hourhand.request").await, 0, "the request was left behind");
    let journal = Journal::default();
    let node = world.node("a").job(journal.job_of("a", daily(), Duration::ZERO)).resident(true).start().await.unwrap();
    assert!(matches!(operator.trigger(JOB, None).await.unwrap(), Asked::Started { .. }));
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_notice_is_lost_is_found_after_a_reconnect() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = journal.job_of("a", yearly(), Duration::ZERO);
    let node = world.node("a").job(job).resident(true).start().await.unwrap();
    world.eye.batch_execute(UNHEARD).await.unwrap();
    let sessions = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                    where application_name = 'hourhand/5 a' and datname = current_database()";
    // The probe's may be on its way out.
    world.until(Duration::from_secs(5), &sessions.replace("pg_terminate_backend(pid)", "*"), 1).await;
    assert_eq!(world.number(sessions).await, 1);
    journal.run(1, Duration::from_secs(5)).await;
    world.until(Duration::from_secs(5), MANUAL, 1).await;
    node.shutdown().await;
    assert_eq!(journal.entries().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_that_drowns_among_others_is_made_up_for_by_a_look() {
    let world = World::new().await;
    let journal = Journal::default();
    let job = journal.job_of("a", yearly(), Duration::ZERO);
    let node = world.node("a").job(job).resident(true).start().await.unwrap();
    // More than a session keeps, all at once.
    let drowned = format!(
        "begin; {UNHEARD}; select pg_notify('hourhand', 'nothing ' || n) from generate_series(1, 5000) n; \
         select pg_notify('hourhand', 'look ' || key) from hourhand.job; commit"
    );
    world.eye.batch_execute(&drowned).await.unwrap();
    journal.run(1, Duration::from_secs(5)).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_made_for_one_job_finds_what_is_asked_of_another() {
    let world = World::new().await;
    registered(&world, yearly()).await;
    world.eye.batch_execute(UNHEARD).await.unwrap();
    let journal = Journal::default();
    // The request is for the job that has nothing due; its node has looked before it was made.
    world.eye.batch_execute("update hourhand.request set expires_at = '-infinity'").await.unwrap();
    let often =
        hourhand::Job::new("often", Schedule::every(Duration::from_secs(3)), async |_| Ok::<_, hourhand::Failure>(()));
    let job = journal.job_of("a", yearly(), Duration::ZERO);
    let node = world.node("a").job(job).job(often).start().await.unwrap();
    assert!(journal.entries().is_empty(), "a void request was run");
    world.eye.batch_execute("update hourhand.request set expires_at = 'infinity'").await.unwrap();
    journal.run(1, Duration::from_secs(8)).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_expired_is_not_run() {
    let world = World::new().await;
    registered(&world, daily()).await;
    let operator = operator(&world).await;
    let asked = operator.trigger(JOB, Some(Duration::from_secs(1))).await.unwrap();
    let Asked::Requested { request, .. } = asked else { panic!("{asked:?}") };
    assert_eq!(operator.taken(request).await.unwrap(), None);
    let journal = Journal::default();
    let node = world.node("a").job(journal.job_of("a", daily(), Duration::ZERO)).resident(true).start().await.unwrap();
    // Asked anew it is run, once.
    assert!(matches!(operator.trigger(JOB, None).await.unwrap(), Asked::Started { .. }));
    world.until(Duration::from_secs(5), MANUAL, 1).await;
    node.shutdown().await;
    assert_eq!(journal.entries().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_job_answers_paused_and_what_was_asked_before_waits_for_its_resumption() {
    let world = World::new().await;
    registered(&world, yearly()).await;
    let operator = operator(&world).await;
    world.eye.batch_execute(UNHEARD).await.unwrap();
    operator.pause(JOB, None, None).await.unwrap();
    assert_eq!(operator.trigger(JOB, None).await.unwrap(), Asked::Paused);
    let journal = Journal::default();
    let job = journal.job_of("a", yearly(), Duration::ZERO);
    let node = world.node("a").job(job).resident(true).start().await.unwrap();
    assert!(journal.entries().is_empty());
    assert!(operator.resume(JOB, false).await.unwrap());
    journal.run(1, Duration::from_secs(5)).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cancelled_before_it_begins_is_never_run() {
    let world = World::new().await;
    registered(&world, daily()).await;
    let operator = operator(&world).await;
    let asking = operator.trigger(JOB, None);
    let cancelling = async {
        world.until(Duration::from_secs(2), OPEN, 1).await;
        operator.cancel(JOB, None).await.unwrap()
    };
    let (asked, cancelled) = tokio::join!(asking, cancelling);
    assert_eq!(asked.unwrap(), Asked::Withdrawn);
    assert_eq!((cancelled.told, cancelled.lost, cancelled.withdrawn), (None, None, 1));
    let journal = Journal::default();
    let node = world.node("a").job(journal.job_of("a", daily(), Duration::ZERO)).resident(true).start().await.unwrap();
    assert!(matches!(operator.trigger(JOB, None).await.unwrap(), Asked::Started { .. }));
    node.shutdown().await;
    assert_eq!(journal.entries().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_neither_eats_nor_moves_an_occurrence() {
    let world = World::new().await;
    world.registered_yesterday().await;
    world.eye.batch_execute(UNHEARD).await.unwrap();
    let journal = Journal::default();
    let node = world.node("a").job(journal.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
    let both = "select count(*) from hourhand.history where outcome = 'succeeded'";
    world.until(Duration::from_secs(10), both, 2).await;
    node.shutdown().await;
    let of: Vec<bool> = journal.entries().iter().map(|entry| entry.run.scheduled_for().is_some()).collect();
    assert_eq!(of, [true, false], "the occurrence goes first, and both are run");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_leases_cannot_listen_and_finds_it_at_its_next_visit() {
    let world = World::new().await;
    let journal = Journal::default();
    let often =
        hourhand::Job::new("often", Schedule::every(Duration::from_secs(3)), async |_| Ok::<_, hourhand::Failure>(()));
    let job = journal.job_of("a", yearly(), Duration::ZERO);
    let node = world.node("a").job(job).job(often).exclusion(hourhand::Exclusion::Lease).start().await.unwrap();
    let operator = operator(&world).await;
    let asked = operator.trigger(JOB, None).await.unwrap();
    assert!(matches!(asked, Asked::Started { .. } | Asked::Requested { .. }), "{asked:?}");
    let run = journal.run(1, Duration::from_secs(8)).await.run;
    let end = operator.wait(JOB, run.epoch()).await.unwrap();
    assert_eq!(end.outcome, "succeeded");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_ends_with_a_lost_run_too_and_a_run_that_never_was_is_an_error() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.deaf_job("a", yearly())).resident(true).start().await.unwrap();
    let operator = operator(&world).await;
    let Asked::Started { epoch, .. } = operator.trigger(JOB, None).await.unwrap() else { panic!("not started") };
    let error = operator.wait(JOB, epoch + 1).await.unwrap_err();
    assert!(error.is_config() && error.to_string().contains("never had a run"), "{error}");
    let waiting = operator.wait(JOB, epoch);
    let losing = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let sessions = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                        where application_name = 'hourhand/5 a' and datname = current_database()";
        world.number(sessions).await
    };
    let began = Instant::now();
    let (end, _) = tokio::join!(waiting, losing);
    assert_eq!(end.unwrap().outcome, "lost");
    assert!(began.elapsed() < Duration::from_secs(8), "told after {:?}", began.elapsed());
    eventually(Duration::from_secs(10), async || match world.outcomes().await.as_slice() {
        [one] if one == "lost" => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    node.shutdown().await;
}
