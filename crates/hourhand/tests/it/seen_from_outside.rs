//! Whoever reaches the database sees all jobs and acts on them, without a scheduler of his own.

use std::time::Duration;

use hourhand::{AuditQuery, HistoryQuery, Job, Operator, Triggered};
use hourhand_testkit::eventually;

use crate::world::{JOB, Journal, World, daily, yearly};

async fn operator(world: &World) -> Operator {
    Operator::builder(world.database.url()).actor("ann@desk").connect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn status_shows_every_job_of_the_schema_as_its_nodes_see_it() {
    let world = World::new().await;
    let journal = Journal::default();
    let other = Job::new("another", daily(), async |_| Ok::<_, hourhand::Failure>(()));
    let node = world.node("a").job(journal.endless_job("a", yearly())).job(other).start().await.unwrap();
    let operator = operator(&world).await;
    let before = operator.status(None).await.unwrap();
    assert_eq!(before.iter().map(|job| job.job.as_str()).collect::<Vec<_>>(), ["another", JOB]);
    assert_eq!(before, {
        let mut own = node.status().await.unwrap();
        own.sort_by(|one, other| one.job.cmp(&other.job));
        own
    });
    let Triggered::Started { epoch } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let during = operator.status(Some(JOB)).await.unwrap();
    let running = during[0].running.as_ref().unwrap();
    assert_eq!((running.node.as_deref(), running.epoch), (Some("a"), epoch));
    assert!(running.pid.is_some() && running.since.is_some());
    node.shutdown().await;
    let after = operator.status(Some(JOB)).await.unwrap();
    assert_eq!((after[0].running.as_ref(), after[0].last_outcome.as_deref()), (None, Some("cancelled")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_job_is_told_with_the_names_near_to_it() {
    let world = World::new().await;
    let operator = operator(&world).await;
    let error = operator.status(Some("x")).await.unwrap_err();
    assert!(error.is_unknown_job() && error.to_string().contains("no job has ever been registered"), "{error}");
    let job = Journal::default().job_of("0", yearly(), Duration::ZERO);
    world.node("0").job(job).start().await.unwrap().shutdown().await;
    let asked = [
        operator.status(Some("ordersync")).await.map(drop),
        operator
            .history(&HistoryQuery { job: Some("ordersync".to_owned()), ..HistoryQuery::default() })
            .await
            .map(drop),
        operator.pause("ordersync", None, None).await.map(drop),
        operator.resume("ordersync", false).await.map(drop),
        operator.cancel("ordersync", None).await.map(drop),
    ];
    for error in asked.map(Result::unwrap_err) {
        assert!(error.is_unknown_job() && error.to_string().contains("is \"order-sync\" meant?"), "{error}");
    }
    let job = HistoryQuery { job: Some(JOB.to_owned()), ..HistoryQuery::default() };
    assert!(operator.history(&job).await.unwrap().is_empty(), "known, but without history");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_not_there_is_told_with_the_command_that_makes_it() {
    let world = World::unmigrated().await;
    let error = operator(&world).await.status(None).await.unwrap_err();
    assert!(error.is_not_migrated() && !error.is_unreachable(), "{error}");
    assert!(error.to_string().contains("schema hourhand") && error.to_string().contains("hourhand migrate"), "{error}");
}

#[tokio::test]
async fn an_operator_that_cannot_connect_says_why() {
    let nobody = Operator::builder("postgres://u:secret@127.0.0.1:1/x").connect().await.unwrap_err();
    assert!(nobody.is_unreachable() && !nobody.to_string().contains("secret"), "{nobody}");
    let wrong =
        Operator::builder("postgres://h/x?sslmod=on").schema("A b").namespace("a:b").connect().await.unwrap_err();
    let text = wrong.to_string();
    assert!(
        wrong.is_config() && text.contains("sslmode") && text.contains("schema") && text.contains("namespace"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_ended_meanwhile_is_replaced_at_the_next_call() {
    let world = World::new().await;
    let operator = operator(&world).await;
    operator.status(None).await.unwrap();
    let ended = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'hourhand operator' \
                 and datname = current_database()";
    assert_eq!(world.number(ended).await, 1);
    let sessions = ended.replace("pg_terminate_backend(pid)", "*");
    world.until(Duration::from_secs(5), &sessions, 0).await;
    eventually(Duration::from_secs(5), async || operator.status(None).await.map_err(|error| error.to_string())).await;
    assert_eq!(world.number(&sessions).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_share_one_connection() {
    let world = World::new().await;
    let operator = std::sync::Arc::new(operator(&world).await);
    let mut askers = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let operator = operator.clone();
        askers.spawn(async move { operator.status(None).await.map(drop) });
    }
    for answer in askers.join_all().await {
        answer.unwrap();
    }
    let sessions = "select count(*) from pg_stat_activity where application_name = 'hourhand operator' \
                    and datname = current_database()";
    assert_eq!(world.number(sessions).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn pause_resume_and_cancel_reach_the_node_and_are_in_the_audit_trail() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", yearly())).start().await.unwrap();
    let operator = operator(&world).await;
    assert!(!operator.resume(JOB, false).await.unwrap());
    let cancelled = async |epoch| {
        let cancelled = operator.cancel(JOB, epoch).await.unwrap();
        (cancelled.told, cancelled.lost, cancelled.withdrawn)
    };
    assert_eq!(cancelled(None).await, (None, None, 0));
    let Triggered::Started { epoch } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let until = "2099-01-01T00:00:00Z".parse().unwrap();
    let past = Some("2019-01-01T00:00:00Z".parse().unwrap());
    let refused = operator.pause(JOB, past, None).await.unwrap_err();
    assert!(refused.is_config() && refused.to_string().contains("is over"), "{refused}");
    assert!(operator.status(Some(JOB)).await.unwrap().remove(0).paused.is_none());
    assert_eq!(operator.pause(JOB, Some(until), Some("moving house")).await.unwrap(), Some(epoch));
    let paused = operator.status(Some(JOB)).await.unwrap().remove(0).paused.unwrap();
    assert_eq!((paused.until, paused.reason.as_deref()), (Some(until), Some("moving house")));
    assert_eq!(paused.actor.as_deref(), Some("ann@desk"));
    assert_eq!(cancelled(Some(epoch + 1)).await, (None, None, 0));
    assert_eq!(cancelled(None).await, (Some(epoch), None, 0));
    eventually(Duration::from_secs(5), async || {
        let query = HistoryQuery { epoch: Some(epoch), ..HistoryQuery::default() };
        let found = operator.history(&query).await.unwrap();
        let outcome = found.first().map(|entry| entry.outcome.as_str());
        if outcome == Some("cancelled") { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
    assert!(operator.resume(JOB, true).await.unwrap());
    let acts = operator.audit(&AuditQuery { job: Some(JOB.to_owned()), ..AuditQuery::default() }).await.unwrap();
    let told: Vec<_> = acts.iter().map(|act| (act.action.as_str(), act.detail.to_string())).collect();
    let paused = r#"{"reason":"moving house","until":"2099-01-01T00:00:00.000000Z"}"#;
    let cancelled = format!(r#"{{"epoch":{epoch}}}"#);
    assert_eq!(
        told,
        [("resume", r#"{"catch_up":true}"#.to_owned()), ("cancel", cancelled), ("pause", paused.to_owned())]
    );
    assert!(acts.iter().all(|act| act.actor.as_deref() == Some("ann@desk")));
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_says_what_it_took_back_and_that_nobody_is_there_to_be_told() {
    let world = World::new().await;
    let job = Journal::default().job_of("a", yearly(), Duration::ZERO);
    world.node("a").job(job).start().await.unwrap().shutdown().await;
    let lost = "update hourhand.job set epoch = 7, pid = 1, trigger = 'manual', started_at = now();
        insert into hourhand.request (job, kind, expires_at) values ('order-sync', 'trigger', now() + interval '1 h')";
    world.eye.batch_execute(lost).await.unwrap();
    let operator = operator(&world).await;
    for withdrawn in [1, 0] {
        let cancelled = operator.cancel(JOB, None).await.unwrap();
        assert_eq!((cancelled.told, cancelled.lost, cancelled.withdrawn), (None, Some(7), withdrawn));
    }
    let again =
        "insert into hourhand.request (job, kind, expires_at) values ('order-sync', 'trigger', now() + interval '1 h')";
    world.eye.batch_execute(again).await.unwrap();
    // A scheduler's own answer is the run that stops, and there is none.
    let job = Journal::default().job_of("b", yearly(), Duration::ZERO);
    let held = "select pg_try_advisory_lock(hourhand.key('order-sync'))";
    world.eye.batch_execute(held).await.unwrap();
    let node = world.node("b").job(job).start().await.unwrap();
    assert_eq!(node.cancel(JOB, None, None).await.unwrap(), None);
    node.shutdown().await;
    world.until(Duration::from_secs(1), "select count(*) from hourhand.request where answered_at is null", 0).await;
}
