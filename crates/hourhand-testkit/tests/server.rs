//! What a private server does, and what can be done to it.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use hourhand_testkit::{Database, Installation, Server, Shutdown, eventually};
use std::time::Duration;
use tokio_postgres::{Client, NoTls};

const SOON: Duration = Duration::from_secs(20);

fn server() -> Server {
    Server::start(&Installation::for_tests().unwrap()).unwrap()
}

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn ask(client: &Client, statement: &str) -> String {
    client.query_typed_one(statement, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_server_has_the_settings_it_was_given_and_listens_on_loopback_only() {
    let installation = Installation::for_tests().unwrap();
    let server = Server::builder(&installation).setting("max_connections", "7").start().unwrap();
    let client = connect(&server.url()).await.unwrap();
    assert_eq!(ask(&client, "show max_connections").await, "7");
    assert_eq!(ask(&client, "show fsync").await, "off");
    assert_eq!(ask(&client, "show listen_addresses").await, "127.0.0.1");
    let major = ask(&client, "show server_version_num").await;
    assert_eq!(major.parse::<u32>().unwrap() / 10_000, installation.major());
}

#[tokio::test]
async fn nobody_gets_in_without_the_password() {
    let server = server();
    let url = format!("postgres://postgres:guessed@127.0.0.1:{}/postgres", server.port());
    let refused = connect(&url).await.err().unwrap();
    assert_eq!(refused.code().map(|code| code.code()), Some("28P01"));
}

#[tokio::test]
async fn a_restarted_server_keeps_its_address_and_data() {
    let mut server = server();
    for shutdown in [Shutdown::Fast, Shutdown::Immediate] {
        let client = connect(&server.url()).await.unwrap();
        client.batch_execute("create table if not exists kept (at timestamptz default now())").await.unwrap();
        client.batch_execute("insert into kept default values").await.unwrap();
        server.restart(shutdown).unwrap();
        eventually(SOON, async || if client.is_closed() { Ok(()) } else { Err("the old session lives") }).await;
    }
    let client = connect(&server.url()).await.unwrap();
    assert_eq!(ask(&client, "select count(*)::text from kept").await, "2");
}

#[tokio::test]
async fn a_killed_server_is_gone_at_once_and_can_be_started_again() {
    let mut server = server();
    let client = connect(&server.url()).await.unwrap();
    client.batch_execute("create table kept ()").await.unwrap();
    server.kill();
    assert!(connect(&server.url()).await.is_err());
    assert_eq!(server.pid(), None);
    server.start_again().unwrap();
    let client = connect(&server.url()).await.unwrap();
    assert_eq!(ask(&client, "select to_regclass('kept')::text").await, "kept");
    assert!(server.log().contains("automatic recovery in progress"), "{}", server.log());
}

#[tokio::test]
async fn a_frozen_server_answers_nothing_until_it_is_thawed() {
    let mut server = server();
    let client = connect(&server.url()).await.unwrap();
    server.freeze();
    let silent = tokio::time::timeout(Duration::from_millis(300), client.batch_execute("select 1")).await;
    assert!(silent.is_err(), "it answered: {silent:?}");
    server.thaw();
    assert_eq!(ask(&client, "select 'here'").await, "here");
}

#[tokio::test]
async fn a_frozen_server_is_ended_like_any_other() {
    let mut server = server();
    let client = connect(&server.url()).await.unwrap();
    let home = server.home().to_path_buf();
    server.freeze();
    drop(server);
    eventually(SOON, async || if client.is_closed() { Ok(()) } else { Err("its backend lives") }).await;
    assert!(!home.exists());
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let installation = Installation::for_tests().unwrap();
    let error = Server::builder(&installation).setting("no_such_setting", "1").start().unwrap_err().to_string();
    assert!(error.contains("no_such_setting"), "{error}");
}

#[tokio::test]
async fn databases_are_empty_apart_from_each_other_and_dropped_with_their_sessions() {
    let (one, other) = (Database::create().await, Database::create().await);
    let client = one.connect().await;
    client.batch_execute("create table here ()").await.unwrap();
    let neighbour = other.connect().await;
    assert_eq!(ask(&neighbour, "select coalesce(to_regclass('here')::text, 'nothing')").await, "nothing");
    let name = one.name().to_owned();
    drop(one);
    let found = format!("select count(*)::text from pg_database where datname = '{name}'");
    assert_eq!(ask(&neighbour, &found).await, "0");
    eventually(SOON, async || if client.is_closed() { Ok(()) } else { Err("its session lives") }).await;
}
