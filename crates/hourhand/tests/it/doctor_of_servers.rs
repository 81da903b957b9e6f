//! Findings about the server itself, each on a server of its own: planted, seen, gone once the remedy is followed.

use std::time::Duration;

use hourhand::{Exclusion, Operator, Severity};
use hourhand_testkit::{Database, Installation, Server, Shutdown};
use tokio_postgres::{Client, NoTls};

use crate::doctor::{follow, found, gone, one};
use crate::pooler::{Pooler, Setting};
use crate::world::World;

async fn server_with(settings: &[(&str, &str)]) -> (Server, World) {
    let mut builder = Server::builder(&Installation::for_tests().unwrap());
    for (name, value) in settings {
        builder = builder.setting(name, value);
    }
    let server = tokio::task::block_in_place(|| builder.start()).unwrap();
    let world = World::unmigrated_on(Database::create_on(server.url()).await).await;
    hourhand::migrate(&world.database.url(), "hourhand").await.unwrap();
    (server, world)
}

async fn connect(url: &str) -> Client {
    let (client, driving) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(driving);
    client
}

/// Few places in the lock table: about 300.
const SMALL_TABLE: [(&str, &str); 5] = [
    ("max_locks_per_transaction", "10"),
    ("max_connections", "20"),
    ("max_worker_processes", "2"),
    ("max_wal_senders", "0"),
    ("autovacuum_max_workers", "1"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_told_and_promoted() {
    let (primary, world) = server_with(&[]).await;
    let standby = match tokio::task::block_in_place(|| primary.standby()) {
        Ok(standby) => standby,
        Err(error) => return eprintln!("skipped: {error:#}"),
    };
    let url = standby.url_for(world.database.name());
    let operator = Operator::builder(&url).connect().await.unwrap();
    let finding = one(&operator, "in_recovery").await;
    assert_eq!(finding.severity, Severity::Error);
    let refused = operator.status(None).await.unwrap_err();
    assert!(refused.to_string().contains("standby"), "{refused}");
    let eye = connect(&url).await;
    for statement in &finding.sql {
        eye.batch_execute(statement).await.unwrap();
    }
    let operator = Operator::builder(&url).connect().await.unwrap();
    gone(&operator, "in_recovery").await;
    assert!(operator.status(None).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_table_that_one_session_fills_is_told_with_that_session() {
    let (_server, world) = server_with(&SMALL_TABLE).await;
    let operator = Operator::builder(world.database.url()).connect().await.unwrap();
    gone(&operator, "lock_table").await;
    let hog = world.database.connect().await;
    let take = "set application_name = 'importer'; select pg_try_advisory_lock(n, 0) from generate_series(1, 170) n";
    hog.batch_execute(take).await.unwrap();
    let finding = one(&operator, "lock_table").await;
    assert!(finding.severity == Severity::Warning && finding.remedy.contains("(importer)"), "{finding:?}");
    follow(&operator, &finding, &world.eye).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_table_that_many_fill_is_made_larger() {
    let (mut server, world) = server_with(&SMALL_TABLE[1..]).await;
    world.eye.batch_execute("alter system set max_locks_per_transaction = 10").await.unwrap();
    tokio::task::block_in_place(|| server.restart(Shutdown::Fast)).unwrap();
    let fill = async || {
        let mut hogs = Vec::new();
        for hog in 1..=4 {
            let client = world.database.connect().await;
            client
                .batch_execute(&format!("select pg_try_advisory_lock(n, {hog}) from generate_series(1, 45) n"))
                .await
                .unwrap();
            hogs.push(client);
        }
        hogs
    };
    let hogs = fill().await;
    let operator = Operator::builder(world.database.url()).connect().await.unwrap();
    let finding = one(&operator, "lock_table").await;
    assert_eq!(finding.sql, ["alter system set max_locks_per_transaction = 20"]);
    hogs[0].batch_execute(&finding.sql[0]).await.unwrap();
    drop((hogs, operator));
    tokio::task::block_in_place(|| server.restart(Shutdown::Fast)).unwrap();
    let _hogs = fill().await;
    gone(&Operator::builder(world.database.url()).connect().await.unwrap(), "lock_table").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_hardly_a_connection_left_is_told() {
    let (_server, world) = server_with(&[("max_connections", "10"), ("superuser_reserved_connections", "2")]).await;
    let operator = Operator::builder(world.database.url()).connect().await.unwrap();
    gone(&operator, "connections").await;
    let mut idle = Vec::new();
    for _ in 0..4 {
        idle.push(world.database.connect().await);
    }
    let finding = one(&operator, "connections").await;
    assert!(
        finding.message.starts_with("server: 6 of 8") && finding.remedy.starts_with("end idle sessions"),
        "{finding:?}"
    );
    drop(idle);
    gone(&operator, "connections").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_pooler_in_the_way_is_told_with_both_ways_out() {
    let (server, world) = server_with(&[]).await;
    let setting = Setting { mode: "transaction", round_robin: true, pool_size: 3 };
    let pooler = match Pooler::start(&server, setting).await {
        Ok(pooler) => pooler,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let pooled = || Operator::builder(pooler.url(world.database.name()));
    let operator = pooled().connect().await.unwrap();
    let finding = one(&operator, "transaction_pooler").await;
    assert!(finding.remedy.contains("session_url") && finding.remedy.contains("exclusion = \"lease\""), "{finding:?}");
    let direct = pooled().session_url(world.database.url()).connect().await.unwrap();
    assert!(found(&direct, "transaction_pooler").await.is_empty() && found(&direct, "session").await.is_empty());
    let leases = pooled().exclusion(Exclusion::Lease).connect().await.unwrap();
    gone(&leases, "transaction_pooler").await;
    // And what looked left nothing behind on the pooler's connections.
    let left = "select count(*) from pg_locks where locktype = 'advisory'";
    world.until(Duration::from_secs(1), left, 0).await;
    for _ in 0..6 {
        let client = pooler.connect(world.database.name()).await;
        let row = client.query_typed_one("select current_setting('statement_timeout')", &[]).await.unwrap();
        assert_eq!(row.get::<_, String>(0), "0");
    }
}
