//! A backfill runs the occurrences of a span again, in order, each with the span up to the next one as its window, and moves nothing
//! that the schedule lives by.

use std::time::Duration;

use hourhand::{Backfill, Failure, Job, Operator, Schedule, Trigger};
use hourhand_testkit::eventually;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::types::Type;

use crate::proxy::Proxy;
use crate::world::{JOB, Journal, World};

fn hourly() -> Schedule {
    Schedule::every(Duration::from_secs(3600))
}

/// The beginning of the hour, so many hours ago.
async fn hours_ago(world: &World, hours: i64) -> Timestamp {
    let now = world.number("select extract(epoch from date_trunc('hour', now() at time zone 'UTC'))::bigint").await;
    Timestamp::from_second(now - hours * 3600).unwrap()
}

/// Trigger, occurrence, outcome and window of each ended run, oldest first; times in hours since 1970.
async fn history(world: &World) -> Vec<String> {
    let hours = |column: &str| format!("coalesce((extract(epoch from {column}) / 3600)::numeric(12, 2)::text, '-')");
    let query = format!(
        "select concat_ws(' ', trigger, {}, outcome, {}, {}) from hourhand.history where epoch is not null order by id",
        hours("scheduled_for"),
        hours("window_from"),
        hours("window_until"),
    );
    let rows = world.eye.query_typed(&query, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

fn line(occurrence: Timestamp, outcome: &str) -> String {
    let hour = occurrence.as_second() / 3600;
    format!("backfill {hour}.00 {outcome} {hour}.00 {}.00", hour + 1)
}

async fn until_history(world: &World, wanted: &[String]) {
    eventually(Duration::from_secs(20), async || {
        let history = history(world).await;
        if history == wanted { Ok(()) } else { Err(format!("{history:#?} instead of {wanted:#?}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_occurrence_of_the_span_runs_once_in_order_and_what_is_covered_stays() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.job_of("a", hourly(), Duration::ZERO)).start().await.unwrap();
    let (from, until) = (hours_ago(&world, 5).await, hours_ago(&world, 2).await);
    let before = world.text("select concat(handled_until, ' ', covered_until, ' ', open_for) from hourhand.job").await;
    assert_eq!(node.backfill(JOB, from, until, Some("ann")).await.unwrap(), Backfill::Accepted { runs: 3 });
    let hour = SignedDuration::from_hours(1);
    let expected: Vec<String> = (0..3).map(|n| line(from + hour * n, "succeeded")).collect();
    until_history(&world, &expected).await;
    let after = world.text("select concat(handled_until, ' ', covered_until, ' ', open_for) from hourhand.job").await;
    assert_eq!(before, after, "a backfill moved what the schedule lives by");
    let first = &journal.entries()[0].run;
    assert_eq!((first.trigger(), first.scheduled_for()), (Trigger::Backfill, Some(from)));
    let audit = world.text("select concat(actor, ' ', action, ' ', job) from hourhand.audit").await;
    assert_eq!(audit.as_deref(), Some("ann backfill order-sync"));
    world.until(Duration::from_secs(5), "select count(*) from hourhand.request where answered_at is null", 0).await;
    node.shutdown().await;
    assert_eq!(journal.most_at_once(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_that_reaches_what_is_not_covered_opens_no_gap() {
    let world = World::new().await;
    let node = world.node("a").job(Journal::default().job_of("a", hourly(), Duration::ZERO)).start().await.unwrap();
    let (from, until) = (hours_ago(&world, 4).await, hours_ago(&world, 1).await);
    // Covered up to the middle of the second occurrence's window: the first run leaves it, the others carry it on.
    let covered = from + SignedDuration::from_mins(90);
    let set = "update hourhand.job set covered_until = to_timestamp($1)";
    world.eye.execute_typed(set, &[(&(covered.as_second() as f64), Type::FLOAT8)]).await.unwrap();
    node.backfill(JOB, from, until, None).await.unwrap();
    let covered = "select extract(epoch from covered_until)::bigint from hourhand.job";
    world.until(Duration::from_secs(10), covered, until.as_second()).await;
    // And far beyond a gap it does not move at all.
    world.eye.batch_execute("update hourhand.job set covered_until = covered_until - interval '3 days'").await.unwrap();
    let before = world.number(covered).await;
    node.backfill(JOB, from, until, None).await.unwrap();
    world.until(Duration::from_secs(10), "select count(*) from hourhand.history where trigger = 'backfill'", 6).await;
    assert_eq!(world.number(covered).await, before);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_is_not_repeated_and_no_retry_follows() {
    let world = World::new().await;
    let job = Job::new(JOB, hourly(), |_| async { Err::<(), _>(Failure::transient("no")) })
        .retry(hourhand::Retry::fixed(5, SignedDuration::ZERO));
    let node = world.node("a").job(job).start().await.unwrap();
    let (from, until) = (hours_ago(&world, 4).await, hours_ago(&world, 2).await);
    node.backfill(JOB, from, until, None).await.unwrap();
    until_history(&world, &[line(from, "failed"), line(from + SignedDuration::from_hours(1), "failed")]).await;
    node.shutdown().await;
    assert_eq!(history(&world).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_ends_the_backfill_and_a_second_one_is_refused_before() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", hourly())).start().await.unwrap();
    let (from, until) = (hours_ago(&world, 9).await, hours_ago(&world, 2).await);
    node.backfill(JOB, from, until, None).await.unwrap();
    let run = journal.run(1, Duration::from_secs(5)).await.run;
    let operator = Operator::builder(world.database.url()).connect().await.unwrap();
    let open = operator.requests(Some(JOB)).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].kind.as_str(), open[0].from, open[0].until), ("backfill", Some(from), Some(until)));
    assert_eq!((open[0].position, open[0].epoch), (Some(from), Some(run.epoch())));
    assert_eq!(operator.backfill(JOB, from, until).await.unwrap(), Backfill::UnderWay);
    assert_eq!(node.backfill(JOB, from, until, None).await.unwrap(), Backfill::UnderWay);
    assert_eq!(node.cancel(JOB, Some(run.epoch()), None).await.unwrap(), Some(run.epoch()));
    until_history(&world, &[line(from, "cancelled")]).await;
    assert!(operator.requests(None).await.unwrap().is_empty());
    assert_eq!(node.cancel(JOB, None, None).await.unwrap(), None);
    // Done with: another one is welcome.
    assert_eq!(node.backfill(JOB, from, until, None).await.unwrap(), Backfill::Accepted { runs: 7 });
    journal.run(2, Duration::from_secs(5)).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_due_by_the_schedule_goes_first() {
    let world = World::new().await;
    let journal = Journal::default();
    let schedule = || Schedule::every(Duration::from_secs(3));
    let node = world.node("a").job(journal.job_of("a", schedule(), Duration::from_millis(400))).start().await.unwrap();
    journal.run(1, Duration::from_secs(8)).await;
    let now = journal.entries()[0].run.scheduled_for().unwrap();
    let (from, until) = (now - SignedDuration::from_mins(30), now - SignedDuration::from_mins(29));
    node.backfill(JOB, from, until, None).await.unwrap();
    world.until(Duration::from_secs(40), "select count(*) from hourhand.history where trigger = 'backfill'", 20).await;
    let late = "select count(*) from hourhand.history where trigger in ('schedule', 'catch_up') \
                and started_at > scheduled_for + interval '1500 milliseconds'";
    assert_eq!(world.number(late).await, 0, "an occurrence waited for the backfill");
    let between = "select count(*) from hourhand.history where trigger = 'schedule' \
                   and id between (select min(id) from hourhand.history where trigger = 'backfill') \
                   and (select max(id) from hourhand.history where trigger = 'backfill')";
    assert!(world.number(between).await >= 2);
    let ordered = "select count(*) from (select scheduled_for > lag(scheduled_for) over (order by id) as ok \
                   from hourhand.history where trigger = 'backfill') h where not ok";
    assert_eq!(world.number(ordered).await, 0);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_goes_on_where_a_killed_one_left_off() {
    let world = World::new().await;
    let (a, b) = (Journal::default(), Journal::default());
    let way = Proxy::to(&world.database.url(), None).await;
    let dying = hourhand::Scheduler::builder(way.url()).node("a").ttl(Duration::from_secs(5)).several_in_one_process();
    let dying = dying.shutdown_grace(Duration::from_secs(1)).job(a.deaf_job("a", hourly())).start().await.unwrap();
    let (from, until) = (hours_ago(&world, 5).await, hours_ago(&world, 3).await);
    dying.backfill(JOB, from, until, None).await.unwrap();
    a.run(1, Duration::from_secs(5)).await;
    let heir = world.node("b").job(b.job_of("b", hourly(), Duration::ZERO)).resident(true).start().await.unwrap();
    // What kill -9 leaves: the session ends, nobody says a word, and nobody comes back.
    drop(way);
    let second = b.run(1, Duration::from_secs(10)).await.run;
    assert_eq!(second.scheduled_for(), Some(from + SignedDuration::from_hours(1)));
    until_history(&world, &[line(from, "lost"), line(from + SignedDuration::from_hours(1), "succeeded")]).await;
    heir.shutdown().await;
    dying.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_span_with_too_many_occurrences_is_refused_with_the_numbers() {
    let world = World::new().await;
    let node = world
        .node("a")
        .job(Journal::default().job_of("a", Schedule::every(Duration::from_secs(60)), Duration::ZERO))
        .start()
        .await
        .unwrap();
    let now = hours_ago(&world, 0).await;
    let error = node.backfill(JOB, now - SignedDuration::from_hours(24 * 30), now, None).await.unwrap_err();
    assert!(error.is_config());
    assert!(error.to_string().contains("43200 occurrences") && error.to_string().contains("10000 at most"), "{error}");
    let error = node.backfill(JOB, now, now, None).await.unwrap_err();
    assert!(error.is_config() && error.to_string().contains("empty"), "{error}");
    assert_eq!(world.number("select count(*) from hourhand.request").await, 0);
    node.shutdown().await;
}
