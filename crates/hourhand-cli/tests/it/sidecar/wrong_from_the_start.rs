//! What a sidecar does not start with: exit status 2, and the reason.

use hourhand_testkit::{Database, Installation, Server};

use super::World;
use crate::command::{hourhand, run};
use crate::pooler::{Pooler, Setting};

const JOB: &str = "[job.sync]\nschedule = \"@hourly\"\ncommand = [\"true\"]\n";

#[test]
fn a_file_with_mistakes_is_refused_with_all_of_them() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("hourhand.toml"), "tll = \"5s\"\n[job.a]\nschedule = \"0 25 * * *\"\n").unwrap();
    let said = run(hourhand(["up", "--color", "never"]).current_dir(home.path()));
    let wanted = "\
error: hourhand.toml is refused
hourhand.toml:1:1: there is no key \"tll\" here
  tll = \"…\"
  ^^^
  right: ttl
hourhand.toml:2:6: job \"a\": there is nothing to run
  [job.a]
       ^
  right: command = […] or http = { url = \"…\" }
hourhand.toml:3:15: job \"a\": schedule: hour: 25 is too large: hours go from 0 to 23
  schedule = \"0 25 * * *\"
                ^^
";
    assert_eq!((said.code, said.err.as_str()), (2, wanted));
    let said = run(hourhand(["up"]).current_dir("/"));
    said.refused(2, "hourhand.toml: could not be read");
}

#[test]
fn a_bad_url_is_shown_where_it_stands_and_without_its_password() {
    let home = tempfile::tempdir().unwrap();
    let text = format!("\ndatabase_url = \"postgres://app:hush@db/app?sslmod=require\"\n{JOB}");
    std::fs::write(home.path().join("hourhand.toml"), text).unwrap();
    let said = run(hourhand(["up", "--color", "never"]).current_dir(home.path()));
    said.refused(2, "hourhand.toml:2:1: database_url: ");
    assert!(said.err.contains("sslmod") && !said.err.contains("hush"), "{said:?}");
    for (key, value) in [("namespace", "a:b"), ("schema", "pg_x")] {
        std::fs::write(home.path().join("hourhand.toml"), format!("{key} = {value:?}\n{JOB}")).unwrap();
        let said = run(hourhand(["up", "--database", "postgres://db/app"]).current_dir(home.path()));
        said.refused(2, "hourhand.toml:1:");
        assert!(said.err.contains(&format!("  {key} = ")), "{said:?}");
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_said_at_once() {
    let (world, taken) = (World::new().await, std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    world.configure(JOB);
    let address = taken.local_addr().unwrap().to_string();
    let said = run(hourhand(["up", "--listen", &address]).current_dir(world.home.path()));
    said.refused(1, "could not listen on 127.0.0.1:");
}

#[tokio::test]
async fn a_transaction_pooler_in_the_way_is_refused_with_the_ways_out() {
    let server = Server::start(&Installation::for_tests().unwrap()).unwrap();
    let database = Database::create_on(server.url()).await;
    hourhand::migrate(&database.url(), "hourhand").await.unwrap();
    let setting = Setting { mode: "transaction", round_robin: true, pool_size: 4 };
    let pooler = match Pooler::start(&server, setting).await {
        Ok(pooler) => pooler,
        Err(why) => return eprintln!("not tried here: {why}"),
    };
    let home = tempfile::tempdir().unwrap();
    let text = format!("database_url = {:?}\n{JOB}", pooler.url(database.name()));
    std::fs::write(home.path().join("hourhand.toml"), text).unwrap();
    let said = tokio::task::spawn_blocking(move || run(hourhand(["up"]).current_dir(home.path()))).await.unwrap();
    said.refused(2, "pooler");
    assert!(said.err.contains("session_url") && said.err.contains("lease"), "{said:?}");
}

#[tokio::test]
async fn what_the_command_line_says_comes_before_the_file_also_where_it_says_the_usual() {
    let world = World::new().await;
    world.configure(
        "schema = \"elsewhere\"\nexclusion = \"lease\"\n[job.sync]\nschedule = \"every 1s\"\ncommand = [\"true\"]\n",
    );
    let _up = super::up(&world.home, &["--schema", "hourhand", "--exclusion", "session"]);
    assert_eq!(world.first_end("sync").await.0, "succeeded");
    assert_eq!(world.number("select count(*) from hourhand.lease where holder is not null").await, 0);
}
