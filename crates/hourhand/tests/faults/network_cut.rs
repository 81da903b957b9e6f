//! P7: the way between a holder and the server is cut without a word. Both notice by silence alone, the holder first.

use std::io::Write;
use std::time::Duration;

use hourhand_testkit::{Installation, Leashed, Server, eventually};
use tokio_postgres::Client;

use crate::book::boot_time;
use crate::child::{Body, Child};
use crate::network::{End, Network, RANGE};
use crate::report;
use crate::scene::{Scene, world_on};

/// Own body ended, ttl 15 s: give up 9 s after the last answered ping was sent, and stop within 3 s.
const ENDED: Duration = Duration::from_secs(13);
const TAKEN_OVER: Duration = Duration::from_secs(20);

/// A server that is reached over the network, and a scene on it.
async fn scene_over(network: &Network) -> (Server, Scene) {
    let addresses = format!("127.0.0.1,{}", network.server_address());
    let builder = Server::builder(&Installation::for_tests().unwrap()).setting("listen_addresses", &addresses);
    let server = tokio::task::block_in_place(|| builder.start()).unwrap();
    let rules = server.home().join("data/pg_hba.conf");
    let mut rules = std::fs::OpenOptions::new().append(true).open(rules).unwrap();
    writeln!(rules, "host all all {RANGE} password").unwrap();
    let scene = Scene::of(world_on(&server).await).await;
    scene.world.eye.batch_execute("select pg_reload_conf()").await.unwrap();
    (server, scene)
}

/// The holder beyond the wire, deaf to being told to stop: the latest that a body may end.
async fn holder_beyond(network: &Network, scene: &Scene) -> Leashed {
    let url = scene.world.database.url().replace("127.0.0.1", &network.server_address());
    let prefix = network.prefix();
    let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
    let child = Child { url: &url, node: "holder", body: Body::Deaf, book: &scene.book };
    let holder = child.start_under(&prefix, Duration::from_secs(86_400));
    scene.book.until(Duration::from_secs(20), "holder", "began", 1).await;
    holder
}

/// Waits until the holder's session is in the middle of a statement: its ping, held up by a lock on a table that it reads.
/// Returns the session that has the lock.
async fn statement_in_flight(scene: &Scene) -> Client {
    let blocker = scene.world.database.connect().await;
    blocker.batch_execute("begin; lock table hourhand.cancel in access exclusive mode").await.unwrap();
    let active = "select count(*) from pg_stat_activity where application_name = 'hourhand/15 holder' \
                  and datname = current_database() and state = 'active' and wait_event_type = 'Lock'";
    eventually(Duration::from_secs(10), async || match scene.world.number(active).await {
        1 => Ok(()),
        other => Err(format!("{other} pings under way")),
    })
    .await;
    blocker
}

async fn cut(what: &str, end: End, in_flight: bool) {
    let network = match Network::new() {
        Ok(network) => network,
        Err(reason) => return report::skipped(&format!("network cut {what}"), reason),
    };
    let (_server, scene) = scene_over(&network).await;
    let _holder = holder_beyond(&network, &scene).await;
    let _watcher = scene.start("watcher", Body::Deaf);
    scene.watched(Duration::from_secs(15)).await;
    let blocker = if in_flight { Some(statement_in_flight(&scene).await) } else { None };
    network.cut(end);
    let cut = boot_time();
    // The server ends the statement now, and its answer meets the cut.
    drop(blocker);
    let taken_over = scene.book.until(Duration::from_secs(60), "watcher", "began", 1).await;
    let ended = scene.book.until(Duration::from_secs(30), "holder", "ended", 1).await;
    report::within(&format!("network cut {what}: own body ended"), ENDED, ended.at - cut);
    report::within(&format!("network cut {what}: taken over"), TAKEN_OVER, taken_over.at - cut);
    report::measured(&format!("network cut {what}: bodies at once"), "1", scene.book.most_at_once());
    assert_eq!(scene.book.most_at_once(), 1, "{:#?}", scene.book.lines());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn cut_at_the_servers_end_the_holder_has_ended_before_another_begins() {
    cut("at the server's end", End::Server, false).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn cut_at_the_clients_end_the_holder_has_ended_before_another_begins() {
    cut("at the client's end", End::Client, false).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn cut_with_a_statement_in_flight_the_holder_has_ended_before_another_begins() {
    cut("with a statement in flight", End::Server, true).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "cargo xtask faults"]
async fn cut_at_the_clients_end_with_a_statement_in_flight_the_holder_has_ended_before_another_begins() {
    cut("at the client's end with a statement in flight", End::Client, true).await;
}
