//! P1: at most one run of a job at a time, and each occurrence once, however many nodes there are.

use std::collections::HashSet;
use std::time::Duration;

use hourhand::{Schedule, Scheduler};

use crate::world::{Journal, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_nodes_run_each_occurrence_of_a_second_once_and_never_two_at_a_time() {
    let world = World::new().await;
    let journal = Journal::default();
    let mut nodes: Vec<Scheduler> = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let job = journal.job_of(name, Schedule::every(Duration::from_secs(1)), Duration::from_millis(100));
        nodes.push(world.node(name).job(job).start().await.unwrap());
    }
    journal.run(6, Duration::from_secs(15)).await;
    for node in &nodes {
        node.shutdown().await;
    }
    let occurrences: Vec<_> = journal.entries().iter().map(|entry| entry.run.scheduled_for().unwrap()).collect();
    let distinct: HashSet<_> = occurrences.iter().collect();
    assert_eq!(distinct.len(), occurrences.len(), "an occurrence ran twice: {occurrences:?}");
    assert_eq!(journal.most_at_once(), 1);
    let successes = world.number("select count(*) from hourhand.history where outcome = 'succeeded'").await;
    assert_eq!(usize::try_from(successes).unwrap(), occurrences.len());
    let span = occurrences.iter().max().unwrap().duration_since(*occurrences.iter().min().unwrap());
    assert_eq!(
        span.as_secs() + 1,
        i64::try_from(occurrences.len()).unwrap(),
        "an occurrence was left out: {occurrences:?}"
    );
}
