//! An asynchronous standby is promoted after its primary crashed with commits that never reached it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hourhand::{Failure, Job, Run, Schedule};
use hourhand_testkit::{Installation, Server, Shutdown, eventually};
use jiff::Timestamp;
use tokio_postgres::{Client, NoTls};

use crate::book::boot_time;
use crate::report;
use crate::scene::{node, world_on};
use crate::world::{World, daily};

/// Every run that any body of this test began: job, occurrence, epoch, in order.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<Vec<(String, Timestamp, i64)>>>);

impl Runs {
    fn job(&self, name: &str, schedule: Schedule) -> Job {
        let runs = self.clone();
        Job::new(name, schedule, move |run: Run| {
            let entry = (run.job().to_owned(), run.scheduled_for().unwrap(), run.epoch());
            runs.0.lock().unwrap().push(entry);
            async { Ok::<_, Failure>(()) }
        })
    }

    fn all(&self) -> Vec<(String, Timestamp, i64)> {
        self.0.lock().unwrap().clone()
    }

    fn of(&self, job: &str) -> Vec<i64> {
        self.all().into_iter().filter(|(name, ..)| name == job).map(|(.., epoch)| epoch).collect()
    }

    async fn until(&self, job: &str, n: usize, within: Duration) {
        let enough = async || if self.of(job).len() >= n { Ok(()) } else { Err(format!("{:?}", self.all())) };
        eventually(within, enough).await;
    }
}

async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn every_second() -> Schedule {
    Schedule::every(Duration::from_secs(1))
}

/// Both jobs that are due once have been registered a day ago, and the standby knows.
async fn due_once(world: &World, standby: &Client) {
    let runs = Runs::default();
    let builder = node(world.database.url(), "0").job(runs.job("kept", daily())).job(runs.job("lost", daily()));
    builder.start().await.unwrap().shutdown().await;
    world.age("1 day").await;
    caught_up(world, standby).await;
}

/// Whatever the primary has by now, the standby has.
async fn caught_up(world: &World, standby: &Client) {
    let written = world.text("select pg_current_wal_lsn()::text").await.unwrap();
    let query = format!("select pg_last_wal_replay_lsn() >= '{written}'::pg_lsn");
    eventually(Duration::from_secs(10), async || {
        let row = standby.query_typed_one(&query, &[]).await.map_err(|error| error.to_string())?;
        if row.get(0) { Ok(()) } else { Err("the standby lags behind".to_owned()) }
    })
    .await;
}

/// From here on the standby gets nothing.
async fn receives_nothing(standby: &Client) {
    standby.batch_execute("alter system set primary_conninfo = ''").await.unwrap();
    standby.batch_execute("select pg_reload_conf()").await.unwrap();
    eventually(Duration::from_secs(10), async || {
        let row = standby.query_typed_one("select count(*) from pg_stat_wal_receiver", &[]).await.unwrap();
        if row.get::<_, i64>(0) == 0 { Ok(()) } else { Err("it still receives") }
    })
    .await;
}

/// No epoch was ever given twice, and only occurrences whose success is lost have run twice.
async fn check(runs: &Runs, survivor: &Client, before: usize) {
    let all = runs.all();
    let epochs: BTreeSet<i64> = all.iter().map(|(.., epoch)| *epoch).collect();
    report::measured("failover: epochs given twice", "0", all.len() - epochs.len());
    assert_eq!(epochs.len(), all.len(), "an epoch was given twice: {all:#?}");
    let rows =
        survivor.query_typed("select epoch from hourhand.history where outcome = 'succeeded'", &[]).await.unwrap();
    let survived: BTreeSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    let mut by_occurrence: BTreeMap<(String, Timestamp), Vec<i64>> = BTreeMap::new();
    for (job, occurrence, epoch) in &all {
        by_occurrence.entry((job.clone(), *occurrence)).or_default().push(*epoch);
    }
    let mut repeated = 0;
    for (occurrence, epochs) in by_occurrence {
        let kept = epochs.iter().filter(|epoch| survived.contains(epoch)).count();
        assert!(kept <= 1, "{occurrence:?} succeeded {kept} times in the surviving history");
        repeated += usize::from(epochs.len() > 1);
    }
    for job in ["tick", "lost"] {
        let newest_before = all[..before].iter().filter(|run| run.0 == job).map(|run| run.2).max().unwrap();
        let after: Vec<i64> = all[before..].iter().filter(|run| run.0 == job).map(|run| run.2).collect();
        assert!(after.iter().all(|epoch| *epoch > newest_before), "{job}: an epoch went back");
    }
    report::measured("failover: occurrences run again, all of whose successes were lost", "any", repeated);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failover_that_lost_commits_work_goes_on_and_no_epoch_comes_twice() {
    let installation = Installation::for_tests().unwrap();
    let mut primary = tokio::task::block_in_place(|| Server::start(&installation)).unwrap();
    let world = world_on(&primary).await;
    let standby = match tokio::task::block_in_place(|| primary.standby()) {
        Ok(standby) => standby,
        Err(error) => return report::skipped("failover", format!("{error:#}")),
    };
    let eye = client(&standby.url_for(world.database.name())).await;
    due_once(&world, &eye).await;
    let (first, second) = (format!("127.0.0.1:{}", primary.port()), format!("127.0.0.1:{}", standby.port()));
    let url = world.database.url().replace(&first, &format!("{first},{second}"));

    let runs = Runs::default();
    let mut nodes = Vec::new();
    for name in ["a", "b"] {
        let builder = node(&url, name).job(runs.job("tick", every_second())).job(runs.job("kept", daily()));
        nodes.push(builder.start().await.unwrap());
    }
    runs.until("tick", 3, Duration::from_secs(15)).await;
    runs.until("kept", 1, Duration::from_secs(15)).await;
    let recorded = "select count(*) from hourhand.history where job = 'kept' and outcome = 'succeeded'";
    world.until(Duration::from_secs(5), recorded, 1).await;
    caught_up(&world, &eye).await;
    receives_nothing(&eye).await;
    nodes.push(node(&url, "c").job(runs.job("lost", daily())).start().await.unwrap());
    runs.until("lost", 1, Duration::from_secs(10)).await;
    let ticks = runs.of("tick").len();
    runs.until("tick", ticks + 2, Duration::from_secs(10)).await;

    tokio::task::block_in_place(|| primary.kill());
    let before = runs.all().len();
    eye.batch_execute("select pg_promote()").await.unwrap();
    let promoted = boot_time();
    eventually(Duration::from_secs(60), async || if runs.all().len() > before { Ok(()) } else { Err("no run") }).await;
    let fault = "failover to an asynchronous standby: running again after its promotion";
    report::within(fault, Duration::from_secs(10), boot_time() - promoted);
    // A node at rest believes what it saw; whoever comes new finds the occurrence as the survivor knows it: not handled.
    nodes.push(node(&url, "d").job(runs.job("lost", daily())).start().await.unwrap());
    runs.until("lost", 2, Duration::from_secs(10)).await;
    runs.until("tick", ticks + 5, Duration::from_secs(60)).await;
    for node in &nodes {
        node.shutdown().await;
    }
    assert_eq!(runs.of("kept").len(), 1, "an occurrence whose success survived ran again");
    check(&runs, &eye, before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_is_demoted_is_said_and_once_promoted_again_work_goes_on() {
    let installation = Installation::for_tests().unwrap();
    let mut server = tokio::task::block_in_place(|| Server::start(&installation)).unwrap();
    let world = world_on(&server).await;
    let runs = Runs::default();
    let node = node(world.database.url(), "a").job(runs.job("tick", every_second())).start().await.unwrap();
    runs.until("tick", 2, Duration::from_secs(15)).await;
    tokio::task::block_in_place(|| {
        server.stop(Shutdown::Fast).unwrap();
        std::fs::write(server.home().join("data/standby.signal"), "").unwrap();
        server.start_again().unwrap();
    });
    let before = runs.all().len();
    eventually(Duration::from_secs(10), async || {
        let health = node.health().await;
        let said = health.problems.iter().any(|problem| problem.contains("standby"));
        if said { Ok(()) } else { Err(format!("{health:?}")) }
    })
    .await;
    assert_eq!(runs.all().len(), before, "something ran on a standby");
    let eye = world.database.connect().await;
    eye.batch_execute("select pg_promote()").await.unwrap();
    let promoted = boot_time();
    eventually(Duration::from_secs(60), async || if runs.all().len() > before { Ok(()) } else { Err("no run") }).await;
    let fault = "primary demoted, then promoted again: running again after its promotion";
    report::within(fault, Duration::from_secs(10), boot_time() - promoted);
    node.shutdown().await;
}
