//! `hourhand dashboard`: on loopback for whoever is there, elsewhere for those with credentials; ends although somebody looks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hourhand_testkit::eventually;

use crate::command::{hourhand, say};

/// A database that is away: the dashboard serves all the same.
const AWAY: &str = "postgres://u:secret@127.0.0.1:1/x";

/// The running command, killed if the test fails.
struct Dashboard {
    child: Child,
    address: String,
}

impl Dashboard {
    fn start(words: &[&str], environment: &[(&str, &str)]) -> Dashboard {
        let mut command = hourhand(["dashboard", "--database", AWAY, "--color", "never"].iter().chain(words));
        command.envs(environment.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("http://") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it ended without a word of where it is");
        }
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        Dashboard { child, address }
    }

    fn ask(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let address = &self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n").unwrap();
        stream
    }

    fn answer(&self, path: &str, headers: &str) -> String {
        let mut answer = String::new();
        self.ask(path, headers).read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn an_address_that_others_reach_is_refused_without_credentials() {
    let refused = say(&["dashboard", "--database", AWAY, "--listen", "0.0.0.0:0"]);
    refused.refused(2, "not a loopback address");
    assert!(refused.err.contains("--users-file"), "{refused:?}");
}

#[test]
fn users_of_a_file_and_a_token_of_the_environment_enter_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    let users = directory.path().join("users");
    std::fs::write(&users, "bob:other\nann:secret\n").unwrap();
    let words = ["--listen", "0.0.0.0:0", "--users-file", users.to_str().unwrap()];
    let mut dashboard = Dashboard::start(&words, &[("HOURHAND_DASHBOARD_TOKEN", "t0ken")]);
    dashboard.address = dashboard.address.replace("0.0.0.0", "127.0.0.1");
    let style = "/static/style.css";
    assert!(dashboard.answer(style, "").starts_with("HTTP/1.1 401"));
    assert!(dashboard.answer(style, "Authorization: Basic YW5uOnNlY3JldA==\r\n").starts_with("HTTP/1.1 200"));
    assert!(dashboard.answer(style, "Authorization: Bearer t0ken\r\n").starts_with("HTTP/1.1 200"));
    assert!(dashboard.answer(style, "Authorization: Bearer no\r\n").starts_with("HTTP/1.1 401"));
}

#[tokio::test]
async fn it_serves_with_the_database_away_and_ends_while_somebody_looks() {
    let mut dashboard = Dashboard::start(&["--listen", "127.0.0.1:0"], &[]);
    let page = dashboard.answer("/", "");
    assert!(page.starts_with("HTTP/1.1 503") && page.contains("The database does not answer"), "{page}");
    assert!(!page.contains("secret"), "{page}");
    let mut viewer = dashboard.ask("/events", "");
    let mut head = [0; 15];
    viewer.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    let begun = Instant::now();
    let pid = rustix::process::Pid::from_child(&dashboard.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let ended = eventually(Duration::from_secs(8), async || {
        dashboard.child.try_wait().unwrap().ok_or(format!("it goes on after {:?}", begun.elapsed()))
    })
    .await;
    assert!(ended.success(), "{ended:?}");
}
