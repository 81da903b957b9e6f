//! P2, P3: a superseded run never commits; a completion is atomic with the data and happens once.

use std::time::Duration;

use hourhand::{Error, Failure, Job, Run, Schedule};
use hourhand_testkit::eventually;
use sqlx::PgPool;
use tokio::sync::mpsc;

use crate::world::{JOB, World};

/// A node whose body hands its run to the test and then works until it is told to stop, or until the test lets it go.
async fn handed_run(world: &World, completes: bool) -> (hourhand::Scheduler, Run, mpsc::Sender<()>) {
    let (hand, mut handed) = mpsc::channel::<Run>(8);
    let (let_go, wait) = mpsc::channel::<()>(8);
    let wait = std::sync::Arc::new(tokio::sync::Mutex::new(wait));
    let job = Job::new(JOB, Schedule::cron("0 0 1 1 *"), move |run: Run| {
        let (hand, wait) = (hand.clone(), wait.clone());
        async move {
            hand.send(run.clone()).await.unwrap();
            tokio::select! {
                () = run.cancelled() => Err(Failure::transient("told to stop")),
                _ = async { wait.lock().await.recv().await } => Ok(()),
            }
        }
    });
    let node =
        world.node("a").job(job.completes(completes)).shutdown_grace(Duration::from_secs(3)).start().await.unwrap();
    node.trigger(JOB).await.unwrap();
    let run = handed.recv().await.unwrap();
    (node, run, let_go)
}

async fn pool(world: &World) -> PgPool {
    let pool = PgPool::connect(&world.database.url()).await.unwrap();
    sqlx::query("create table page (epoch bigint)").execute(&pool).await.unwrap();
    pool
}

async fn write(pool: &PgPool, run: &Run) -> Result<(), Error> {
    let mut transaction = pool.begin().await.unwrap();
    sqlx::query("insert into page values ($1)").bind(run.epoch()).execute(&mut *transaction).await.unwrap();
    run.commit(transaction).await
}

/// Another run starts, as another node would start it, while the older body still works.
async fn supersede(world: &World) {
    let later = "update hourhand.job set ended_epoch = epoch, epoch = epoch + 1";
    world.eye.batch_execute(later).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_write_commits_for_the_current_run_and_not_for_a_superseded_one() {
    let world = World::new().await;
    let pool = pool(&world).await;
    let (node, run, _let_go) = handed_run(&world, false).await;
    write(&pool, &run).await.unwrap();
    supersede(&world).await;
    let error = write(&pool, &run).await.unwrap_err();
    assert!(error.is_superseded(), "{error:?}");
    assert_eq!(world.number("select count(*) from page").await, 1);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_with_a_transaction_of_tokio_postgres() {
    let world = World::new().await;
    let (node, run, _let_go) = handed_run(&world, false).await;
    world.eye.batch_execute("create table page (epoch bigint)").await.unwrap();
    let mut client = world.database.connect().await;
    for (superseded, pages) in [(false, 1), (true, 1)] {
        let transaction = client.transaction().await.unwrap();
        transaction.batch_execute("insert into page values (1)").await.unwrap();
        let result = run.commit(transaction).await;
        assert_eq!(result.is_err_and(|error| error.is_superseded()), superseded);
        assert_eq!(world.number("select count(*) from page").await, pages);
        supersede(&world).await;
    }
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_repeatable_read_a_snapshot_older_than_the_later_run_is_refused_too() {
    let world = World::new().await;
    let (node, run, _let_go) = handed_run(&world, false).await;
    world.eye.batch_execute("create table page (epoch bigint)").await.unwrap();
    let mut client = world.database.connect().await;
    let transaction = client.build_transaction().isolation_level(tokio_postgres::IsolationLevel::RepeatableRead);
    let transaction = transaction.start().await.unwrap();
    transaction.batch_execute("insert into page values (1)").await.unwrap();
    supersede(&world).await;
    let error = run.commit(transaction).await.unwrap_err();
    assert!(error.is_superseded(), "{error:?}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_fenced_transaction_is_open_no_later_run_starts_and_afterwards_one_does() {
    let world = World::new().await;
    let pool = pool(&world).await;
    let (a, run, _let_go) = handed_run(&world, false).await;
    let mut transaction = pool.begin().await.unwrap();
    sqlx::query("insert into page values (1)").execute(&mut *transaction).await.unwrap();
    run.fence(&mut transaction).await.unwrap();
    // The holder's session ends; its lock is free, its row is not.
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'hourhand%a' \
               and datname = current_database()";
    world.eye.batch_execute(end).await.unwrap();
    a.shutdown().await;
    let job = Job::new(JOB, Schedule::cron("0 0 1 1 *"), async |_run| Ok::<_, Failure>(()));
    let b = world.node("b").job(job).start().await.unwrap();
    let asked = b.clone();
    let trigger = tokio::spawn(async move { asked.trigger(JOB).await });
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let epoch = world.number("select epoch from hourhand.job").await;
    assert_eq!(epoch, run.epoch(), "a later run started under an open fence");
    assert!(b.health().await.problems.iter().any(|problem| problem.contains("row is locked")));
    transaction.commit().await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(6), trigger).await.expect("no answer").unwrap().unwrap();
    assert!(matches!(answer, hourhand::Triggered::Started { .. }), "{answer:?}");
    assert_eq!(world.number("select count(*) from page").await, 1, "the fenced transaction did commit");
    b.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_committed_completion_is_the_success_and_its_output_is_added_by_the_node() {
    let world = World::new().await;
    let pool = pool(&world).await;
    let (node, run, let_go) = handed_run(&world, true).await;
    let mut transaction = pool.begin().await.unwrap();
    sqlx::query("insert into page values (1)").execute(&mut *transaction).await.unwrap();
    run.complete(&mut transaction).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(world.outcomes().await, ["succeeded"], "recorded by the body's own transaction");
    assert!(write(&pool, &run).await.unwrap_err().is_superseded(), "an ended run still writes");
    run.output("640 orders");
    let_go.send(()).await.unwrap();
    eventually(Duration::from_secs(3), async || {
        let output = world.text("select output from hourhand.history where outcome = 'succeeded'").await;
        if output.as_deref() == Some("640 orders\n") { Ok(()) } else { Err(format!("{output:?}")) }
    })
    .await;
    node.shutdown().await;
    assert_eq!(world.outcomes().await, ["succeeded"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_that_was_rolled_back_is_a_failure_although_the_body_returned_well() {
    let world = World::new().await;
    let pool = pool(&world).await;
    let (node, run, let_go) = handed_run(&world, false).await;
    let mut transaction = pool.begin().await.unwrap();
    run.complete(&mut transaction).await.unwrap();
    transaction.rollback().await.unwrap();
    let_go.send(()).await.unwrap();
    eventually(Duration::from_secs(3), async || match world.outcomes().await.as_slice() {
        [one] if one == "failed" => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    let error = world.text("select error from hourhand.history").await.unwrap();
    assert!(error.contains("complete"), "{error}");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_success_of_an_occurrence_fails_the_callers_transaction() {
    let world = World::new().await;
    let (node, run, _let_go) = handed_run(&world, false).await;
    let occurrence = "update hourhand.job set trigger = 'schedule', scheduled_for = '2026-01-01'; \
                      insert into hourhand.history (job, epoch, trigger, scheduled_for, outcome) \
                      values ('order-sync', 1, 'retry', '2026-01-01', 'succeeded')";
    world.eye.batch_execute(occurrence).await.unwrap();
    let mut client = world.database.connect().await;
    let mut transaction = client.transaction().await.unwrap();
    assert!(run.complete(&mut transaction).await.is_err());
    drop(transaction);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_with_nothing_but_usage_and_execute_can_fence_and_nobody_else_can() {
    let world = World::new().await;
    let (node, run, _let_go) = handed_run(&world, false).await;
    let role = format!("app_{}", world.database.name());
    let fence = format!("begin; select hourhand.fence('{JOB}', {}); commit", run.epoch());
    world.eye.batch_execute(&format!("create role {role}; grant usage on schema hourhand to {role}")).await.unwrap();
    let app = world.database.connect().await;
    app.batch_execute(&format!("set role {role}")).await.unwrap();
    assert!(app.batch_execute(&fence).await.is_err(), "EXECUTE is everybody's");
    app.batch_execute("rollback").await.unwrap();
    let grant = format!("grant execute on function hourhand.fence(text, bigint) to {role}");
    world.eye.batch_execute(&grant).await.unwrap();
    app.batch_execute(&fence).await.unwrap();
    // A schema of the caller's own cannot stand in for ours.
    app.batch_execute("create temp table job (name text, epoch bigint, ended_epoch bigint)").await.unwrap();
    app.batch_execute(&fence).await.unwrap();
    drop(app);
    world.eye.batch_execute(&format!("drop owned by {role}; drop role {role}")).await.unwrap();
    node.shutdown().await;
}
