//! Somebody ends our session, lets our locks go, or holds a job's key without running the job.

use std::time::Duration;

use hourhand_testkit::{Installation, Server, eventually};
use tokio_postgres::Client;

use crate::book::boot_time;
use crate::child::Body;
use crate::pooler::{Pooler, Setting};
use crate::report;
use crate::scene::{Scene, node, world_on};
use crate::world::{JOB, Journal, World, daily};

const LEAK: &str = "select pg_advisory_lock(hourhand.key('order-sync'))";

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_session_tells_its_body_within_a_tenth_of_a_second() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let node = node(world.database.url(), "a").job(journal.endless_job("a", daily())).start().await.unwrap();
    let run = journal.run(1, Duration::from_secs(5)).await.run;
    let terminate = "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 1 \
                     and database = (select oid from pg_database where datname = current_database())";
    let cut = boot_time();
    world.eye.batch_execute(terminate).await.unwrap();
    run.cancelled().await;
    report::within(
        "session ended (pg_terminate_backend): the body is told",
        Duration::from_millis(100),
        boot_time() - cut,
    );
    journal.run(2, Duration::from_secs(10)).await;
    report::within(
        "session ended (pg_terminate_backend): the occurrence runs again",
        Duration::from_secs(5),
        boot_time() - cut,
    );
    node.shutdown().await;
    assert_eq!(journal.most_at_once(), 1);
}

/// From outside nobody can let a session's locks go, not even a superuser. A pooler can: here one that is switched to
/// transaction mode lends our connection to somebody who unlocks everything.
#[tokio::test(flavor = "multi_thread")]
async fn locks_let_go_behind_our_back_are_missed_by_the_next_ping() {
    let fault = "pg_advisory_unlock_all on our session, by a stranger: the body is told";
    let installation = Installation::for_tests().unwrap();
    let server = tokio::task::block_in_place(|| Server::start(&installation)).unwrap();
    let world = world_on(&server).await;
    world.registered_yesterday().await;
    let setting = Setting { mode: "session", round_robin: false, pool_size: 2 };
    let mut pooler = match Pooler::start(&server, setting).await {
        Ok(pooler) => pooler,
        Err(reason) => return report::skipped(fault, reason),
    };
    let journal = Journal::default();
    let url = pooler.url(world.database.name());
    let node = node(url, "a").job(journal.endless_job("a", daily())).start().await.unwrap();
    let run = journal.run(1, Duration::from_secs(5)).await.run;
    pooler.switch("transaction");
    let stranger = pooler.connect(world.database.name()).await;
    let locks = "select count(*) from pg_locks where locktype = 'advisory'";
    eventually(Duration::from_secs(10), async || {
        stranger.batch_execute("select pg_advisory_unlock_all()").await.unwrap();
        match world.number(locks).await {
            0 => Ok(()),
            locks => Err(format!("{locks} locks")),
        }
    })
    .await;
    let gone = boot_time();
    tokio::time::timeout(Duration::from_secs(20), run.cancelled()).await.expect("the body goes on without a lock");
    report::within(fault, Duration::from_secs(5), boot_time() - gone);
    node.shutdown().await;
    assert_eq!(journal.entries().len(), 1, "another run began through a transaction pooler");
}

/// A session of somebody else's that took the job's key and sits idle in its pool.
async fn leak(world: &World) -> (Client, i32) {
    let leak = world.database.connect().await;
    leak.batch_execute("set application_name = 'somebodys-pool'").await.unwrap();
    leak.batch_execute(LEAK).await.unwrap();
    let pid = leak.query_typed_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    (leak, pid)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_leaked_into_a_pool_is_reported_with_pid_application_and_age() {
    let scene = Scene::new().await;
    let (_leak, pid) = leak(&scene.world).await;
    let kept_out = boot_time();
    let _node = scene.start("a", Body::Endless);
    let log = scene.book.path().with_extension("a.log");
    let said = eventually(Duration::from_secs(20), async || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let line = text.lines().find(|line| line.contains("held by a session that runs nothing of it"));
        line.map(str::to_owned).ok_or(text)
    })
    .await;
    report::within("lock leaked into somebody's pool: reported", Duration::from_secs(5), boot_time() - kept_out);
    assert!(
        said.contains(&format!("pid={pid}")) && said.contains("somebodys-pool") && said.contains("silent_seconds="),
        "{said}"
    );
    assert_eq!(scene.book.lines(), [], "it ran beside the lock's holder");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leaked_lock_is_taken_back_where_the_settings_say_so() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let (_leak, pid) = leak(&world).await;
    let leaked = boot_time();
    let journal = Journal::default();
    let builder = node(world.database.url(), "a").evict_foreign_idle_after(Duration::from_secs(5));
    let node = builder.job(journal.endless_job("a", daily())).start().await.unwrap();
    eventually(Duration::from_secs(5), async || {
        let health = node.health().await;
        let said = health.problems.iter().any(|problem| problem.contains(&format!("session {pid}")));
        if said { Ok(()) } else { Err(format!("{health:?}")) }
    })
    .await;
    journal.run(1, Duration::from_secs(30)).await;
    let fault = "lock leaked, evict_foreign_idle_after = 5 s: the job runs";
    report::within(fault, Duration::from_secs(10), boot_time() - leaked);
    let health = node.health().await;
    assert!(health.ok(), "{health:?}");
    node.shutdown().await;
    assert!(node.trigger(JOB).await.is_ok());
}
