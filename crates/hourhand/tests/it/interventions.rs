//! By hand, when things have gone wrong: moving a window, ending a holder, forgetting a job. Each says what it did, to the audit trail too.

use std::time::Duration;

use hourhand::{AuditQuery, Eviction, Failure, Forgetting, Job, Operator, Triggered};
use jiff::SignedDuration;

use crate::world::{JOB, Journal, World, daily, yearly};

async fn operator(world: &World) -> Operator {
    Operator::builder(world.database.url()).actor("ann@desk").connect().await.unwrap()
}

async fn registered(world: &World) {
    let job = Journal::default().job_of("0", daily(), Duration::ZERO).lookback(Duration::from_secs(600));
    world.node("0").job(job).start().await.unwrap().shutdown().await;
}

async fn actions(operator: &Operator) -> Vec<String> {
    let acts = operator.audit(&AuditQuery::default()).await.unwrap();
    assert!(acts.iter().all(|act| act.actor.as_deref() == Some("ann@desk")));
    acts.into_iter().map(|act| act.action).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_run_covers_what_lies_behind_a_window_that_was_moved() {
    let world = World::new().await;
    registered(&world).await;
    let operator = operator(&world).await;
    let before = operator.window(JOB).await.unwrap();
    assert_eq!((before.lookback, before.running), (SignedDuration::from_mins(10), None));
    assert_eq!(before.from, before.covered_until - before.lookback);
    let from = before.from - SignedDuration::from_hours(72);
    let moved = operator.set_window(JOB, from).await.unwrap();
    assert_eq!(moved.from, from);
    let journal = Journal::default();
    let job = journal.job_of("a", daily(), Duration::ZERO).lookback(Duration::from_secs(600));
    let node = world.node("a").job(job).start().await.unwrap();
    let Triggered::Started { .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let run = journal.run(1, Duration::from_secs(5)).await.run;
    assert_eq!(run.window().from, from);
    node.shutdown().await;
    assert!(operator.window(JOB).await.unwrap().from > before.from, "its success covers what came since");
    assert_eq!(actions(&operator).await, ["window"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_not_moved_past_an_open_fence_and_nobody_waits_for_ever() {
    let world = World::new().await;
    registered(&world).await;
    let operator = operator(&world).await;
    let before = operator.window(JOB).await.unwrap();
    let fenced = world.database.connect().await;
    fenced.batch_execute("begin; select from hourhand.job for no key update").await.unwrap();
    let error = operator.set_window(JOB, before.from - SignedDuration::from_hours(1)).await.unwrap_err();
    assert!(error.to_string().contains("55P03"), "{error}");
    fenced.batch_execute("commit").await.unwrap();
    assert_eq!(operator.window(JOB).await.unwrap(), before);
    assert!(actions(&operator).await.is_empty(), "an act that did not happen is on record");
}

#[tokio::test(flavor = "multi_thread")]
async fn evict_ends_whoever_holds_the_lock_and_says_whom() {
    let world = World::new().await;
    registered(&world).await;
    let operator = operator(&world).await;
    assert_eq!(operator.evict(JOB).await.unwrap(), Eviction::NotHeld);
    let pool = world.database.connect().await;
    let leaked = "set application_name = 'web pool'; select pg_try_advisory_lock(hourhand.key('order-sync'))";
    pool.batch_execute(leaked).await.unwrap();
    let seen = operator.holder(JOB).await.unwrap().unwrap();
    assert_eq!((seen.application.as_deref(), seen.epoch), (Some("web pool"), None));
    let Eviction::Ended(ended) = operator.evict(JOB).await.unwrap() else { panic!("not evicted") };
    assert_eq!((ended.pid, ended.application.as_deref()), (seen.pid, Some("web pool")));
    let held = "select count(*) from pg_locks where locktype = 'advisory' \
                and database = (select oid from pg_database where datname = current_database())";
    world.until(Duration::from_secs(5), held, 0).await;
    assert!(pool.batch_execute("select 1").await.is_err());
    assert_eq!(actions(&operator).await, ["evict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_session_was_evicted_is_recorded_as_lost() {
    let world = World::new().await;
    let journal = Journal::default();
    let node = world.node("a").job(journal.endless_job("a", yearly())).start().await.unwrap();
    let Triggered::Started { epoch } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let operator = operator(&world).await;
    let Eviction::Ended(ended) = operator.evict(JOB).await.unwrap() else { panic!("not evicted") };
    assert_eq!(ended.epoch, Some(epoch));
    let lost = "select count(*) from hourhand.history where outcome = 'lost'";
    world.until(Duration::from_secs(10), lost, 1).await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_end_the_holder_is_told_the_grant_and_may_with_it() {
    let world = World::new().await;
    registered(&world).await;
    let role = format!("op_{}", std::process::id());
    let rights = format!(
        "create role {role} login password 'x'; create role {role}_pool login password 'x'; \
         grant usage on schema hourhand to {role}; grant all on all tables in schema hourhand to {role}"
    );
    world.eye.batch_execute(&rights).await.unwrap();
    let as_role = |role: &str| {
        let url = world.database.url();
        format!("postgres://{role}:x@{}", url.split_once('@').unwrap().1)
    };
    let (pool, driving) =
        tokio_postgres::connect(&as_role(&format!("{role}_pool")), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(driving);
    let key = world.number("select hourhand.key('order-sync')").await;
    pool.batch_execute(&format!("select pg_try_advisory_lock({key})")).await.unwrap();
    let operator = Operator::builder(as_role(&role)).actor("ann@desk").connect().await.unwrap();
    let error = operator.evict(JOB).await.unwrap_err();
    assert!(error.is_forbidden() && error.to_string().contains("pg_signal_backend"), "{error}");
    world.eye.batch_execute(&format!("grant pg_signal_backend, pg_read_all_stats to {role}")).await.unwrap();
    assert!(matches!(operator.evict(JOB).await.unwrap(), Eviction::Ended(_)));
    drop(operator);
    world.eye.batch_execute(&format!("drop owned by {role}; drop role {role}; drop role {role}_pool")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_orphaned_job_that_nobody_holds_is_forgotten_and_then_wholly() {
    let world = World::new().await;
    registered(&world).await;
    let operator = operator(&world).await;
    let refused = |answer| match answer {
        Forgetting::Refused(reason) => reason,
        other => panic!("{other:?}"),
    };
    let reason = refused(operator.forget(JOB).await.unwrap());
    assert!(reason.contains("not orphaned") && reason.contains("2d") | reason.contains("48h"), "{reason}");
    world.age("3 days").await;
    let old = "update hourhand.definition set registered_at = registered_at - interval '3 days'; \
               insert into hourhand.history (job, outcome, count) select 'order-sync', 'skipped', 1 from generate_series(1, 25000)";
    world.eye.batch_execute(old).await.unwrap();
    let status = operator.status(Some(JOB)).await.unwrap().remove(0);
    assert!(status.overdue && status.orphaned);
    let holder = world.database.connect().await;
    holder.batch_execute("select pg_try_advisory_lock(hourhand.key('order-sync'))").await.unwrap();
    assert!(refused(operator.forget(JOB).await.unwrap()).contains("holds its lock"));
    holder.batch_execute("select pg_advisory_unlock_all()").await.unwrap();
    assert_eq!(operator.forget(JOB).await.unwrap(), Forgetting::Forgotten);
    for table in ["job", "definition", "lease", "history", "pause"] {
        assert_eq!(world.number(&format!("select count(*) from hourhand.{table}")).await, 0, "{table}");
    }
    assert!(operator.forget(JOB).await.unwrap_err().is_unknown_job());
    assert_eq!(actions(&operator).await, ["forget"]);
    registered(&world).await;
    assert!(!operator.status(Some(JOB)).await.unwrap()[0].overdue, "registered anew, it counts from then");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_runs_when_asked_is_forgotten_when_nobody_has_asked_for_two_weeks() {
    let world = World::new().await;
    let asked = || Job::on_demand("asked", async |_| Ok::<_, Failure>(()));
    world.node("a").job(asked()).run_once(Duration::ZERO).await.unwrap();
    let operator = operator(&world).await;
    let Forgetting::Refused(reason) = operator.forget("asked").await.unwrap() else { panic!("it is forgotten") };
    assert!(reason.contains("it has no schedule") && reason.contains("14 days"), "{reason}");
    let old = "update hourhand.job set started_at = started_at - interval '14 days'";
    world.eye.batch_execute(old).await.unwrap();
    assert_eq!(operator.forget("asked").await.unwrap(), Forgetting::Forgotten);
    assert_eq!(world.number("select count(*) from hourhand.job").await, 0);
    world.node("a").job(asked()).run_once(Duration::ZERO).await.unwrap();
}
