//! What the tests share: a fresh database, nodes on it, and a journal of what their bodies did.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hourhand::{Failure, Job, Run, Schedule, Scheduler, SchedulerBuilder};
use hourhand_testkit::{Database, eventually};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

/// The job that most tests use.
pub const JOB: &str = "order-sync";

/// Once a day: at most one occurrence comes due during a test.
pub fn daily() -> Schedule {
    Schedule::every(Duration::from_secs(86_400))
}

/// Nothing comes due during a test.
pub fn yearly() -> Schedule {
    Schedule::cron("0 0 1 1 *")
}

/// A database with hourhand's schema, and an eye on it.
pub struct World {
    pub database: Database,
    pub eye: Client,
}

impl World {
    /// With the schema made.
    pub async fn new() -> World {
        let world = World::unmigrated().await;
        hourhand::migrate(&world.database.url(), "hourhand").await.unwrap();
        world
    }

    /// Without.
    pub async fn unmigrated() -> World {
        World::unmigrated_on(Database::create().await).await
    }

    /// Without, in a given database.
    pub async fn unmigrated_on(database: Database) -> World {
        let _ = tracing_subscriber::fmt().with_env_filter("hourhand=debug").with_test_writer().try_init();
        let eye = database.connect().await;
        World { database, eye }
    }

    /// A node to be, as if it were a process of its own; ttl is the shortest allowed.
    pub fn node(&self, name: &str) -> SchedulerBuilder {
        Scheduler::builder(self.database.url()).node(name).ttl(Duration::from_secs(5)).several_in_one_process()
    }

    /// One number, by a query.
    pub async fn number(&self, query: &str) -> i64 {
        self.eye.query_typed_one(query, &[]).await.unwrap_or_else(|error| panic!("{query}: {error:?}")).get(0)
    }

    /// One text, by a query; none for null or no row.
    pub async fn text(&self, query: &str) -> Option<String> {
        let row = self.eye.query_typed_opt(query, &[]).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        row.and_then(|row| row.get(0))
    }

    /// Waits until a query's number is this.
    pub async fn until(&self, within: Duration, query: &str, wanted: i64) {
        eventually(within, async || {
            let number = self.number(query).await;
            if number == wanted { Ok(()) } else { Err(format!("{number} instead of {wanted} by {query}")) }
        })
        .await;
    }

    /// The outcomes in history of the test's job, oldest first.
    pub async fn outcomes(&self) -> Vec<String> {
        let query = "select outcome from hourhand.history where job = $1 and outcome <> 'skipped' order by id";
        let rows = self.eye.query_typed(query, &[(&JOB, Type::TEXT)]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// A job of once a day, registered by a node that is gone again, whose occurrence of today is due.
    pub async fn registered_yesterday(&self) {
        let idle = Journal::default().job_of("0", daily(), Duration::ZERO);
        self.node("0").job(idle).start().await.unwrap().shutdown().await;
        self.age("1 day").await;
    }

    /// Makes an occurrence due: as if the job had been registered a while ago.
    pub async fn age(&self, interval: &str) {
        let past = format!(
            "update hourhand.job set handled_until = handled_until - interval '{interval}'; \
             update hourhand.definition set counts_from = counts_from - interval '{interval}'"
        );
        self.eye.batch_execute(&past).await.unwrap();
    }
}

/// What one body did.
#[derive(Clone, Debug)]
pub struct Entry {
    pub node: String,
    pub run: Run,
}

/// What the bodies of a test did, and how many are at it.
#[derive(Clone, Default)]
pub struct Journal {
    entries: Arc<Mutex<Vec<Entry>>>,
    under_way: Arc<Mutex<(usize, usize)>>,
}

/// Counts a body as under way until it is dropped.
pub struct UnderWay(Journal);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.lock().unwrap().0 -= 1;
    }
}

impl Journal {
    /// Notes that a body has begun.
    pub fn begin(&self, node: &str, run: &Run) -> UnderWay {
        self.entries.lock().unwrap().push(Entry { node: node.to_owned(), run: run.clone() });
        let mut under_way = self.under_way.lock().unwrap();
        under_way.0 += 1;
        under_way.1 = under_way.1.max(under_way.0);
        UnderWay(self.clone())
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap().clone()
    }

    pub fn under_way(&self) -> usize {
        self.under_way.lock().unwrap().0
    }

    /// The most bodies that were ever under way at once.
    pub fn most_at_once(&self) -> usize {
        self.under_way.lock().unwrap().1
    }

    /// Waits for the n-th run (from 1) to begin.
    pub async fn run(&self, n: usize, within: Duration) -> Entry {
        eventually(within, async || self.entries().get(n - 1).cloned().ok_or(format!("{} runs", self.entries().len())))
            .await
    }

    /// A job whose body takes this long.
    pub fn job_of(&self, node: &str, schedule: Schedule, takes: Duration) -> Job {
        let (journal, node) = (self.clone(), node.to_owned());
        Job::new(JOB, schedule, move |run| {
            let (journal, node) = (journal.clone(), node.clone());
            async move {
                let _under_way = journal.begin(&node, &run);
                tokio::time::sleep(takes).await;
                Ok::<_, Failure>(())
            }
        })
    }

    /// A job whose body works until it is told to stop, and then stops.
    pub fn endless_job(&self, node: &str, schedule: Schedule) -> Job {
        let (journal, node) = (self.clone(), node.to_owned());
        Job::new(JOB, schedule, move |run| {
            let (journal, node) = (journal.clone(), node.clone());
            async move {
                let _under_way = journal.begin(&node, &run);
                run.cancelled().await;
                Err::<(), _>(Failure::transient("told to stop"))
            }
        })
    }

    /// A job whose body never ends by itself.
    pub fn deaf_job(&self, node: &str, schedule: Schedule) -> Job {
        let (journal, node) = (self.clone(), node.to_owned());
        Job::new(JOB, schedule, move |run| {
            let (journal, node) = (journal.clone(), node.clone());
            async move {
                let _under_way = journal.begin(&node, &run);
                pending::<Result<(), Failure>>().await
            }
        })
    }
}
