//! A job under a new name goes on where the old one was, also while processes of both versions live.

use std::time::Duration;

use hourhand::{Failure, Job, Schedule};

use crate::world::{JOB, Journal, World, daily};

const NEW: &str = "order-pull";

/// The job under its new name.
fn renamed(journal: &Journal, takes: Duration) -> Job {
    let journal = journal.clone();
    let body = move |run| {
        let journal = journal.clone();
        async move {
            let _under_way = journal.begin("new", &run);
            tokio::time::sleep(takes).await;
            Ok::<_, Failure>(())
        }
    };
    Job::new(NEW, daily(), body).renamed_from(JOB)
}

async fn succeeded(world: &World, job: &str, count: i64) {
    let query = format!("select count(*) from hourhand.history where outcome = 'succeeded' and job = '{job}'");
    world.until(Duration::from_secs(10), &query, count).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_handled_and_covered_is_not_repeated_and_the_pause_stands() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let (old, new) = (Journal::default(), Journal::default());
    let a = world.node("a").job(old.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
    succeeded(&world, JOB, 1).await;
    a.pause(JOB, None, Some("audit"), Some("ann")).await.unwrap();
    let covered = old.entries()[0].run.window().until;
    let b = world.node("b").job(renamed(&new, Duration::ZERO)).start().await.unwrap();
    assert!(b.status().await.unwrap()[0].paused.is_some(), "the pause is forgotten");
    b.resume(NEW, true, None).await.unwrap();
    b.trigger(NEW).await.unwrap();
    let run = new.run(1, Duration::from_secs(5)).await.run;
    assert_eq!(run.window().from, covered);
    assert!(run.epoch() > old.entries()[0].run.epoch());
    succeeded(&world, NEW, 1).await;
    // Under the old name nothing starts any more, and nothing is wrong with that.
    assert!(a.trigger(JOB).await.unwrap_err().to_string().contains(NEW));
    assert!(a.health().await.ok(), "{:?}", a.health().await);
    a.shutdown().await;
    b.shutdown().await;
    assert_eq!((old.entries().len(), new.entries().len()), (1, 1), "an occurrence was repeated");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_under_the_old_name_is_waited_for_and_its_occurrence_not_run_again() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let (old, new) = (Journal::default(), Journal::default());
    let a = world.node("a").job(old.job_of("a", daily(), Duration::from_secs(4))).start().await.unwrap();
    old.run(1, Duration::from_secs(5)).await;
    let b = world.node("b").job(renamed(&new, Duration::ZERO)).start().await.unwrap();
    assert_eq!(old.under_way(), 1, "the start waits for the run");
    assert_eq!(world.number(&format!("select count(*) from hourhand.job where name = '{NEW}'")).await, 0);
    let taken_over =
        format!("select count(*) from hourhand.job where name = '{NEW}' and handled_until > now() - interval '1 day'");
    world.until(Duration::from_secs(12), &taken_over, 1).await;
    b.trigger(NEW).await.unwrap();
    let run = new.run(1, Duration::from_secs(5)).await.run;
    assert_eq!((run.scheduled_for(), run.window().from), (None, old.entries()[0].run.window().until));
    a.shutdown().await;
    b.shutdown().await;
    assert_eq!((old.entries().len(), new.entries().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_died_under_the_old_name_has_its_occurrence_run_under_the_new_one() {
    let world = World::new().await;
    world.registered_yesterday().await;
    // A run that ended without a word.
    let died = "update hourhand.job set epoch = 7, scheduled_for = date_trunc('day', now(), 'UTC'), trigger = 'schedule', \
                started_at = now(), window_from = covered_until, window_until = now(), attempt = 1, takeover = 0";
    world.eye.batch_execute(died).await.unwrap();
    let new = Journal::default();
    let b = world.node("b").job(renamed(&new, Duration::ZERO)).start().await.unwrap();
    let run = new.run(1, Duration::from_secs(5)).await.run;
    assert_eq!((run.takeover(), run.scheduled_for().is_some()), (1, true));
    succeeded(&world, NEW, 1).await;
    b.shutdown().await;
    assert_eq!(world.outcomes().await, ["lost"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_that_is_rolled_back_gives_the_job_back_with_all_that_was_done_and_the_next_one_takes_it_again() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let (old, new) = (Journal::default(), Journal::default());
    let b = world.node("b").job(renamed(&new, Duration::ZERO)).start().await.unwrap();
    succeeded(&world, NEW, 1).await;
    let covered = new.entries()[0].run.window().until;
    b.shutdown().await;
    // Not yet: what is due has been done.
    let a = world.node("a").job(old.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
    a.shutdown().await;
    assert!(old.entries().is_empty(), "taken back at once");
    world.age("1 day").await;
    world.eye.batch_execute("update hourhand.job set covered_until = covered_until - interval '1 day'").await.unwrap();
    let a = world.node("a").job(old.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
    let run = old.run(1, Duration::from_secs(8)).await.run;
    assert_eq!(run.window().from, covered - jiff::SignedDuration::from_hours(24));
    succeeded(&world, JOB, 1).await;
    let b = world.node("b").job(renamed(&new, Duration::ZERO)).start().await.unwrap();
    b.trigger(NEW).await.unwrap();
    let again = new.run(2, Duration::from_secs(8)).await.run;
    assert_eq!(again.window().from, run.window().until);
    a.shutdown().await;
    b.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_paused_under_the_new_name_is_not_taken_back_before_it_is_resumed() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let (old, new) = (Journal::default(), Journal::default());
    let b = world.node("b").job(renamed(&new, Duration::ZERO)).start().await.unwrap();
    succeeded(&world, NEW, 1).await;
    b.pause(NEW, None, Some("audit"), Some("ann")).await.unwrap();
    b.shutdown().await;
    world.age("1 day").await;
    let goes_on = "select count(*) from hourhand.job where renamed_to is not null and name = ";
    let a = world.node("a").job(old.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
    assert!(a.trigger(JOB).await.is_err(), "an answer under the old name");
    assert_eq!(world.number(&format!("{goes_on} '{JOB}'")).await, 1, "taken back while paused");
    a.shutdown().await;
    // Resumed, what came due meanwhile counts as handled: nobody has missed anything yet.
    let resumed = "update hourhand.pause set active = false, resumed_at = now()";
    world.eye.batch_execute(resumed).await.unwrap();
    let a = world.node("a").job(old.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
    a.shutdown().await;
    assert_eq!(world.number(&format!("{goes_on} '{JOB}'")).await, 1, "taken back as soon as it was resumed");
    world.eye.batch_execute("update hourhand.pause set resumed_at = resumed_at - interval '1 day'").await.unwrap();
    let a = world.node("a").job(old.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
    succeeded(&world, JOB, 1).await;
    assert_eq!(world.number(&format!("{goes_on} '{NEW}'")).await, 1);
    a.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuous_body_that_nobody_runs_under_its_new_name_is_taken_back() {
    let world = World::new().await;
    let old = Journal::default();
    let before = || old.endless_job("a", Schedule::continuous());
    world.node("0").job(before()).start().await.unwrap().shutdown().await;
    let run = old.entries().len();
    let new = Job::new(NEW, Schedule::continuous(), async |run: hourhand::Run| {
        run.cancelled().await;
        Ok::<_, Failure>(())
    });
    let b = world.node("b").job(new.renamed_from(JOB)).start().await.unwrap();
    world
        .until(
            Duration::from_secs(5),
            &format!("select count(*) from hourhand.job where name = '{NEW}' and epoch > ended_epoch"),
            1,
        )
        .await;
    b.shutdown().await;
    // Not yet: somebody may be about to go on with it.
    let a = world.node("a").job(before()).start().await.unwrap();
    assert!(a.health().await.ok(), "{:?}", a.health().await);
    a.shutdown().await;
    assert_eq!(old.entries().len(), run, "taken back at once");
    let idle = "update hourhand.job set not_before = not_before - interval '1 hour', last_success_at = null, \
                started_at = started_at - interval '1 hour'";
    world.eye.batch_execute(idle).await.unwrap();
    world.age("1 hour").await;
    let a = world.node("a").job(before()).start().await.unwrap();
    old.run(run + 1, Duration::from_secs(8)).await;
    a.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taking_over_that_a_failover_has_lost_is_done_again() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let (old, new) = (Journal::default(), Journal::default());
    let a = world.node("a").job(old.job_of("a", daily(), Duration::ZERO)).start().await.unwrap();
    succeeded(&world, JOB, 1).await;
    a.shutdown().await;
    let b = world.node("b").job(renamed(&new, Duration::ZERO)).start().await.unwrap();
    let lost = format!(
        "delete from hourhand.definition where job = '{NEW}'; delete from hourhand.lease where job = '{NEW}'; \
                        delete from hourhand.job where name = '{NEW}'; update hourhand.job set renamed_to = null"
    );
    world.eye.batch_execute(&lost).await.unwrap();
    b.trigger(NEW).await.unwrap();
    let run = new.run(1, Duration::from_secs(5)).await.run;
    assert_eq!(run.window().from, old.entries()[0].run.window().until, "it began anew beside the old name");
    let under = format!("select count(*) from hourhand.job where name = '{JOB}' and renamed_to = '{NEW}'");
    assert_eq!(world.number(&under).await, 1);
    b.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_without_an_old_row_is_a_new_job_and_a_wrong_old_name_an_error() {
    let world = World::new().await;
    let node = world.node("a").job(renamed(&Journal::default(), Duration::ZERO)).start().await.unwrap();
    assert_eq!(world.number("select count(*) from hourhand.job").await, 1);
    let own = Job::new("x", Schedule::hourly(), async |_| Ok::<_, Failure>(())).renamed_from("x");
    let error = node.add(own).await.unwrap_err();
    assert!(error.is_config() && error.to_string().contains("renamed_from"), "{error}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_scheduler_never_has_a_job_beside_its_former_self() {
    let world = World::new().await;
    let (old, new) = (Journal::default(), Journal::default());
    let job = |journal: &Journal| journal.job_of("a", daily(), Duration::from_secs(2));
    let other = || Job::new("order-fetch", daily(), async |_| Ok::<_, Failure>(())).renamed_from(JOB);
    let Err(error) = world.node("a").job(job(&old)).job(renamed(&new, Duration::ZERO)).job(other()).start().await
    else {
        panic!("it starts")
    };
    let wanted = "job \"order-pull\": renamed_from: \"order-sync\" is a job of this scheduler, and keeps its state: leave one of the two out\n\
                  job \"order-fetch\": renamed_from: \"order-sync\" is a job of this scheduler, and keeps its state: leave one of the two out\n\
                  job \"order-fetch\": renamed_from: \"order-pull\" was called \"order-sync\" too, and only one can go on where that was";
    assert_eq!(error.to_string(), wanted);
    world.registered_yesterday().await;
    let node = world.node("a").job(job(&old)).start().await.unwrap();
    let refused = async |job| node.add(job).await.unwrap_err().to_string();
    assert!(refused(other()).await.contains("is a job of this scheduler"));
    old.run(1, Duration::from_secs(5)).await;
    // The lock under which it runs is this session's: it would not refuse the new name.
    assert!(node.remove(JOB).await.unwrap().is_some());
    node.add(renamed(&new, Duration::ZERO)).await.unwrap();
    assert_eq!(old.under_way(), 0, "taken over while it ran");
    assert!(refused(other()).await.contains("was called \"order-sync\" too"));
    assert!(refused(job(&old)).await.contains("keeps its state"));
    node.trigger(NEW).await.unwrap();
    let run = new.run(1, Duration::from_secs(5)).await.run;
    assert_eq!(run.window().from, old.entries()[0].run.window().until);
    node.remove(NEW).await.unwrap();
    node.add(job(&old)).await.unwrap();
    node.shutdown().await;
}
