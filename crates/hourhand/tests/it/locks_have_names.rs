//! Every advisory lock of the database is shown, with a name where anybody knows one, and with what to think of it.

use std::time::Duration;

use hourhand::{AdvisoryLock, Operator, Triggered};
use hourhand_core::key::Key;
use hourhand_core::name::JobName;
use hourhand_testkit::{Installation, Server};
use tokio_postgres::{Client, NoTls};

use crate::proxy::Proxy;
use crate::world::{JOB, Journal, World, daily, yearly};

async fn client(url: &str) -> Client {
    let (client, driving) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(driving);
    client
}

async fn operator(world: &World) -> Operator {
    Operator::builder(world.database.url()).connect().await.unwrap()
}

/// The lock that a statement takes, as it is shown.
async fn shown(operator: &Operator, names: &[&str], client: &Client, take: &str) -> AdvisoryLock {
    client.batch_execute(take).await.unwrap_or_else(|error| panic!("{take}: {error:?}"));
    let mut locks = operator.locks(names).await.unwrap();
    assert_eq!(locks.len(), 1, "{take}: {locks:?}");
    client.batch_execute("select pg_advisory_unlock_all()").await.unwrap();
    locks.remove(0)
}

/// The keys were computed by other languages, for a database called `shop`.
#[tokio::test(flavor = "multi_thread")]
async fn the_locks_of_other_tools_are_called_by_their_names() {
    let installation = Installation::for_tests().unwrap();
    let server = tokio::task::block_in_place(|| Server::start(&installation)).unwrap();
    client(&server.url()).await.batch_execute("create database shop").await.unwrap();
    let url = server.url_for("shop");
    let (tool, operator) = (client(&url).await, Operator::builder(&url).connect().await.unwrap());
    let cases = [
        ("select pg_try_advisory_lock(5939944341529942170)", "Rails migrations"),
        ("select pg_try_advisory_lock(72707369)", "Prisma Migrate"),
        ("select pg_try_advisory_lock(77433833903597)", "Flyway"),
        ("select pg_try_advisory_lock(77431043545156)", "Flyway"),
        ("select pg_try_advisory_lock(3689236698)", "golang-migrate"),
        ("select pg_try_advisory_lock(3845299699)", "golang-migrate"),
        ("select pg_try_advisory_lock(1192721622)", "golang-migrate"),
        ("select pg_try_advisory_lock(2969972169318647292)", "sqlx migrations"),
        ("select pg_try_advisory_lock(7241865325823964)", "node-pg-migrate"),
        ("select pg_try_advisory_lock(5887940537704921958)", "goose"),
        ("select pg_try_advisory_lock(4097083626)", "goose"),
        ("select pg_try_advisory_lock(2686470616)", "Atlas migrate"),
        ("select pg_try_advisory_lock(3853314791062309107)", "Kysely migrations"),
        ("select pg_try_advisory_lock(hashtext('pg_partman run_maintenance'))", "pg_partman maintenance"),
        (
            "select pg_try_advisory_lock(('x' || encode(sha224((current_database() || '.pgboss.pgboss')::bytea), 'hex'))::bit(64)::bigint)",
            "pg-boss",
        ),
        (
            "select pg_try_advisory_lock(('x' || md5(current_database() || '.pgboss.pgboss'))::bit(64)::bigint)",
            "pg-boss",
        ),
        (
            "create table good_jobs (id uuid); insert into good_jobs values (gen_random_uuid()); \
             select pg_try_advisory_lock(('x' || substr(md5('good_jobs' || '-' || id::text), 1, 16))::bit(64)::bigint) from good_jobs",
            "GoodJob (by its statement)",
        ),
    ];
    for (take, name) in cases {
        let lock = shown(&operator, &[], &tool, take).await;
        assert_eq!((lock.name.as_deref(), lock.ours), (Some(name), false), "{take}");
    }
    let unknown = shown(&operator, &[], &tool, "select pg_try_advisory_lock(1)").await;
    assert_eq!((unknown.name, unknown.verdict.as_str()), (None, "held by an open session"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guessed_name_names_the_lock_and_how_its_key_was_made_of_it() {
    let world = World::unmigrated().await;
    let (operator, eye) = (operator(&world).await, &world.eye);
    let key = Key::of(None, &JobName::parse("nightly-report").unwrap());
    let cases = [
        ("select pg_try_advisory_lock(hashtext('nightly-report'))".to_owned(), "hashtext"),
        ("select pg_try_advisory_lock(hashtextextended('nightly-report', 0))".to_owned(), "hashtextextended"),
        ("select pg_try_advisory_lock(('x' || md5('nightly-report'))::bit(64)::bigint)".to_owned(), "md5"),
        ("select pg_try_advisory_lock(-2077502800)".to_owned(), "django-pglocks"),
        ("select pg_try_advisory_lock(69980848, 0)".to_owned(), "with_advisory_lock"),
        (format!("select pg_try_advisory_lock({key})"), "a job of hourhand"),
    ];
    for (take, way) in &cases {
        let lock = shown(&operator, &["another", "nightly-report"], eye, take).await;
        let name = lock.name.unwrap();
        assert!(name.starts_with("nightly-report (") && name.contains(way), "{take}: {name}");
    }
    let pair = shown(&operator, &["-7,9"], eye, "select pg_try_advisory_lock_shared(-7, 9)").await;
    assert_eq!(pair.name.as_deref(), Some("-7,9 (its two numbers)"));
    assert_eq!((pair.classid, pair.objid, pair.objsubid, pair.mode.as_str()), (4_294_967_289, 9, 2, "ShareLock"));
    assert_eq!(pair.key, (-7 << 32) | 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_locks_say_who_runs_what_who_stands_by_and_who_should_not_be_there() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let journal = Journal::default();
    let a = world.node("a").job(journal.endless_job("a", daily())).start().await.unwrap();
    let run = journal.run(1, Duration::from_secs(5)).await;
    let b = world.node("b").job(journal.endless_job("b", daily())).start().await.unwrap();
    let held = "select count(*) from pg_locks where locktype = 'advisory' \
                and database = (select oid from pg_database where datname = current_database())";
    world.until(Duration::from_secs(5), held, 2).await;
    let operator = operator(&world).await;
    let locks = operator.locks(&[]).await.unwrap();
    let by_name = |name: &str| locks.iter().find(|lock| lock.name.as_deref() == Some(name)).unwrap();
    let (lock, watch) = (by_name(JOB), by_name("watch of order-sync"));
    assert!(lock.ours && watch.ours && lock.granted && watch.granted);
    assert_eq!(lock.verdict, format!("run {} is under way on {}", run.run.epoch(), run.node));
    assert_eq!(watch.verdict, "stands by to take over");
    assert!(lock.application.as_deref().is_some_and(|name| name.starts_with("hourhand/5 ")));
    a.shutdown().await;
    b.shutdown().await;
    let group = Key::of_group(None, &JobName::parse("heavy").unwrap());
    world
        .eye
        .batch_execute("update hourhand.definition set body = body || '{\"exclusive_group\": \"heavy\"}'")
        .await
        .unwrap();
    let shown_group = shown(&operator, &[], &world.eye, &format!("select pg_try_advisory_lock({group})")).await;
    assert_eq!((shown_group.name.as_deref(), shown_group.ours), (Some("group heavy"), true));
    let migration = format!("select pg_try_advisory_lock({})", Key::MIGRATION);
    assert_eq!(shown(&operator, &[], &world.eye, &migration).await.name.as_deref(), Some("hourhand migrate"));
    let leaked = "set application_name = 'web'; select pg_try_advisory_lock(hourhand.key('order-sync'))";
    let foreign = shown(&operator, &[], &world.eye, leaked).await;
    assert!(foreign.verdict.contains("not hourhand's (web)"), "{}", foreign.verdict);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_whom_is_told() {
    let world = World::unmigrated().await;
    let (holder, waiter) = (world.database.connect().await, world.database.connect().await);
    holder.batch_execute("select pg_advisory_lock(4711)").await.unwrap();
    let pid: i32 = holder.query_typed_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let waiting = tokio::spawn(async move { waiter.batch_execute("select pg_advisory_lock(4711)").await });
    let waits = "select count(*) from pg_locks where locktype = 'advisory' and not granted \
                 and database = (select oid from pg_database where datname = current_database())";
    world.until(Duration::from_secs(5), waits, 1).await;
    let locks = operator(&world).await.locks(&[]).await.unwrap();
    assert_eq!(locks.iter().map(|lock| lock.granted).collect::<Vec<_>>(), [true, false]);
    assert!(locks[1].verdict.starts_with(&format!("waits for {pid}")), "{}", locks[1].verdict);
    holder.batch_execute("select pg_advisory_unlock(4711)").await.unwrap();
    waiting.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_see_little_sees_every_lock_and_is_told_what_it_cannot_see() {
    let world = World::new().await;
    world.registered_yesterday().await;
    let role = format!("locks_{}", std::process::id());
    world.eye.batch_execute(&format!("create role {role} login password 'x'")).await.unwrap();
    let url = format!("postgres://{role}:x@{}", world.database.url().split_once('@').unwrap().1);
    let operator = Operator::builder(url).connect().await.unwrap();
    let lock = shown(&operator, &[JOB], &world.eye, "select pg_try_advisory_lock(hourhand.key('order-sync'))").await;
    assert!(lock.name.as_deref().is_some_and(|name| name.starts_with(JOB)), "by its guess: {:?}", lock.name);
    assert_eq!((lock.state, lock.query, lock.idle_seconds), (None, None, None));
    assert!(lock.verdict.contains("pg_read_all_stats"), "{}", lock.verdict);
    drop(operator);
    world.eye.batch_execute(&format!("drop role {role}")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_locks_and_history_are_one_statement_each() {
    let world = World::new().await;
    let job = Journal::default().job_of("0", yearly(), Duration::ZERO);
    let node = world.node("0").job(job).start().await.unwrap();
    let Triggered::Started { .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let proxy = Proxy::to(&world.database.url(), None).await;
    let operator = Operator::builder(proxy.url()).connect().await.unwrap();
    let counted = |proxy: &Proxy| {
        let bracket = |text: &&String| text.starts_with("begin") || text.starts_with("commit");
        proxy.answered().values().filter(|text| !bracket(text)).count()
    };
    let before = counted(&proxy);
    operator.status(None).await.unwrap();
    assert_eq!(counted(&proxy) - before, 1, "{:?}", proxy.answered());
    operator.locks(&[JOB, "x"]).await.unwrap();
    assert_eq!(counted(&proxy) - before, 2, "{:?}", proxy.answered());
    operator.history(&hourhand::HistoryQuery::default()).await.unwrap();
    assert_eq!(counted(&proxy) - before, 3, "{:?}", proxy.answered());
    node.shutdown().await;
}
