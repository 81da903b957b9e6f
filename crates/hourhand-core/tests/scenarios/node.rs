//! The node, told what happens, line by line.
//!
//! Before anything happens: `job NAME SCHEDULE …` (see [`job`]; registered at midnight, handled up to the beginning), `set ttl=… start_delay=… linger=… resident migrate leases runs_max=…
//! shutdown_grace=… prune=…`, `wall +5m` (how far the node's own clock is off), `at TIME` (the server's time at the beginning).
//!
//! | line | what happens |
//! | --- | --- |
//! | `start` | the node is made and woken |
//! | `+30s` | time passes, then the node is woken; `+30s frozen`: it is not |
//! | `sleep` | the node is woken after as long as it said |
//! | `wall +1h` | the node's own clock is stepped |
//! | `connected`, `connected PID`, `connect-failed KIND`, `closed` | the session |
//! | `migrated`, `migration-busy`, `registered`, `registered but NAME…` | answers to the first questions |
//! | `looked`, `looked NAME fact… / NAME fact…`, `looked NAME gone` | the facts stay until they are changed ([`facts`]) |
//! | `tried yes no -` | locks or watches granted; `-`: the backend has not our mark |
//! | `started EPOCH attempt=N takeover=N / not / not-owned` | one a start |
//! | `lost EPOCH…` | the next look that asks for it shows these runs as lost; nothing happens |
//! | `settled-lost NAME EPOCH DEATHS / …` | with `gave-up` |
//! | `settled DEATHS`, `settled DEATHS gave-up`, `settled nothing` | |
//! | `pong`, `pong unmarked`, `pong read-only`, `pong without NAME`, `pong cancel EPOCH` | |
//! | `ended recorded OUTCOME handled=… open=… not_before=… / before / superseded / locked` | one an end |
//! | `unlocked`, `unlocked not-ours`, `reconciled`, `reconciled incomplete` | |
//! | `refused KIND` | the question came to nothing |
//! | `freed-group NAME` | another node said that it let the lock of a group go |
//! | `freed NAME` | another node said that it let the lock go |
//! | `began NAME` | somebody said that a run of it has started |
//! | `changed NAME` | somebody said that something about the job was changed by hand |
//! | `hints-lost` | more was said than could be heard |
//! | `body NAME HOW`, `body NAME/EPOCH HOW` | a body ended |
//! | `trigger NAME`, `backfill NAME FROM UNTIL`, `status`, `shutdown` | somebody asks; tickets count from 1 |
//! | `condition NAME holds`, `condition NAME fails` | the process's own condition is answered |
//! | `add NAME SCHEDULE …`, `remove NAME` | the program has a job more, or less |
//! | `health` | asks the node how it is; nothing happens |

mod answers;
pub(crate) mod facts;
pub(crate) mod job;
mod said;

use std::collections::HashMap;
use std::time::Duration;

use hourhand_core::facts::Facts;
use hourhand_core::job::Definition;
use hourhand_core::key::Key;
use hourhand_core::name::JobName;
use hourhand_core::node::{Exclusion, Node, Settings};
use hourhand_core::protocol::{Action, Answer, Event, Order, Question, Slot, Ticket, Trouble, TroubleKind};
use hourhand_core::time::{Mono, Now};
use jiff::{SignedDuration, Timestamp};

use crate::golden::{self, Scene};
use crate::notation::{length, midnight, span, span_shown, time};
use crate::outcomes::body_end;

#[test]
fn a_run_goes_from_wake_up_to_rest() {
    golden::check::<World>("node_runs.txt");
}

#[test]
fn a_node_waits_for_a_lock_and_takes_over() {
    golden::check::<World>("node_contention.txt");
}

#[test]
fn a_continuous_job_always_has_a_run_or_a_backoff() {
    golden::check::<World>("node_continuous.txt");
}

#[test]
fn jobs_of_a_group_never_overlap() {
    golden::check::<World>("node_groups.txt");
}

#[test]
fn whoever_asks_for_a_run_is_answered() {
    golden::check::<World>("node_requests.txt");
}

#[test]
fn a_run_that_nobody_would_take_over_is_put_on_record_all_the_same() {
    golden::check::<World>("node_lost.txt");
}

#[test]
fn a_request_from_elsewhere_is_taken_once() {
    golden::check::<World>("node_elsewhere.txt");
}

#[test]
fn a_span_is_run_again_one_after_another() {
    golden::check::<World>("node_backfills.txt");
}

#[test]
fn a_lost_session_ends_its_runs_and_is_replaced() {
    golden::check::<World>("node_session.txt");
}

#[test]
fn an_end_is_durable_before_the_lock_is_let_go() {
    golden::check::<World>("node_ends.txt");
}

#[test]
fn a_start_that_does_not_come_about_is_understood() {
    golden::check::<World>("node_starts.txt");
}

#[test]
fn a_lease_outlives_its_connection_and_runs_out_without_one() {
    golden::check::<World>("node_leases.txt");
}

#[test]
fn whoever_comes_too_late_comes_later_the_next_time() {
    golden::check::<World>("node_rivals.txt");
}

#[test]
fn a_node_stands_down_for_a_newer_definition_and_up_again() {
    golden::check::<World>("node_deploys.txt");
}

#[test]
fn hooks_are_told_once_and_conditions_asked_first() {
    golden::check::<World>("node_hooks.txt");
}

#[test]
fn a_job_under_a_new_name_goes_on_where_the_old_one_was() {
    golden::check::<World>("node_renames.txt");
}

#[test]
fn jobs_come_and_go() {
    golden::check::<World>("node_members.txt");
}

#[test]
fn a_body_is_stopped_in_time_and_a_shutdown_drains() {
    golden::check::<World>("node_stopping.txt");
}

#[test]
fn a_job_that_starts_when_asked_starts_for_nothing_else() {
    golden::check::<World>("node_asked.txt");
}

/// A node and the clocks around it.
struct World {
    settings: Settings,
    jobs: Vec<Definition>,
    node: Option<Node>,
    mono: Duration,
    server: Timestamp,
    wall_off: SignedDuration,
    facts: Vec<Option<Facts>>,
    /// Runs that the next look shows as lost.
    lost: Vec<i64>,
    epochs: HashMap<Slot, i64>,
    asked: Option<Question>,
    /// Shows what is asked to make statements ready; otherwise that is answered, and no word lost about it.
    prepares: bool,
    tickets: u64,
}

impl Scene for World {
    fn begin(_title: &str) -> World {
        World {
            settings: Settings {
                ttl: Duration::from_secs(15),
                start_delay: Duration::ZERO,
                linger: Duration::from_secs(60),
                resident: false,
                migrate: false,
                shutdown_grace: Duration::from_secs(20),
                runs_max: usize::MAX,
                exclusion: Exclusion::Session,
                prune_interval: Duration::MAX,
                rowless: false,
                seed: 1,
            },
            jobs: Vec::new(),
            node: None,
            mono: Duration::ZERO,
            server: midnight(),
            wall_off: SignedDuration::ZERO,
            facts: Vec::new(),
            lost: Vec::new(),
            epochs: HashMap::new(),
            asked: None,
            prepares: false,
            tickets: 0,
        }
    }

    fn answer(&mut self, line: &str) -> String {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "job" => self.jobs.push(job::definition(line)),
            "set" => rest.split_whitespace().for_each(|word| self.set(word)),
            "at" => self.server = time(rest),
            "lost" => self.lost = rest.split_whitespace().map(|epoch| epoch.parse().unwrap()).collect(),
            "wall" => self.wall_off += length(rest),
            "start" => {
                let handled_until = self.server;
                let fresh = Facts { handled_until, ..Facts::registered(midnight()) };
                self.facts.resize(self.jobs.len(), Some(fresh));
                self.node = Some(Node::new(self.settings.clone(), self.jobs.clone(), self.now()));
                return self.happen(Event::Woke);
            }
            "sleep" => {
                let now = self.now();
                let slept = self.node().wakes_in(now).max(Duration::from_millis(1));
                self.pass(slept);
                return format!("slept {}\n{}", span_shown(slept), self.happen(Event::Woke));
            }
            "health" => {
                let now = self.now();
                return said::health(&self.node().health(now), &self.jobs);
            }
            _ if line.starts_with('+') => {
                self.pass(span(command));
                return if rest == "frozen" { String::new() } else { self.happen(Event::Woke) };
            }
            _ => {
                let event = self.event(command, rest);
                return self.happen(event);
            }
        }
        String::new()
    }
}

impl World {
    fn set(&mut self, word: &str) {
        let (setting, value) = word.split_once('=').unwrap_or((word, ""));
        match setting {
            "ttl" => self.settings.ttl = span(value),
            "start_delay" => self.settings.start_delay = span(value),
            "linger" => self.settings.linger = span(value),
            "prepares" => self.prepares = true,
            "resident" => self.settings.resident = true,
            "migrate" => self.settings.migrate = true,
            "rowless" => self.settings.rowless = true,
            "leases" => self.settings.exclusion = Exclusion::Lease,
            "prune" => self.settings.prune_interval = span(value),
            "runs_max" => self.settings.runs_max = value.parse().unwrap(),
            "shutdown_grace" => self.settings.shutdown_grace = span(value),
            _ => panic!("no such setting: {word}"),
        }
    }

    fn now(&self) -> Now {
        Now { mono: Mono(self.mono), wall: self.server + self.wall_off }
    }

    fn node(&mut self) -> &mut Node {
        self.node.as_mut().unwrap()
    }

    fn pass(&mut self, length: Duration) {
        self.mono += length;
        self.server += SignedDuration::try_from(length).unwrap();
    }

    fn slot(&self, name: &str) -> Slot {
        Slot(self.jobs.iter().position(|job| job.name.as_str() == name).unwrap_or_else(|| panic!("no job {name}")))
    }

    fn happen(&mut self, event: Event) -> String {
        let now = self.now();
        let mut actions = self.node.as_mut().unwrap().step(now, event);
        if !self.prepares && actions.pop_if(|action| *action == Action::Ask(Question::Prepare)).is_some() {
            actions.extend(self.node().step(now, Event::Answered(Answer::Prepared)));
        }
        actions.iter().map(|action| self.note(action)).collect::<Vec<String>>().join("\n")
    }

    /// Keeps what later lines refer to.
    fn note(&mut self, action: &Action) -> String {
        match action {
            Action::Ask(question) => {
                assert!(self.asked.is_none(), "{question:?} while {:?} is under way", self.asked);
                self.asked = Some(question.clone());
            }
            Action::Close => self.asked = None,
            Action::StartBody { slot, run, .. } => {
                self.epochs.insert(*slot, run.epoch);
            }
            _ => {}
        }
        said::action(action, &self.jobs)
    }

    fn event(&mut self, command: &str, rest: &str) -> Event {
        match command {
            "connected" => {
                Event::Connected { server: self.server, pid: if rest.is_empty() { 1 } else { rest.parse().unwrap() } }
            }
            "connect-failed" => Event::ConnectFailed(trouble(rest)),
            "closed" => {
                self.asked = None;
                Event::Closed(trouble("unreachable"))
            }
            "refused" => {
                self.asked.take().expect("nothing is asked");
                Event::Refused(trouble(rest))
            }
            "freed-group" => Event::Freed(Key::of_group(None, &JobName::parse(rest).unwrap()).0),
            "freed" => Event::Freed(self.jobs[self.slot(rest).0].key.0),
            "began" => Event::Began(self.jobs[self.slot(rest).0].key.0),
            "hints-lost" => Event::HintsLost,
            "changed" => Event::Changed(self.jobs[self.slot(rest).0].key.0),
            "backfill" => self.backfill(rest),
            "body" => self.body(rest),
            "trigger" => Event::Triggered { slot: self.slot(rest), ticket: self.ticket() },
            "add" => {
                self.jobs.push(job::definition(&format!("job {rest}")));
                let fresh = Facts { handled_until: self.server, ..Facts::registered(self.server) };
                self.facts.push(Some(fresh));
                let slot = Slot(self.jobs.len() - 1);
                let jobs = vec![(slot, self.jobs[slot.0].clone().into())];
                Event::Added { jobs, ticket: self.ticket() }
            }
            "condition" => {
                let (name, answer) = rest.split_once(' ').unwrap();
                Event::ConditionAnswered { slot: self.slot(name), holds: answer == "holds" }
            }
            "remove" => Event::Removed { slot: self.slot(rest), ticket: self.ticket() },
            "status" => Event::StatusAsked(self.ticket()),
            "shutdown" => Event::Shutdown,
            _ => {
                let question = self.asked.take().unwrap_or_else(|| panic!("nothing is asked: {command} {rest}"));
                Event::Answered(self.answered(&question, command, rest))
            }
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    fn backfill(&mut self, rest: &str) -> Event {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [name, from, until] = words[..] else { panic!("backfill NAME FROM UNTIL: {rest}") };
        let order = Order::Backfill { from: time(from), until: time(until), runs: 0, actor: None };
        Event::Ordered { slot: self.slot(name), order, ticket: self.ticket() }
    }

    fn body(&self, rest: &str) -> Event {
        let mut words = rest.split_whitespace();
        let (run, how) = (words.next().unwrap(), words.next().unwrap());
        let (name, epoch) = run.split_once('/').unwrap_or((run, ""));
        let slot = self.slot(name);
        let epoch = if epoch.is_empty() { self.epochs[&slot] } else { epoch.parse().unwrap() };
        let asks = words.next().and_then(|word| word.strip_prefix("asks=")).map(length);
        Event::BodyEnded { slot, epoch, end: body_end(how, asks) }
    }
}

/// Trouble of a kind.
fn trouble(kind: &str) -> Trouble {
    let kinds = [
        ("unreachable", TroubleKind::Unreachable),
        ("denied", TroubleKind::Refused),
        ("too-many-connections", TroubleKind::TooManyConnections),
        ("timed-out", TroubleKind::TimedOut),
        ("cancelled", TroubleKind::Cancelled),
        ("out-of-locks", TroubleKind::OutOfLocks),
        ("not-migrated", TroubleKind::NotMigrated),
        ("forbidden", TroubleKind::Forbidden),
        ("incompatible", TroubleKind::Incompatible),
        ("other", TroubleKind::Other),
    ];
    let found = kinds.into_iter().find(|(word, _)| *word == kind);
    let (word, kind) = found.unwrap_or_else(|| panic!("no such trouble: {kind}"));
    Trouble { kind, text: word.to_owned() }
}
