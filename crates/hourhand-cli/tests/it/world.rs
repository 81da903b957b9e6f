//! A migrated database, nodes on it in this process, and the command asked about them.

use std::time::Duration;

use hourhand::{Failure, Job, Run, Schedule, Scheduler, SchedulerBuilder};
use hourhand_testkit::{Database, eventually};
use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::command::{Said, hourhand, run};

pub struct World {
    pub database: Database,
    pub eye: Client,
}

impl World {
    pub async fn new() -> World {
        let database = Database::create().await;
        hourhand::migrate(&database.url(), "hourhand").await.unwrap();
        let eye = database.connect().await;
        World { database, eye }
    }

    /// What the command says with these words, of this database.
    pub async fn say(&self, words: &[&str]) -> Said {
        let mut command = hourhand(words);
        command.env("HOURHAND_DATABASE_URL", self.database.url()).env("USER", "ann").env("LOGNAME", "ann");
        tokio::task::spawn_blocking(move || run(&mut command)).await.unwrap()
    }

    /// The one JSON value that it says.
    pub async fn json(&self, words: &[&str]) -> Value {
        let mut words = words.to_vec();
        words.push("--json");
        self.say(&words).await.json()
    }

    /// A node with three jobs: one that succeeds, one that fails, one that works until it is told to stop.
    pub async fn node(&self) -> Scheduler {
        self.builder().start().await.unwrap()
    }

    /// The same, connected all the time.
    pub async fn resident(&self) -> Scheduler {
        self.builder().resident(true).start().await.unwrap()
    }

    fn builder(&self) -> SchedulerBuilder {
        let succeeds = Job::new("order-sync", yearly(), async |run: Run| {
            run.output("7 orders saved");
            Ok::<(), Failure>(())
        });
        let fails = Job::new("reindex", yearly(), async |run: Run| {
            run.output("page 1");
            Err::<(), _>(Failure::transient("the index \u{1b}[31mis away\nsecond line"))
        });
        let endless = Job::new("listener", Schedule::every(Duration::from_secs(86_400)), async |run: Run| {
            run.cancelled().await;
            Err::<(), _>(Failure::transient("told to stop"))
        });
        let builder = Scheduler::builder(self.database.url()).node("web-1").several_in_one_process();
        builder.job(succeeds).job(fails).job(endless)
    }

    /// Waits for a query's only answer to be true.
    pub async fn until(&self, query: &str) {
        eventually(Duration::from_secs(10), async || {
            let row = self.eye.query_typed_one(query, &[]).await.unwrap();
            if row.get::<_, bool>(0) { Ok(()) } else { Err(query.to_owned()) }
        })
        .await;
    }

    /// Triggers a job on a node and waits for its end.
    pub async fn run(&self, node: &Scheduler, job: &str) {
        node.trigger(job).await.unwrap();
        self.until(&format!("select count(*) = 1 from hourhand.history where job = '{job}'")).await;
    }
}

/// Nothing comes due during a test.
pub fn yearly() -> Schedule {
    Schedule::cron("0 0 1 1 *")
}

/// A value whose times, epochs and process ids are words, so that the rest can be compared as it stands.
///
/// A time is one only if it is written as promised: RFC 3339 in UTC with at least milliseconds.
pub fn golden(value: Value) -> Value {
    match value {
        Value::String(text) if is_time(&text) => json!("TIME"),
        Value::Array(items) => items.into_iter().map(golden).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name.clone(), known(&name, golden(value)))).collect()
        }
        other => other,
    }
}

fn known(name: &str, value: Value) -> Value {
    match (name, value.as_i64()) {
        ("epoch" | "running_epoch", Some(1_700_000_000_000_000..)) => json!("EPOCH"),
        ("pid" | "id", Some(1..)) => json!("NUMBER"),
        (_, _) => value,
    }
}

fn is_time(text: &str) -> bool {
    let Some((head, fraction)) = text.split_once('.') else { return false };
    let digits = fraction.trim_end_matches('Z').len();
    fraction.ends_with('Z') && digits >= 3 && head.len() == 19 && text.parse::<jiff::Timestamp>().is_ok()
}
