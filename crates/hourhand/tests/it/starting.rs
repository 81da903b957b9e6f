//! Starting: off is said once, wrong is said at once and whole, an absent database is no reason not to start.

use std::time::{Duration, Instant};

use hourhand::{Failure, Job, Run, Schedule, Scheduler, Triggered};
use jiff::ToSpan;

use crate::world::{JOB, Journal, World};

fn idle(name: &str, schedule: Schedule) -> Job {
    Job::new(name, schedule, async |_run: Run| Ok::<_, Failure>(()))
}

#[tokio::test]
async fn everything_that_is_wrong_is_said_in_one_error_without_a_secret() {
    let error = Scheduler::builder("postgres://app:s3cr3t@db.example/app?sslmode=sometimes")
        .ttl(Duration::from_millis(4500))
        .namespace("a:b")
        .schema("Hour Hand")
        .job(idle("twice", Schedule::hourly()))
        .job(idle("twice", Schedule::hourly()))
        .job(idle("bad", Schedule::cron("61 * * * *")))
        .job(idle("never", Schedule::cron("0 0 30 2 *")))
        .job(idle("hourhand", Schedule::hourly()))
        .job(idle("zone", Schedule::hourly().in_zone("Europe/Atlantis")))
        .job(idle("long", Schedule::hourly()).lookback(-1.seconds()))
        .runs_max(0)
        .start()
        .await
        .unwrap_err();
    assert!(error.is_config());
    let text = format!("{error}\n{error:?}");
    println!("{error}");
    for part in [
        "sslmode",
        "ttl",
        "namespace",
        "schema",
        "twice",
        "bad",
        "never",
        "\"hourhand\"",
        "Atlantis",
        "lookback",
        "runs_max",
    ] {
        assert!(text.contains(part), "nothing of {part:?} in {text}");
    }
    assert!(!text.contains("s3cr3t"), "{text}");
}

#[tokio::test]
async fn switched_off_it_starts_nothing_and_answers_so() {
    let node = Scheduler::builder("not even a url").enabled(false).start().await.unwrap();
    assert!(!node.is_on());
    assert_eq!(node.trigger(JOB).await.unwrap(), Triggered::Off);
    assert!(node.status().await.unwrap().is_empty());
    assert!(node.health().await.ok());
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_database_unreachable_it_starts_says_so_and_goes_on_trying() {
    let begun = Instant::now();
    // Nothing listens on the discard port.
    let builder = Scheduler::builder("postgres://app:s3cr3t@127.0.0.1:9/app").several_in_one_process();
    let node = builder.job(idle(JOB, Schedule::hourly())).start().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(6));
    let health = node.health().await;
    assert!(!health.ok() && !format!("{health:?}").contains("s3cr3t"), "{health:?}");
    assert!(node.trigger(JOB).await.unwrap_err().is_unreachable());
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_or_database_is_no_reason_not_to_start_and_shows_in_health() {
    let world = World::new().await;
    let url = world.database.url();
    let (_, rest) = url.split_once('@').unwrap();
    let node = Scheduler::builder(format!("postgres://postgres:wr0ng@{rest}")).several_in_one_process();
    let node = node.job(idle(JOB, Schedule::hourly())).start().await.unwrap();
    let health = node.health().await;
    assert!(!health.ok() && !format!("{health:?}").contains("wr0ng"), "{health:?}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_scheduler_for_the_same_database_in_one_process_is_refused_until_the_first_has_ended() {
    let world = World::new().await;
    let start = || Scheduler::builder(world.database.url()).job(idle(JOB, Schedule::hourly())).start();
    let first = start().await.unwrap();
    let error = start().await.unwrap_err();
    assert!(error.is_config() && error.to_string().contains("already"), "{error}");
    assert!(error.to_string().contains("no namespace") && !error.to_string().contains("None"), "{error}");
    // Another namespace with a schema of its own is another scheduler.
    let builder = Scheduler::builder(world.database.url()).namespace("other").schema("other").migrate(true);
    let other = builder.job(idle(JOB, Schedule::hourly())).start().await.unwrap();
    first.shutdown().await;
    let again = start().await.unwrap();
    again.shutdown().await;
    other.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_registered_under_another_key_is_refused_at_start() {
    let world = World::new().await;
    let first = world.node("a").job(idle(JOB, Schedule::hourly())).start().await.unwrap();
    let error = world.node("b").namespace("other").job(idle(JOB, Schedule::hourly())).start().await.unwrap_err();
    assert!(error.is_config() && error.to_string().contains(JOB), "{error}");
    first.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_max_bounds_the_bodies_of_a_process_and_the_locks_it_takes() {
    let world = World::new().await;
    let journal = Journal::default();
    let mut builder = world.node("a").runs_max(3);
    for number in 0..12 {
        let journal = journal.clone();
        let job = Job::new(format!("job-{number}"), Schedule::every(Duration::from_secs(86_400)), move |run: Run| {
            let journal = journal.clone();
            async move {
                let _under_way = journal.begin("a", &run);
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok::<_, Failure>(())
            }
        });
        builder = builder.job(job);
    }
    let node = builder.start().await.unwrap();
    world.age("1 day").await;
    // A day has passed for all of them, which this node learns with its next look.
    node.status().await.unwrap();
    journal.run(12, Duration::from_secs(10)).await;
    node.shutdown().await;
    assert_eq!(journal.most_at_once(), 3);
}

#[tokio::test]
async fn both_addresses_are_read_and_every_field_of_a_schedule_and_lengths_keep_their_sign() {
    let error = Scheduler::builder("postgres://db/shop?sslmode=odd")
        .session_url("postgres://db/shop?sslmode=queer")
        .job(idle("sync", Schedule::cron("61 24 * JAM *")).lookback(-1.seconds()))
        .start_delay(-90.seconds())
        .start()
        .await
        .unwrap_err();
    let text = error.to_string();
    for part in ["database: the query", "session_url: the query", "61 is too large", "24 is too large", "JAM"] {
        assert!(text.contains(part), "nothing of {part:?} in {text}");
    }
    assert!(text.contains("lookback: -1s is not between") && text.contains("start_delay: -1m 30s is less"), "{text}");
}
