//! Every statement of a node's life × what may become of it: nothing is left behind, and the occurrence runs.
//!
//! First an undisturbed life is watched, from connecting to the last unlock, once with session locks and once with leases. Then
//! each of its statements (of those that stand there more than once, the first and the last) meets each treatment in a
//! life of its own. At the end of each: one success of the occurrence, no lock, no lease, no session, no open run, no body, a node
//! that is well, and another node can run the job at once.
//!
//! The lives of contenders, the orders of people and the making of the schema are in `contenders_cut_off`, `orders_cut_off` and
//! `migrations_cut_off`.
//!
//! What is not in it: closing waits for no answer, so there is none to hold back; that the server's end of a connection is
//! closed with ours is in every cell. What needs no table of ours (settings, the probe, the lock functions) cannot be made to wait
//! by a lock, so it fails here only together with its session. The rounds of the probe are alike: its first and last are treated.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use hourhand::{Exclusion, Failure, Job, Run, Scheduler, Triggered};
use hourhand_testkit::eventually;
use tokio::sync::{OnceCell, Semaphore};
use tokio_postgres::NoTls;

use crate::proxy::{Place, Proxy, Treatment};
use crate::world::{JOB, Journal, World, daily};

/// Lanes at once in this process. Each has a database of its own, in which its lives follow each other: what one leaves behind,
/// the next would meet as well. A life takes up to five connections, and the server has 300.
static PLACES: Semaphore = Semaphore::const_new(40);
/// Of these at most by one test.
const LANES: usize = 20;
/// Long enough for a ping, which comes after a second.
const BODY: Duration = Duration::from_millis(1300);
/// In which a life comes right again, or meets its statement: it takes 1 to 5 s, and the machine may be busy with others.
pub const LIFE: Duration = Duration::from_secs(10);
/// More than the bound of one statement (1 s), less than the time of trust (3 s).
pub const SLOW: Duration = Duration::from_millis(1500);
/// Of a node that is shut down in the middle of a statement.
pub const GRACE: Duration = Duration::from_secs(1);

pub const LOCKS: &str = "select count(*) from pg_locks where locktype = 'advisory' \
                     and database = (select oid from pg_database where datname = current_database())";
const LEASES: &str = "select count(*) from hourhand.lease where expires_at > now()";
pub const SESSIONS: &str = "select count(*) from pg_stat_activity where application_name like 'hourhand%' \
                        and datname = current_database()";
pub const OPEN: &str = "select count(*) from hourhand.job where ended_epoch <> epoch";

/// One life, and what it meets.
#[derive(Clone, Debug)]
struct Cell {
    exclusion: Exclusion,
    place: Place,
    statement: String,
    treatment: Treatment,
    /// The node is shut down while the answer is missing: what is under way is dropped there.
    shut_down: bool,
    /// After what the statement met, until all is well.
    bound: Duration,
}

/// What a cell came to: it took this long, and the statement was answered with an error.
type Met = (Duration, bool);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_answered_late_leaves_nothing_behind() {
    every_statement(Treatment::Slow(SLOW), false, LIFE + SLOW).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_never_answered_leaves_nothing_behind() {
    // Connecting is given up after ttl, 5 s; a session after 3 s, its lock with it.
    every_statement(Treatment::Never, false, LIFE + Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_carried_out_and_cut_off_leaves_nothing_behind() {
    every_statement(Treatment::Dropped, false, LIFE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_with_its_session_leaves_nothing_behind() {
    every_statement(Treatment::Failing, false, LIFE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_server_refuses_leaves_nothing_behind() {
    let cells = every_statement(Treatment::Locked, false, LIFE).await;
    let refused: Vec<_> = cells.iter().filter(|(_, met)| met.1).map(|(cell, _)| &cell.statement).collect();
    // Register, look, start, ping, end; with leases also take and release.
    assert!(refused.len() >= 10, "only {refused:?} were refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_under_way_when_the_node_is_shut_down_leaves_nothing_behind() {
    every_statement(Treatment::Never, true, LIFE).await;
}

async fn every_statement(treatment: Treatment, shut_down: bool, bound: Duration) -> Vec<(Cell, Met)> {
    static LIVES: OnceCell<Vec<(Exclusion, Place, String)>> = OnceCell::const_new();
    let statements = LIVES.get_or_init(undisturbed_lives).await.iter().cloned();
    let cells = statements.map(|(exclusion, place, statement)| Cell {
        exclusion,
        place,
        statement,
        treatment,
        shut_down,
        bound,
    });
    let left = Mutex::new(cells.rev().collect::<Vec<_>>());
    let begun = Instant::now();
    let lane = async || {
        let _place = PLACES.acquire().await.unwrap();
        let (mut world, mut done, mut failed) = (world().await, Vec::new(), 0);
        while let Some(cell) = { left.lock().unwrap().pop() } {
            match AssertUnwindSafe(meet(&world, &cell)).catch_unwind().await {
                Ok(met) => done.push((cell, met)),
                // Said by the panic; the others shall be heard as well.
                Err(_) => {
                    failed += 1;
                    let left_behind = std::mem::replace(&mut world, self::world().await);
                    tokio::task::spawn_blocking(move || drop(left_behind));
                }
            }
        }
        // Dropping its database waits, and the other lanes live on this very task.
        tokio::task::spawn_blocking(move || drop(world));
        (done, failed)
    };
    let lanes = join_all((0..LANES).map(|_| lane())).await;
    let failed: usize = lanes.iter().map(|(_, failed)| failed).sum();
    let mut done: Vec<(Cell, Met)> = lanes.into_iter().flat_map(|(done, _)| done).collect();
    done.sort_by_key(|(_, met)| met.0);
    for (cell, (took, refused)) in &done {
        println!(
            "{took:>10.1?} {:?} {:?} {}{}",
            cell.exclusion,
            cell.place,
            cell.statement,
            if *refused { ": refused" } else { "" }
        );
    }
    println!("{:.1?} in all", begun.elapsed());
    assert_eq!(failed, 0, "of {} cells", failed + done.len());
    done
}

/// The statements of undisturbed lives: of those that stand there more than once on a connection, the first and the last.
async fn undisturbed_lives() -> Vec<(Exclusion, Place, String)> {
    let world = world().await;
    let mut statements = Vec::new();
    for exclusion in [Exclusion::Session, Exclusion::Lease] {
        let answered = undisturbed_life(&world, exclusion).await;
        let mut ends: BTreeMap<(usize, &String), (Place, Place)> = BTreeMap::new();
        for (place, text) in &answered {
            ends.entry((place.connection, text)).and_modify(|ends| ends.1 = *place).or_insert((*place, *place));
        }
        let kept = answered.iter().filter(|(place, _)| ends.values().any(|(a, b)| a == *place || b == *place));
        statements.extend(kept.map(|(place, text)| (exclusion, *place, text.clone())));
    }
    tokio::task::spawn_blocking(move || drop(world));
    assert!(statements.len() > 25, "a life of {statements:?}");
    statements
}

/// One with a single ping: on a busy machine a life may have more, and what comes after them would have another place.
async fn undisturbed_life(world: &World, exclusion: Exclusion) -> BTreeMap<Place, String> {
    for _ in 0..10 {
        a_day_passes(world).await;
        let (journal, proxy) = (Journal::default(), Proxy::to(&world.database.url(), None).await);
        let node = node(world, "a", exclusion, &journal, &proxy.url()).start().await.unwrap();
        journal.run(1, LIFE).await;
        world.until(LIFE, SESSIONS, 0).await;
        node.shutdown().await;
        let answered = proxy.answered();
        let ping = |text: &&String| text.starts_with("Proof that this session") || text.starts_with("The ping of");
        if answered.values().filter(ping).count() == 1 {
            return answered;
        }
    }
    panic!("no life with exactly one ping");
}

/// Makes an occurrence due, also if one was today.
pub async fn a_day_passes(world: &World) {
    let past = "update hourhand.history set scheduled_for = scheduled_for - interval '1 day'";
    world.eye.batch_execute(past).await.unwrap();
    world.age("1 day").await;
}

pub async fn world() -> World {
    let world = World::new().await;
    world.eye.batch_execute("create table page (epoch bigint)").await.unwrap();
    let node = node(&world, "0", Exclusion::Session, &Journal::default(), &world.database.url());
    node.start().await.unwrap().shutdown().await;
    world
}

pub fn node(
    world: &World,
    name: &'static str,
    exclusion: Exclusion,
    journal: &Journal,
    url: &str,
) -> hourhand::SchedulerBuilder {
    let (journal, direct) = (journal.clone(), world.database.url());
    let takes = if name == "a" { BODY } else { Duration::ZERO };
    let job = Job::new(JOB, daily(), move |run: Run| {
        let (journal, direct) = (journal.clone(), direct.clone());
        async move {
            let _under_way = journal.begin(name, &run);
            let work = async {
                write(&direct, &run).await?;
                tokio::time::sleep(takes).await;
                Ok(())
            };
            tokio::select! {
                () = run.cancelled() => Err(Failure::transient("told to stop")),
                written = work => written,
            }
        }
    });
    let builder = Scheduler::builder(url).node(name).ttl(Duration::from_secs(5)).several_in_one_process();
    builder.exclusion(exclusion).job(job)
}

/// A fenced write, through a connection of the body's own.
async fn write(url: &str, run: &Run) -> Result<(), Failure> {
    let (mut client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    let transaction = client.transaction().await?;
    transaction.batch_execute(&format!("insert into page values ({})", run.epoch())).await?;
    Ok(run.commit(transaction).await?)
}

/// A life that meets what the cell says.
async fn meet(world: &World, cell: &Cell) -> Met {
    a_day_passes(world).await;
    let before = world.number("select epoch from hourhand.job").await;
    let journal = Journal::default();
    let proxy = Proxy::to(&world.database.url(), Some((cell.place, cell.treatment))).await;
    let mut builder = node(world, "a", cell.exclusion, &journal, &proxy.url());
    if cell.shut_down {
        builder = builder.shutdown_on(proxy.met()).shutdown_grace(GRACE);
    }
    let (a, ()) = tokio::join!(builder.start(), async {
        tokio::time::timeout(LIFE, proxy.met()).await.unwrap_or_else(|_| panic!("{cell:?} was not met"));
    });
    let (a, met) = (a.unwrap(), Instant::now());
    if cell.shut_down {
        let shut_down = tokio::time::timeout(GRACE + Duration::from_secs(1), a.shutdown()).await;
        assert!(shut_down.is_ok(), "{cell:?}: the shutdown took {:?}", met.elapsed());
        assert_eq!(journal.under_way(), 0, "{cell:?}: a body outlives its node");
    }
    let b = node(world, "b", cell.exclusion, &journal, &world.database.url());
    let b = if cell.shut_down {
        let b = b.start().await.unwrap();
        all_is_well(world, cell, before, &b, &journal).await;
        b
    } else {
        all_is_well(world, cell, before, &a, &journal).await;
        b.start().await.unwrap()
    };
    let took = met.elapsed();
    let answer = b.trigger(JOB).await.unwrap_or_else(|error| panic!("{cell:?}: {error:?}"));
    assert!(matches!(answer, Triggered::Started { .. }), "{cell:?}: another node was answered {answer:?}");
    world.until(LIFE, OPEN, 0).await;
    tokio::time::timeout(Duration::from_secs(5), async { tokio::join!(a.shutdown(), b.shutdown()) })
        .await
        .unwrap_or_else(|_| panic!("{cell:?}: the shutdown takes for ever"));
    nothing_left(world, cell, &journal).await;
    (took, proxy.refused())
}

/// One success and no other end but lost ones, nothing held, nothing under way, and the node says that it is well.
async fn all_is_well(world: &World, cell: &Cell, before: i64, node: &Scheduler, journal: &Journal) {
    let since = format!("from hourhand.history where epoch > {before} and outcome");
    let left = format!(
        "select ({LOCKS}) * 1000 + ({LEASES}) * 100 + ({OPEN}) * 10 + (select count(*) {since} not in \
                        ('succeeded', 'lost', 'cancelled'))"
    );
    let succeeded = format!("select count(*) {since} = 'succeeded'");
    eventually(cell.bound, async || {
        let (succeeded, left) = (world.number(&succeeded).await, world.number(&left).await);
        let (bodies, health) = (journal.under_way(), node.health().await);
        if (succeeded, left, bodies) == (1, 0, 0) && health.ok() {
            return Ok(());
        }
        let outcomes = world
            .text(&format!("select string_agg(outcome || coalesce(error, ''), ', ' order by id) {since} <> ''"))
            .await;
        Err(format!(
            "{cell:?}: {outcomes:?}; locks, leases, open runs, other ends: {left:04}; {bodies} bodies, {:?}",
            health.problems
        ))
    })
    .await;
    assert_eq!(journal.most_at_once(), 1, "{cell:?}: bodies beside each other");
    let runs = journal.entries().len() as i64;
    let pages = world.number(&format!("select count(*) from page where epoch > {before}")).await;
    assert!((1..=runs).contains(&pages), "{cell:?}: {pages} pages by {runs} runs");
}

async fn nothing_left(world: &World, cell: &Cell, journal: &Journal) {
    for query in [SESSIONS, LOCKS, LEASES, OPEN] {
        eventually(Duration::from_secs(2), async || match world.number(query).await {
            0 => Ok(()),
            left => Err(format!("{cell:?}: {left} by {query}")),
        })
        .await;
    }
    assert_eq!(journal.under_way(), 0, "{cell:?}");
}
