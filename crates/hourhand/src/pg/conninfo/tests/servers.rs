//! Trying servers in turn, the words for what went wrong, and the life of a session.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::super::{ConnectError, Conninfo, Environment, connect};
use super::live::{Live, answer, ask, open};

const LIMIT: Duration = Duration::from_secs(20);
const PORT: &str = "select inet_server_port()";

fn parse(text: &str) -> Conninfo {
    Conninfo::parse(text, &Environment::of(&[])).unwrap()
}

async fn refusal(conninfo: &Conninfo, limit: Duration) -> ConnectError {
    match connect(conninfo, "hourhand", limit).await {
        Ok(_) => panic!("connected to {}", conninfo.identity()),
        Err(error) => error,
    }
}

/// A server that answers whatever it is sent first with these bytes, and hands out what it was sent.
async fn fake(answers: &'static [&'static [u8]]) -> (SocketAddr, mpsc::UnboundedReceiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            for answer in answers {
                let mut packet = vec![0; 4096];
                let length = stream.read(&mut packet).await.unwrap_or(0);
                packet.truncate(length);
                seen.send(packet).ok();
                stream.write_all(answer).await.ok();
            }
        }
    });
    (address, received)
}

/// What PostgreSQL says while it starts.
const STARTING: &[u8] = b"E\0\0\0\x3eSFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";

#[tokio::test]
async fn a_server_that_is_starting_is_passed_over() {
    let live = Live::shared();
    live.furnish().await;
    let (starting, _seen) = fake(&[b"N", STARTING]).await;
    let there = live.server.port();
    let text = format!("host=127.0.0.1,127.0.0.1 port={},{there} user=plain password=simple", starting.port());
    assert_eq!(ask(&parse(&text), PORT).await.unwrap(), there.to_string());

    let alone = format!("host=127.0.0.1 port={} user=plain", starting.port());
    let error = refusal(&parse(&alone), LIMIT).await;
    assert!(error.is_unreachable() && !error.is_denied() && !error.is_config());
    assert_eq!(
        error.to_string(),
        format!("cannot connect to 127.0.0.1:{}: fatal: the database system is starting up (57P03)", starting.port())
    );
}

#[tokio::test]
async fn a_server_that_never_answers_costs_the_next_one_nothing() {
    let live = Live::shared();
    live.furnish().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (silent, there) = (silent.local_addr().unwrap().port(), live.server.port());
    let text = format!("host=127.0.0.1,127.0.0.1 port={silent},{there} user=plain password=simple connect_timeout=1");
    assert_eq!(ask(&parse(&text), PORT).await.unwrap(), there.to_string());

    let alone = format!("host=127.0.0.1 port={silent} user=plain");
    let error = refusal(&parse(&alone), Duration::from_millis(200)).await;
    assert!(error.is_unreachable());
    assert_eq!(error.to_string(), format!("cannot connect to 127.0.0.1:{silent}: no answer within 200ms"));
}

#[tokio::test]
async fn what_happened_at_every_server_is_said() {
    let dead = || async { TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port() };
    let (one, two) = (dead().await, dead().await);
    let text = format!("postgres://plain@127.0.0.1:{one},127.0.0.1:{two}/orders");
    let error = refusal(&parse(&text), LIMIT).await;
    assert!(error.is_unreachable());
    let message = error.to_string();
    let refused = "Connection refused (os error 111)";
    assert_eq!(message, format!("cannot connect to 127.0.0.1:{one}: {refused}; to 127.0.0.1:{two}: {refused}"));
}

#[tokio::test]
async fn a_wrong_password_is_not_tried_on_the_next_server() {
    let live = Live::shared();
    live.furnish().await;
    let (next, mut seen) = fake(&[b"N"]).await;
    let text = format!(
        "host=127.0.0.1,127.0.0.1 port={},{} user=plain password=hunter2 dbname=orders",
        live.server.port(),
        next.port()
    );
    let error = refusal(&parse(&text), LIMIT).await;
    assert!(error.is_denied() && !error.is_unreachable());
    assert!(error.to_string().ends_with("password authentication failed for user \"plain\" (28P01)"), "{error}");
    assert_eq!(error.db_error().unwrap().code().code(), "28P01");
    assert!(seen.try_recv().is_err());
}

#[tokio::test]
async fn access_that_is_missing_is_told_from_servers_that_are_away() {
    let live = Live::shared();
    live.furnish().await;
    let superuser = open(&parse(&live.server.url())).await.unwrap();
    answer(&superuser.0, "drop role if exists crowded; create role crowded login password 'simple' connection limit 0")
        .await;
    let at = |user: &str, database: &str| {
        parse(&format!("postgres://{user}:simple@127.0.0.1:{}/{database}", live.server.port()))
    };
    let missing = refusal(&at("plain", "nothing"), LIMIT).await;
    assert!(missing.is_denied());
    assert!(missing.to_string().ends_with("database \"nothing\" does not exist (3D000)"), "{missing}");
    let crowded = refusal(&at("crowded", "orders"), LIMIT).await;
    assert!(crowded.is_unreachable());
    assert!(crowded.to_string().ends_with("(53300)"), "{crowded}");
    let options = refusal(&at("plain", "orders?options=-c%20no_such%3D1"), LIMIT).await;
    assert!(options.is_config());
    assert!(options.to_string().ends_with("unrecognized configuration parameter \"no_such\" (42704)"), "{options}");
}

#[tokio::test]
async fn a_missing_password_leads_to_where_it_was_looked_for() {
    let live = Live::shared();
    live.furnish().await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".pgpass");
    let text = format!("postgres://plain@127.0.0.1:{}/orders", live.server.port());
    let conninfo = Conninfo::parse(&text, &Environment::of(&[]).with_home(home.path())).unwrap();
    let error = refusal(&conninfo, LIMIT).await;
    assert!(error.is_denied());
    assert!(
        error.to_string().ends_with(&format!("(no password was given, and there is no {})", file.display())),
        "{error}"
    );

    fs::write(&file, "*:*:*:plain:simple\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let error = refusal(&conninfo, LIMIT).await.to_string();
    assert!(error.contains("is ignored: others may read it (its mode has to be 0600 or less)"), "{error}");

    // What the file says now counts, without a new start.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(ask(&conninfo, PORT).await.unwrap(), live.server.port().to_string());
    fs::write(&file, "*:*:*:plain:hunter2\n").unwrap();
    let error = refusal(&conninfo, LIMIT).await.to_string();
    assert!(error.ends_with(&format!("(the password is the one in {})", file.display())), "{error}");
    fs::write(&file, "*:*:*:app:simple\n").unwrap();
    let error = refusal(&conninfo, LIMIT).await.to_string();
    assert!(error.ends_with(&format!("and no line in {} fits)", file.display())), "{error}");
}

#[tokio::test]
async fn a_session_of_the_wrong_kind_is_told_from_a_server_that_is_away() {
    let live = Live::shared();
    live.furnish().await;
    let port = live.server.port();
    let text = format!("postgres://plain:simple@127.0.0.1:{port}/orders?target_session_attrs=standby");
    let error = refusal(&parse(&text), LIMIT).await;
    assert!(error.is_unreachable());
    assert_eq!(
        error.to_string(),
        format!(
            "cannot connect to 127.0.0.1:{port}: it is a primary that takes writes, \
             and target_session_attrs=standby asks for another"
        )
    );
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_tls_is_asked_for() {
    let (plain, _seen) = fake(&[b"N"]).await;
    let error =
        refusal(&parse(&format!("host=127.0.0.1 port={} user=plain sslmode=require", plain.port())), LIMIT).await;
    assert!(error.is_config());
    assert!(error.to_string().ends_with("the server speaks no tls, which the sslmode asks for"), "{error}");
}

#[tokio::test]
async fn another_kind_of_server_is_no_server_that_is_away() {
    let (other, _seen) = fake(&[b"N", b"?\0\0\0\x05?"]).await;
    let error = refusal(&parse(&format!("host=127.0.0.1 port={} user=plain", other.port())), LIMIT).await;
    assert!(error.is_config(), "{error:?}");
    assert!(error.to_string().contains("is not what a postgresql server says"), "{error}");
}

#[tokio::test]
async fn the_start_up_packet_says_no_more_than_the_user_did() {
    let (server, mut seen) = fake(&[STARTING]).await;
    let text = format!("host=127.0.0.1 port={} user=plain dbname=orders sslmode=disable", server.port());
    let packet = |text: String| {
        let conninfo = parse(&text);
        async move { refusal(&conninfo, LIMIT).await }
    };
    packet(text.clone()).await;
    let said = |packet: &[u8]| String::from_utf8_lossy(&packet[8..]).replace('\0', " ").trim().to_owned();
    let plain = "client_encoding UTF8 user plain database orders application_name hourhand";
    assert_eq!(said(&seen.recv().await.unwrap()), plain);

    packet(format!("{text} options='-c geqo=off' application_name=mine")).await;
    let own = "client_encoding UTF8 user plain database orders options -c geqo=off application_name mine";
    assert_eq!(said(&seen.recv().await.unwrap()), own);
}

#[tokio::test]
async fn notifications_arrive_and_the_driver_ends_with_the_session() {
    let live = Live::shared();
    live.furnish().await;
    let conninfo = parse(&live.server.url());
    let (client, driver) = connect(&conninfo, "hourhand", LIMIT).await.unwrap();
    let (sender, mut notifications) = mpsc::channel(1);
    let session = tokio::spawn(driver.run(sender));
    answer(&client, "listen news; notify news, 'one'").await;
    let notification = notifications.recv().await.unwrap();
    assert_eq!((notification.channel(), notification.payload()), ("news", "one"));

    // A full channel drops what does not fit and holds up no answer.
    answer(&client, "notify news, 'two'").await;
    answer(&client, "notify news, 'three'").await;
    assert_eq!(answer(&client, "select 7").await, "7");
    assert_eq!(notifications.recv().await.unwrap().payload(), "two");

    let pid = answer(&client, "select pg_backend_pid()").await;
    let other = open(&conninfo).await.unwrap();
    answer(&other.0, &format!("select pg_terminate_backend({pid})")).await;
    let ended = session.await.unwrap();
    assert_eq!(ended.unwrap_err().code().map(|code| code.code()), Some("57P01"));
    assert!(notifications.recv().await.is_none());
}

#[tokio::test]
async fn the_driver_ends_without_error_when_the_client_is_dropped() {
    let live = Live::shared();
    live.furnish().await;
    let (client, driver) = connect(&parse(&live.server.url()), "hourhand", LIMIT).await.unwrap();
    drop(client);
    let (sender, _notifications) = mpsc::channel(1);
    driver.run(sender).await.unwrap();
}
