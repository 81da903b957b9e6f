//! `hourhand up` as the built binary, beside a service that the tests play.

mod database_away;
mod health_and_metrics;
mod hooks;
mod http_calls;
mod live_output;
mod over_tls;
mod reloads;
mod service;
mod stops;
mod wrong_from_the_start;

use std::path::PathBuf;
use std::time::Duration;

use hourhand_testkit::{Database, Leash, Leashed, eventually};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::Client;

use crate::command::hourhand;

/// A loaded machine takes its time; a build that is broken never comes.
pub const SOON: Duration = Duration::from_secs(20);

/// A database with the schema, an eye on it, and a directory for the file.
pub struct World {
    pub database: Database,
    pub eye: Client,
    pub home: TempDir,
}

impl World {
    pub async fn new() -> World {
        let database = Database::create().await;
        hourhand::migrate(&database.url(), "hourhand").await.unwrap();
        World { eye: database.connect().await, database, home: tempfile::tempdir().unwrap() }
    }

    /// Writes the file: the shortest ttl, this database, and these lines.
    pub fn configure(&self, lines: &str) -> PathBuf {
        self.write(&format!("database_url = {:?}\nttl = \"5s\"\n{lines}", self.database.url()))
    }

    pub fn write(&self, text: &str) -> PathBuf {
        let path = self.home.path().join("hourhand.toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Starts a sidecar with the file as it is.
    pub fn up(&self) -> Up {
        up(&self.home, &[])
    }

    pub async fn number(&self, query: &str) -> i64 {
        self.eye.query_typed_one(query, &[]).await.unwrap_or_else(|error| panic!("{query}: {error:?}")).get(0)
    }

    /// Waits until a query's number is at least this.
    pub async fn until(&self, query: &str, wanted: i64) {
        eventually(SOON, async || {
            let number = self.number(query).await;
            if number >= wanted { Ok(()) } else { Err(format!("{number} instead of {wanted} by {query}")) }
        })
        .await;
    }

    /// A day passes, and somebody else (the eye) holds the job's lock.
    pub async fn become_overdue(&self, job: &str) {
        let past = format!(
            "update hourhand.job set handled_until = handled_until - interval '1 day'; \
             update hourhand.definition set counts_from = counts_from - interval '1 day'; \
             select pg_advisory_lock(hourhand.key('{job}'))"
        );
        self.eye.batch_execute(&past).await.unwrap();
    }

    /// Waits for a job's first recorded end; its outcome, message and output.
    pub async fn first_end(&self, job: &str) -> (String, String, String) {
        let query = format!(
            "select outcome, coalesce(error, ''), coalesce(output, '') from hourhand.history where job = '{job}' \
             and outcome <> 'skipped' order by id limit 1"
        );
        eventually(SOON, async || {
            let row = self.eye.query_typed_opt(&query, &[]).await.map_err(|error| format!("{error:?}"))?;
            row.map(|row| (row.get(0), row.get(1), row.get(2))).ok_or_else(|| "no end yet".to_owned())
        })
        .await
    }
}

/// Starts a sidecar with the file in this directory.
pub fn up(home: &TempDir, more: &[&str]) -> Up {
    let mut command = hourhand(["up", "--listen", "127.0.0.1:0", "--color", "never"]);
    // Programs that a test puts there are found.
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(more).current_dir(home.path()).env("PATH", format!("{}:{path}", home.path().display()));
    let log = home.path().join("log");
    // Of one that ran here before.
    let _ = std::fs::remove_file(&log);
    Up { process: Leash::new(log).spawn(&command).unwrap() }
}

/// A sidecar.
pub struct Up {
    pub process: Leashed,
}

impl Up {
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.process.log()).unwrap_or_default()
    }

    /// Waits until it has said this so many times.
    pub async fn says(&self, words: &str, times: usize) {
        eventually(SOON, async || {
            let log = self.log();
            if log.matches(words).count() >= times { Ok(()) } else { Err(format!("not said yet: {words:?} in\n{log}")) }
        })
        .await;
    }

    /// The exit status, once it has ended.
    pub fn ended(&mut self, within: Duration) -> Option<i32> {
        self.process.wait(within).unwrap().and_then(|status| status.code())
    }

    /// What it answers on this path: status and body.
    pub async fn get(&self, path: &str) -> (u16, String) {
        self.says("listening on http://", 1).await;
        let log = self.log();
        let address = log.split("listening on http://").nth(1).unwrap().split(": ").next().unwrap().to_owned();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    /// Waits until this path answers with this status; the body.
    pub async fn answers(&self, path: &str, wanted: u16) -> String {
        eventually(SOON, async || match self.get(path).await {
            (status, body) if status == wanted => Ok(body),
            (status, body) => Err(format!("{status}: {body}\n{}", self.log())),
        })
        .await
    }
}
