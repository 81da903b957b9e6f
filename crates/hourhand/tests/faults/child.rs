//! A process with one node, to be killed, frozen or cut off: this test binary again, told by variables what to be.

use std::future::pending;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hourhand::{Error, Exclusion, Failure, Job, Run, Schedule, Scheduler};
use hourhand_testkit::{Leash, Leashed};
use tokio::signal::unix::{SignalKind, signal};
use tokio_postgres::NoTls;

use crate::book::{Book, boot_time};
use crate::world::JOB;

const URL: &str = "HOURHAND_FAULTS_URL";
const NODE: &str = "HOURHAND_FAULTS_NODE";
const BODY: &str = "HOURHAND_FAULTS_BODY";
const BOOK: &str = "HOURHAND_FAULTS_BOOK";
const EVERY: &str = "HOURHAND_FAULTS_EVERY";
const RESIDENT: &str = "HOURHAND_FAULTS_RESIDENT";
const LEASED: &str = "HOURHAND_FAULTS_LEASED";
const GROUPED: &str = "HOURHAND_FAULTS_GROUPED";

/// A body that takes longer over one of its ticks has been frozen meanwhile.
const FROZEN_FROM: Duration = Duration::from_secs(5);

/// What the job's body does.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Works until it is told to stop, and then stops.
    Endless,
    /// Never ends by itself.
    Deaf,
    /// Commits a fenced row ten times a second; once woken from a freeze, once more, whatever it has been told.
    Writing,
    /// Fences a transaction and keeps it open; once woken from a freeze, commits it.
    Fencing,
    /// Ends at once.
    Short,
    /// Has the server at work for it, on a connection of its own.
    Querying,
}

impl Body {
    fn parse(text: &str) -> Body {
        let all = [Body::Endless, Body::Deaf, Body::Writing, Body::Fencing, Body::Short, Body::Querying];
        all.into_iter().find(|body| format!("{body:?}") == text).unwrap()
    }
}

/// What a child is to be.
pub struct Child<'a> {
    pub url: &'a str,
    pub node: &'a str,
    pub body: Body,
    pub book: &'a Book,
}

impl Child<'_> {
    /// Starts it.
    pub fn start(&self) -> Leashed {
        self.start_under(&[], Duration::from_secs(86_400))
    }

    /// Starts it as one that keeps its session, and listens.
    pub fn start_resident(&self) -> Leashed {
        let mut command = self.command(&[], Duration::from_secs(86_400));
        command.env(RESIDENT, "yes");
        self.leash().spawn(&command).unwrap()
    }

    /// Starts it as one that takes leases.
    pub fn start_leased(&self) -> Leashed {
        let mut command = self.command(&[], Duration::from_secs(86_400));
        command.env(LEASED, "yes");
        self.leash().spawn(&command).unwrap()
    }

    /// Starts it with a job of this name, due every second, in a group that all such jobs are in.
    pub fn start_in_a_group(&self, job: &str) -> Leashed {
        let mut command = self.command(&[], Duration::from_secs(1));
        command.env(GROUPED, job);
        self.leash().spawn(&command).unwrap()
    }

    /// Starts it with another schedule (0: continuous), under a command that ends in executing its arguments (`ip netns exec NAME`).
    pub fn start_under(&self, prefix: &[&str], every: Duration) -> Leashed {
        self.leash().spawn(&self.command(prefix, every)).unwrap()
    }

    fn leash(&self) -> Leash<'_> {
        Leash::new(self.book.path().with_extension(format!("{}.log", self.node)))
    }

    fn command(&self, prefix: &[&str], every: Duration) -> Command {
        // By its process, not by its name: cargo may build it anew while it runs.
        let own = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
        let words = prefix.iter().map(Path::new).chain([own.as_path()]).map(Path::as_os_str).collect::<Vec<_>>();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["--exact", "child::child", "--ignored", "--nocapture"]);
        command.env(URL, self.url).env(NODE, self.node).env(BODY, format!("{:?}", self.body));
        command.env(BOOK, self.book.path()).env(EVERY, every.as_secs().to_string());
        command
    }
}

/// Not a test: the process that the tests start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of other tests"]
async fn child() {
    let told = |name| std::env::var(name).ok();
    let (Some(url), Some(node), Some(body), Some(book), Some(every)) =
        (told(URL), told(NODE), told(BODY), told(BOOK), told(EVERY))
    else {
        return;
    };
    let _ = tracing_subscriber::fmt().with_env_filter("hourhand=debug").with_ansi(false).try_init();
    let (book, body) = (Book::at(Path::new(&book)), Body::parse(&body));
    let schedule = match every.parse().unwrap() {
        0 => Schedule::continuous(),
        seconds => Schedule::every(Duration::from_secs(seconds)),
    };
    let (name, database) = (node.clone(), url.clone());
    let grouped = told(GROUPED);
    let job = Job::new(grouped.as_deref().unwrap_or(JOB), schedule, move |run: Run| {
        let (book, node, url) = (book.clone(), name.clone(), database.clone());
        async move {
            let _ends = book.begin(&node, run.epoch());
            match body {
                Body::Endless => run.cancelled().await,
                Body::Deaf => pending().await,
                Body::Writing => write(&book, &node, &url, &run).await,
                Body::Fencing => fence(&book, &node, &url, &run).await,
                Body::Short => return Ok(()),
                Body::Querying => drop(client(&url).await.batch_execute("select pg_sleep(30)").await),
            }
            book.write(&node, "told", run.epoch());
            Err::<(), _>(Failure::transient("told to stop"))
        }
    });
    let job = if grouped.is_some() { job.exclusive_group("erp") } else { job };
    let grace = Duration::from_secs(2);
    let builder = Scheduler::builder(url).node(node).job(job).shutdown_grace(grace).resident(told(RESIDENT).is_some());
    let exclusion = if told(LEASED).is_some() { Exclusion::Lease } else { Exclusion::Session };
    let scheduler = builder.exclusion(exclusion).start().await.unwrap();
    signal(SignalKind::terminate()).unwrap().recv().await;
    scheduler.shutdown().await;
}

async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// One row of the run's, fenced.
async fn write_once(url: &str, node: &str, run: &Run) -> Result<(), Error> {
    let mut client = client(url).await;
    let transaction = client.transaction().await.unwrap();
    let row = format!("insert into effect (node, epoch) values ('{node}', {})", run.epoch());
    transaction.batch_execute(&row).await.unwrap();
    run.commit(transaction).await
}

async fn write(book: &Book, node: &str, url: &str, run: &Run) {
    // Frozen in the middle of a commit: that one may have been in time, the next one is late.
    let mut frozen = false;
    loop {
        let begun = boot_time();
        tokio::time::sleep(Duration::from_millis(100)).await;
        frozen |= boot_time() - begun > FROZEN_FROM;
        if frozen {
            book.write(node, "woken", run.epoch());
        } else if run.is_cancelled() {
            return;
        }
        let begun = boot_time();
        let written = write_once(url, node, run).await;
        let meanwhile = boot_time() - begun > FROZEN_FROM;
        let what = match written {
            Ok(()) if meanwhile => "committed-over-a-freeze",
            Ok(()) => "committed",
            Err(error) if error.is_superseded() => "refused",
            // Its session was ended meanwhile.
            Err(_) if meanwhile => "refused-over-a-freeze",
            Err(error) => panic!("{error:?}"),
        };
        book.write(node, what, run.epoch());
        if frozen {
            return run.cancelled().await;
        }
        frozen = meanwhile;
    }
}

async fn fence(book: &Book, node: &str, url: &str, run: &Run) {
    let mut client = client(url).await;
    let mut transaction = client.transaction().await.unwrap();
    let row = format!("insert into effect (node, epoch) values ('{node}', {})", run.epoch());
    transaction.batch_execute(&row).await.unwrap();
    run.fence(&mut transaction).await.unwrap();
    book.write(node, "fenced", run.epoch());
    let mut before = boot_time();
    while boot_time() - before < FROZEN_FROM {
        before = boot_time();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let what = if transaction.commit().await.is_ok() { "committed" } else { "refused" };
    book.write(node, what, run.epoch());
    run.cancelled().await;
}
