//! What a visit costs, counted exactly: statements are round trips, one connection each visit, and more jobs due at once cost no more
//! of them. The numbers stand in docs/performance.md; a change that makes one grow is seen here, on any machine.

use std::collections::BTreeMap;
use std::time::Duration;

use hourhand::{Failure, Job, Schedule, SchedulerBuilder};

use crate::proxy::{Place, Proxy};
use crate::world::{Journal, World, daily};

/// As statements begin, from the first comment of each.
const LOOK: &str = "What the database knows of these jobs";
const TRY_LOCKS: &str = "Tries the locks";
const START: &str = "Starts runs";
const END: &str = "Records ends";
const UNLOCK: &str = "Lets locks go";

const SESSIONS: &str = "select count(*) from pg_stat_activity where application_name like 'hourhand%' \
                        and datname = current_database()";

/// A node with so many jobs of once a day.
fn node(name: &str, url: String, (jobs, journal): (usize, &Journal)) -> SchedulerBuilder {
    let builder = hourhand::Scheduler::builder(url).node(name).several_in_one_process();
    (0..jobs).fold(builder, |builder, number| {
        let (journal, name) = (journal.clone(), name.to_owned());
        builder.job(Job::new(format!("job-{number}"), daily(), move |run| {
            let (journal, name) = (journal.clone(), name.clone());
            async move {
                let _under_way = journal.begin(&name, &run);
                // All have begun before the first ends, so that their ends come together.
                tokio::time::sleep(Duration::from_millis(200)).await;
                Ok::<_, Failure>(())
            }
        }))
    })
}

/// The statements of one life of a node through a proxy, in which so many jobs are due, by how they begin.
async fn life(jobs: usize, due: bool) -> (BTreeMap<Place, String>, usize) {
    let world = World::new().await;
    let journal = Journal::default();
    let former = node("0", world.database.url(), (jobs, &journal)).start().await.unwrap();
    former.shutdown().await;
    if due {
        world.age("1 day").await;
    }
    let proxy = Proxy::to(&world.database.url(), None).await;
    let started = node("a", proxy.url(), (jobs, &journal)).start().await.unwrap();
    let wanted = if due { jobs as i64 } else { 0 };
    world
        .until(Duration::from_secs(30), "select count(*) from hourhand.history where outcome = 'succeeded'", wanted)
        .await;
    world.until(Duration::from_secs(30), SESSIONS, 0).await;
    let answered = proxy.answered();
    started.shutdown().await;
    assert_eq!(proxy.answered().len(), answered.len(), "the shutdown of a node at rest sent something");
    let connections = answered.keys().map(|place| place.connection).max().map_or(0, |last| last + 1);
    (answered, connections)
}

/// Of those that began after the first look: what the first visit of a process does before is paid once.
fn count(answered: &BTreeMap<Place, String>, begins: &str) -> usize {
    answered.values().filter(|text| text.starts_with(begins)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_with_two_hundred_due_jobs_costs_as_many_statements_as_one_with_one() {
    let (one, _) = life(1, true).await;
    let (many, _) = life(200, true).await;
    println!("one job due: {one:#?}");
    for statement in [LOOK, TRY_LOCKS, START, END, UNLOCK] {
        println!("{statement}: {} for one job, {} for two hundred", count(&one, statement), count(&many, statement));
    }
    assert_eq!([LOOK, TRY_LOCKS, START].map(|statement| count(&one, statement)), [1, 1, 1]);
    assert_eq!([LOOK, TRY_LOCKS, START].map(|statement| count(&many, statement)), [1, 1, 1]);
    assert_eq!([END, UNLOCK].map(|statement| count(&one, statement)), [1, 1]);
    // Bodies end when they end: what ends while a record is under way goes into the next one.
    assert!([END, UNLOCK].iter().all(|statement| count(&many, statement) <= 8), "{many:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_that_finds_nothing_due_is_one_look() {
    let (answered, connections) = life(20, false).await;
    println!("{answered:#?}");
    assert_eq!(count(&answered, LOOK), 1);
    assert_eq!([TRY_LOCKS, START, END, UNLOCK].map(|statement| count(&answered, statement)), [0, 0, 0, 0]);
    // The second one is the pooler probe's, once in the life of a process.
    assert_eq!(connections, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_stays_prepares_its_statements_once_and_sends_them_by_their_names() {
    let world = World::new().await;
    let journal = Journal::default();
    let proxy = Proxy::to(&world.database.url(), None).await;
    let job = journal.job_of("often", Schedule::every(Duration::from_secs(1)), Duration::ZERO);
    let node = hourhand::Scheduler::builder(proxy.url()).node("a").job(job).start().await.unwrap();
    journal.run(4, Duration::from_secs(20)).await;
    node.shutdown().await;
    let answered = proxy.answered();
    println!("{answered:#?}");
    for statement in [LOOK, TRY_LOCKS, START, "Proof that this session", END, UNLOCK] {
        assert_eq!(count(&answered, &format!("prepare {statement}")), 1, "{statement}");
    }
    // Once for no job, to be planned; then once a run.
    let runs = journal.entries().len();
    assert_eq!([TRY_LOCKS, START].map(|statement| count(&answered, statement)), [1 + runs; 2]);
    assert_eq!(count(&answered, "set plan_cache_mode"), 1);
}
