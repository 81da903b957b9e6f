//! A node with ten thousand jobs wakes for those that are due, and is small.
#![allow(clippy::unwrap_used, reason = "a test has nothing better to do with an error")]

mod resident;

use std::time::{Duration, Instant};

use hourhand_core::facts::Facts;
use hourhand_core::job::Definition;
use hourhand_core::key::Key;
use hourhand_core::name::JobName;
use hourhand_core::node::Node;
use hourhand_core::protocol::{Action, Answer, Event, Question};
use hourhand_core::schedule::Schedule;
use hourhand_core::time::{Mono, Now};
use jiff::{SignedDuration, Timestamp};

fn midnight() -> Timestamp {
    "2026-03-02T00:00:00Z".parse().unwrap()
}

fn at(length: Duration) -> Now {
    Now { mono: Mono(length), wall: midnight() + SignedDuration::try_from(length).unwrap() }
}

/// One job for each tenant, once a day at 01:00, 02:00, …: equal expressions are worked out once.
fn definitions(count: usize) -> Vec<Definition> {
    let define = |tenant: usize| {
        let name = JobName::parse(&format!("order-sync:{tenant}")).unwrap();
        let schedule = Schedule::cron(&format!("0 {} * * *", 1 + tenant % 20));
        Definition::new(name.clone(), Key::of(None, &name), schedule)
    };
    (0..count).map(define).collect()
}

/// A node after its first visit, with all its jobs at rest.
fn at_rest(count: usize) -> Node {
    let now = at(Duration::ZERO);
    let mut node = Node::new(resident::settings(), definitions(count), now);
    let mut event = Some(Event::Woke);
    while let Some(happened) = event.take() {
        for action in node.step(now, happened) {
            event = match action {
                Action::Connect { .. } => Some(Event::Connected { server: midnight(), pid: 1 }),
                Action::Ask(Question::Register { .. }) => Some(Event::Answered(Answer::Registered(Vec::new()))),
                Action::Ask(Question::Prepare) => Some(Event::Answered(Answer::Prepared)),
                Action::Ask(Question::Look { jobs: slots, .. }) => Some(Event::Answered(Answer::Looked {
                    now: Some(midnight()),
                    facts: slots.iter().map(|_| Some(Facts::registered(midnight()))).collect(),
                    requested: Vec::new(),
                    lost: None,
                })),
                _ => event,
            };
        }
    }
    node
}

/// How long one wake-up takes that finds nothing due, with the question how long to sleep.
fn wake_up(node: &mut Node) -> Duration {
    let tries = 2000;
    let began = Instant::now();
    for millis in 0..tries {
        let now = at(Duration::from_millis(1000 + u64::from(millis)));
        assert!(node.step(now, Event::Woke).is_empty());
        assert!(node.wakes_in(now) > Duration::ZERO);
    }
    began.elapsed() / tries
}

#[test]
fn a_wake_up_costs_the_same_with_ten_thousand_jobs_at_rest_as_with_ten() {
    let (mut few, mut many) = (at_rest(10), at_rest(10_000));
    let (of_few, of_many) = (wake_up(&mut few), wake_up(&mut many));
    println!("a wake-up: {of_few:?} with 10 jobs at rest, {of_many:?} with 10,000");
    assert!(of_many < 50 * of_few + Duration::from_micros(20), "{of_few:?} with 10 jobs, {of_many:?} with 10,000");
}

#[test]
fn the_jobs_that_are_due_are_looked_at_and_no_others() {
    let mut node = at_rest(10_000);
    // 01:00 is the time of every 20th.
    let now = at(Duration::from_secs(3600));
    let actions = node.step(now, Event::Woke);
    let looked: Vec<usize> = actions
        .iter()
        .flat_map(|action| match action {
            Action::Ask(Question::Look { jobs: slots, .. }) => slots.iter().map(|slot| slot.0).collect(),
            _ => Vec::new(),
        })
        .collect();
    assert_eq!(looked, (0..10_000).step_by(20).collect::<Vec<_>>());
}

#[test]
fn a_wake_up_that_finds_nothing_due_allocates_nothing() {
    let mut node = at_rest(10_000);
    let counted = allocation_counter::measure(|| {
        for millis in 0..100 {
            let now = at(Duration::from_millis(1000 + millis));
            assert!(node.step(now, Event::Woke).is_empty());
            assert!(node.wakes_in(now) > Duration::ZERO);
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

/// Counted by the allocator, so it is the same on every machine: what the nodes, the definitions and their names take.
#[test]
fn ten_thousand_jobs_at_rest_take_less_than_ten_mebibytes_of_the_heap() {
    // What the first jobs bring along once: the zone's rules, the schedules.
    let first = at_rest(100);
    let mut node = None;
    let counted = allocation_counter::measure(|| node = Some(at_rest(10_000)));
    let kib = |bytes: i64| bytes / 1024;
    println!("10,000 jobs take {} KiB, at most {} KiB", kib(counted.bytes_current), counted.bytes_max / 1024);
    assert!(kib(counted.bytes_current) < 10 * 1024, "{counted:?}");
    drop((first, node));
}
