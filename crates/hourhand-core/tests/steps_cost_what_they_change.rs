//! What a step costs is counted in lookups of jobs, not in time: it must not grow with the jobs that the step is not about.
#![allow(clippy::unwrap_used, reason = "a test has nothing better to do with an error")]

mod resident;

use std::collections::VecDeque;
use std::time::Duration;

use hourhand_core::facts::Facts;
use hourhand_core::job::Definition;
use hourhand_core::key::Key;
use hourhand_core::name::JobName;
use hourhand_core::node::Node;
use hourhand_core::outcome::BodyEnd;
use hourhand_core::protocol::{Action, Answer, EndAnswer, Event, Question, Slot, StartAnswer, Started};
use hourhand_core::schedule::Schedule;
use hourhand_core::time::{Mono, Now};
use jiff::{SignedDuration, Timestamp};

fn midnight() -> Timestamp {
    "2026-03-02T00:00:00Z".parse().unwrap()
}

/// A node, and a server that grants all it asks for.
struct World {
    node: Node,
    now: Now,
    running: Vec<(Slot, i64)>,
    /// The epochs of somebody else's runs that looks show as lost.
    lost: Vec<i64>,
    /// Kept back: a statement that is under way.
    held: Option<Event>,
    hold_ends: bool,
    statements: usize,
}

impl World {
    /// After the first visit; the jobs are due at 01:00.
    fn at_rest(jobs: usize) -> World {
        let define = |number: usize| {
            let name = JobName::parse(&format!("job-{number}")).unwrap();
            Definition::new(name.clone(), Key::of(None, &name), Schedule::cron("0 1 * * *"))
        };
        let now = Now { mono: Mono(Duration::ZERO), wall: midnight() };
        let node = Node::new(resident::settings(), (0..jobs).map(define).collect(), now);
        let (running, lost) = (Vec::new(), Vec::new());
        let mut world = World { node, now, running, lost, held: None, hold_ends: false, statements: 0 };
        world.tell(Event::Woke);
        world
    }

    fn at(&mut self, length: Duration) {
        let wall = midnight() + SignedDuration::try_from(length).unwrap();
        self.now = Now { mono: Mono(length), wall };
        self.tell(Event::Woke);
    }

    fn tell(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for action in self.node.step(self.now, event) {
                events.extend(self.carry_out(action));
            }
            self.node.wakes_in(self.now);
        }
    }

    fn carry_out(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Connect { .. } => Some(Event::Connected { server: self.now.wall, pid: 1 }),
            Action::StartBody { slot, run, .. } => {
                self.running.push((slot, run.epoch));
                None
            }
            Action::Ask(question) => {
                self.statements += 1;
                let ends = matches!(question, Question::End { .. });
                let answer = Event::Answered(self.answer(question));
                if ends && self.hold_ends {
                    self.held = Some(answer);
                    return None;
                }
                Some(answer)
            }
            _ => None,
        }
    }

    fn answer(&self, question: Question) -> Answer {
        let started_at = self.now.wall;
        match question {
            Question::Register { .. } => Answer::Registered(Vec::new()),
            Question::Look { jobs: slots, lost } => Answer::Looked {
                now: Some(self.now.wall),
                facts: slots.iter().map(|_| Some(Facts::registered(midnight()))).collect(),
                requested: Vec::new(),
                lost: lost.then(|| self.lost.clone()),
            },
            Question::TryLocks(slots) => Answer::Tried(vec![Some(true); slots.len()]),
            Question::Start { starts, .. } => {
                let run = |slot: Slot| {
                    let (window_from, window_until) = (started_at, started_at);
                    let epoch = 1 + i64::try_from(slot.0).unwrap();
                    StartAnswer::Started(Started {
                        epoch,
                        attempt: 1,
                        takeover: 0,
                        window_from,
                        window_until,
                        started_at,
                    })
                };
                Answer::Started(starts.iter().map(|start| run(start.slot)).collect())
            }
            Question::End { ends, .. } => {
                let recorded = EndAnswer::Recorded {
                    outcome: "succeeded".to_owned(),
                    handled_until: started_at,
                    open_for: None,
                    not_before: None,
                };
                Answer::Ended(vec![recorded; ends.len()])
            }
            Question::Unlock(_) => Answer::Unlocked(true),
            Question::Prepare => Answer::Prepared,
            other => panic!("{other:?}"),
        }
    }

    /// The lookups that this costs.
    fn visits(&mut self, what: impl FnOnce(&mut World)) -> u64 {
        let before = self.node.visits();
        what(self);
        self.node.visits() - before
    }

    fn end_body(&mut self) {
        let (slot, epoch) = self.running.pop().unwrap();
        self.tell(Event::BodyEnded { slot, epoch, end: BodyEnd::Returned { completing: false } });
    }
}

const DUE: Duration = Duration::from_secs(3600);

#[test]
fn the_end_of_one_body_is_about_one_of_ten_thousand_running_jobs() {
    let mut world = World::at_rest(10_000);
    world.at(DUE);
    assert_eq!(world.running.len(), 10_000);
    world.hold_ends = true;
    // The first is followed by the statement that records it; the next ones find it under way.
    world.visits(World::end_body);
    let most = (0..100).map(|_| world.visits(World::end_body)).max().unwrap();
    println!("an end while a statement is under way: {most} lookups");
    assert!(most <= 20, "{most} lookups");
    let woken = world.visits(|world| world.tell(Event::Woke));
    println!("a wake-up with 10,000 runs under way: {woken} lookups");
    assert!(woken <= 2, "{woken} lookups");
}

#[test]
fn a_thousand_lost_runs_cost_no_lookup_beside_ten_thousand_running_ones() {
    let mut world = World::at_rest(10_000);
    world.lost = (20_000..21_000).collect();
    world.at(DUE);
    assert_eq!(world.running.len(), 10_000);
    let woken = world.visits(|world| world.tell(Event::Woke));
    println!("a wake-up with 1,000 lost runs to settle: {woken} lookups");
    assert!(woken <= 2, "{woken} lookups");
}

#[test]
fn a_run_costs_as_many_lookups_among_ten_thousand_as_among_a_hundred() {
    let run = |jobs: usize| {
        let mut world = World::at_rest(jobs);
        world.statements = 0;
        let visits = world.visits(|world| {
            world.at(DUE);
            assert_eq!(world.running.len(), jobs);
            world.hold_ends = true;
            while !world.running.is_empty() {
                world.end_body();
            }
            world.hold_ends = false;
            while let Some(answer) = world.held.take() {
                world.tell(answer);
            }
        });
        // Look, locks, start, end, unlock, each for a thousand at most; the first to end goes by itself.
        let most = 5 * jobs.div_ceil(1000) + 2;
        assert!(world.statements <= most, "{} statements", world.statements);
        visits / jobs as u64
    };
    let (few, many) = (run(100), run(10_000));
    println!("a run: {few} lookups among 100, {many} among 10,000");
    assert!(many <= few + 2, "{few} among 100, {many} among 10,000");
}
