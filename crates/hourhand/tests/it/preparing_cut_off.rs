//! What may become of a session while it makes its statements ready: the job goes on, and nothing is held.

use std::time::Duration;

use futures_util::future::join_all;
use hourhand::{Schedule, Scheduler};

use crate::cancel_matrix::{LOCKS, SLOW};
use crate::proxy::{Nth, Proxy, Treatment};
use crate::world::{Journal, World};

/// The first of its two trips, the beginning of the second, and the middle of that.
const MOMENTS: [&str; 3] = ["prepare Starts runs", "set plan_cache_mode", "Starts runs"];
/// A statement that never comes back, a session thrown away, a wait before the next.
const GOES_ON: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_becomes_of_preparing_the_job_goes_on() {
    let treatments =
        [Treatment::Slow(SLOW), Treatment::Never, Treatment::Dropped, Treatment::Failing, Treatment::Locked];
    let cells = MOMENTS.into_iter().flat_map(|text| treatments.map(|treatment| (text, treatment)));
    join_all(cells.map(async |(text, treatment)| meet(text, treatment).await)).await;
}

async fn meet(text: &str, treatment: Treatment) {
    let (world, journal) = (World::new().await, Journal::default());
    // Nothing is due before the session is ready.
    let job = journal.job_of("a", Schedule::every(Duration::from_secs(3)), Duration::ZERO);
    let proxy = Proxy::treating(&world.database.url(), Nth { text: text.to_owned(), nth: 1 }, treatment).await;
    let builder = Scheduler::builder(proxy.url()).node("a").ttl(Duration::from_secs(5)).several_in_one_process();
    let node = builder.migrate(true).job(job).start().await.unwrap();
    let met = tokio::time::timeout(Duration::from_secs(10), proxy.met()).await;
    assert!(met.is_ok(), "{text}, {treatment:?}: was not met");
    let before = journal.entries().len();
    journal.run(before + 2, GOES_ON).await;
    node.shutdown().await;
    assert_eq!((world.number(LOCKS).await, journal.most_at_once()), (0, 1), "{text}, {treatment:?}");
}
