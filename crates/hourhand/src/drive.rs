//! The only loop: hands to the node what happened, and carries out what it answers.
//!
//! It runs on a thread of its own, with a runtime of its own, so that a body that blocks the service's runtime cannot stop the
//! ping. It holds no rule: what to do is the node's, how a statement reads is `pg`'s. Futures that are under way (a statement, a
//! connection on its way) live in fields and are dropped only together with the session they belong to.

mod bodies;
mod calls;
mod metrics;
mod notices;
mod roster;
mod session;

pub(crate) use bodies::panic_text;
pub(crate) use roster::Roster;

use std::sync::Arc;
use std::time::Duration;

use hourhand_core::node::{Node, Settings};
use hourhand_core::protocol::{Action, Event, Notice, Order, Ordered, Question, Slot, Ticket, TriggerAnswer, Trouble};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;
use crate::member::Member;
use crate::pg::{Catalog, SessionSettings};
use crate::status::{self, Health, JobStatus};
use bodies::Bodies;
use calls::Calls;
use metrics::Meter;
use session::Line;

/// Where the answer to a question of the front door goes.
type Reply<T> = oneshot::Sender<T>;
type StatusAnswer = Result<Vec<JobStatus>, Trouble>;
type OrderAnswer = Result<Ordered, Trouble>;

/// What the front door asks of the loop.
pub(crate) enum Command {
    Trigger {
        slot: Slot,
        reply: Reply<TriggerAnswer>,
    },
    Status {
        reply: Reply<StatusAnswer>,
    },
    Health {
        reply: Reply<Health>,
    },
    Order {
        slot: Slot,
        order: Order,
        reply: Reply<OrderAnswer>,
    },
    /// What a run has written so far; none: it is not under way here.
    Output {
        slot: Slot,
        epoch: i64,
        reply: Reply<Option<String>>,
    },
    /// Jobs that have their slots already; the answer: those that stand under another key, and are not taken.
    Add {
        members: Vec<(Slot, Member)>,
        reply: Reply<Vec<Slot>>,
    },
    /// The answer is the run that goes on.
    Remove {
        slot: Slot,
        reply: Reply<Option<i64>>,
    },
    Shutdown,
}

/// What the loop is told once.
pub(crate) struct Brief {
    pub(crate) settings: Settings,
    pub(crate) session: SessionSettings,
    /// Where bodies run: the service's runtime.
    pub(crate) runtime: Handle,
}

/// The end of a run, as far as it is on record.
#[derive(Debug)]
pub(crate) struct RunEnd {
    pub(crate) epoch: i64,
    /// In the word of history, with its message; none: a later run has started, or the database would not take it.
    pub(crate) outcome: Option<(String, Option<String>)>,
}

impl RunEnd {
    fn of(notice: &Notice) -> Option<RunEnd> {
        match notice {
            Notice::RunEnded { epoch, outcome, error, .. } => {
                Some(RunEnd { epoch: *epoch, outcome: Some((outcome.clone(), error.clone())) })
            }
            Notice::RunSuperseded { epoch, .. } | Notice::Unrecorded { epoch, .. } => {
                Some(RunEnd { epoch: *epoch, outcome: None })
            }
            _ => None,
        }
    }
}

/// What somebody is told who waits for one run.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A run has ended.
    End(RunEnd),
    /// A lock of this process's jobs may have come free: somebody said so, or may have.
    Free,
}

/// What the loop tells the front door.
pub(crate) struct Reports {
    /// How the first visit went: done, or the first trouble.
    pub(crate) first_visit: Option<Reply<Result<(), FirstTrouble>>>,
    /// Whoever waits for one run.
    pub(crate) waiting: Option<mpsc::UnboundedSender<Heard>>,
}

/// Why the first visit came to nothing.
#[derive(Debug)]
pub(crate) enum FirstTrouble {
    Database(Trouble),
    SessionShared,
    OtherKey(String),
}

/// Runs the node until it has shut down.
pub(crate) async fn drive(
    (brief, roster): (Arc<Brief>, &mut Roster),
    commands: &mut mpsc::UnboundedReceiver<Command>,
    reports: &mut Reports,
) {
    let clock = Clock::start();
    let node = Node::with_slots(brief.settings.clone(), roster.definitions(), clock.now());
    let line = Line::new(brief.session.clone());
    let calls = Calls::new(brief.runtime.clone());
    let bodies = Bodies::new(brief);
    let (tickets, meter) = (Tickets::default(), Meter::new());
    let mut drive = Drive { roster, clock, node, bodies, calls, line, tickets, meter, finished: false };
    let mut event = Event::Woke;
    while drive.take(event, reports) {
        event = drive.next_event(commands).await;
        reports.note_free(&event, &drive.roster.catalog);
    }
}

struct Drive<'a> {
    roster: &'a mut Roster,
    clock: Clock,
    node: Node,
    bodies: Bodies,
    calls: Calls,
    line: Line,
    tickets: Tickets,
    meter: Meter,
    finished: bool,
}

/// Who waits for an answer of the node.
#[derive(Default)]
struct Tickets {
    next: u64,
    triggers: Vec<(Ticket, Reply<TriggerAnswer>)>,
    statuses: Vec<(Ticket, Reply<StatusAnswer>)>,
    orders: Vec<(Ticket, Reply<OrderAnswer>)>,
    added: Vec<(Ticket, Reply<Vec<Slot>>)>,
    removed: Vec<(Ticket, Reply<Option<i64>>)>,
}

impl Drive<'_> {
    /// The next thing that happens. Whatever is under way stays so while something else happens.
    async fn next_event(&mut self, commands: &mut mpsc::UnboundedReceiver<Command>) -> Event {
        let wakes_in = self.node.wakes_in(self.clock.now()).max(Duration::from_millis(1));
        tokio::select! {
            biased;
            event = self.line.next_event() => event,
            event = self.bodies.next_event() => event,
            event = self.calls.next_event() => event,
            command = commands.recv() => self.command(command),
            () = tokio::time::sleep(wakes_in) => Event::Woke,
        }
    }

    fn command(&mut self, command: Option<Command>) -> Event {
        match command {
            Some(Command::Trigger { slot, reply }) => {
                let ticket = self.tickets.draw();
                self.tickets.triggers.push((ticket, reply));
                Event::Triggered { slot, ticket }
            }
            Some(Command::Status { reply }) => {
                let ticket = self.tickets.draw();
                self.tickets.statuses.push((ticket, reply));
                Event::StatusAsked(ticket)
            }
            Some(Command::Order { slot, order, reply }) => {
                let ticket = self.tickets.draw();
                self.tickets.orders.push((ticket, reply));
                Event::Ordered { slot, order, ticket }
            }
            Some(Command::Health { reply }) => {
                // Whoever asked may have gone, here and below.
                let _ = reply.send(status::health(&self.node.health(self.clock.now()), &self.roster.catalog));
                Event::Woke
            }
            Some(Command::Output { slot, epoch, reply }) => {
                let _ = reply.send(self.bodies.so_far(slot, epoch));
                Event::Woke
            }
            Some(Command::Add { members, reply }) => {
                let ticket = self.tickets.draw();
                self.tickets.added.push((ticket, reply));
                let jobs = members.iter().map(|(slot, member)| (*slot, member.definition.clone())).collect();
                members.into_iter().for_each(|(slot, member)| self.roster.add(slot, member));
                Event::Added { jobs, ticket }
            }
            Some(Command::Remove { slot, reply }) => {
                let ticket = self.tickets.draw();
                self.tickets.removed.push((ticket, reply));
                self.roster.leave(slot);
                Event::Removed { slot, ticket }
            }
            // The front door keeps the sender for as long as the loop runs.
            Some(Command::Shutdown) | None => Event::Shutdown,
        }
    }

    /// Lets the node decide and carries out what it says; false: there is nothing left to do.
    fn take(&mut self, event: Event, reports: &mut Reports) -> bool {
        let actions = self.node.step(self.clock.now(), event);
        // Before any body starts that is to be told.
        self.bodies.trust(self.node.trusted_until(), &self.clock);
        for action in actions {
            self.carry_out(action, reports);
        }
        self.meter.stands(self.node.locks_held(), self.line.is_open());
        if self.node.is_registered() {
            reports.first_visit(Ok(()));
        }
        !self.finished
    }

    fn carry_out(&mut self, action: Action, reports: &mut Reports) {
        match action {
            Action::Connect { end_former } => self.line.connect(end_former),
            Action::Close => self.line.close(),
            Action::Ask(question) => {
                let outputs = self.outputs(&question);
                self.line.ask(self.roster.catalog.clone(), question, outputs);
            }
            Action::StartBody { slot, occurrence, trigger, run } => {
                if let Some(member) = self.roster.member(slot) {
                    // The occurrence of a backfill's run has been over for long.
                    let due = occurrence.filter(|_| trigger.is_by_schedule());
                    self.meter.starts((slot, member.name()), due, &run, self.clock.now().mono);
                    self.bodies.start((slot, member), occurrence, trigger, run);
                }
            }
            Action::StopBody { slot, epoch, .. } => self.bodies.stop(slot, epoch),
            Action::AbortBody { slot, epoch } => self.bodies.abort(slot, epoch),
            Action::AnswerTrigger(ticket, answer) => {
                let answer = self.named(answer);
                answer_to(&mut self.tickets.triggers, ticket, answer);
            }
            Action::AnswerAdded(ticket, refused) => {
                refused.iter().for_each(|slot| self.roster.leave(*slot));
                answer_to(&mut self.tickets.added, ticket, refused);
            }
            Action::AnswerRemoved(ticket, going) => answer_to(&mut self.tickets.removed, ticket, going),
            Action::Release(slot) => self.roster.release(slot),
            Action::AnswerOrder(ticket, answer) => answer_to(&mut self.tickets.orders, ticket, answer),
            Action::AnswerStatus(ticket, facts) => {
                let answer = facts.map(|(now, facts)| status::jobs(&self.node, now, &facts));
                answer_to(&mut self.tickets.statuses, ticket, answer);
            }
            Action::AskCondition(slot) => {
                if let Some(member) = self.roster.member(slot) {
                    self.calls.ask(slot, member);
                }
            }
            Action::Tell(slot, happened) => {
                if let Some(member) = self.roster.member(slot) {
                    self.calls.tell(member, happened);
                }
            }
            Action::Say(notice) => {
                reports.note_first(&notice, &self.roster.catalog);
                if notice == Notice::SessionShared {
                    self.line.suspect();
                }
                if let Notice::RunEnded { slot, epoch, .. } | Notice::RunSuperseded { slot, epoch } = &notice {
                    self.bodies.forget(*slot, *epoch);
                }
                self.meter.note(&notice, &self.roster.catalog, self.clock.now().mono);
                if let Some((waiting, end)) = reports.waiting.as_ref().zip(RunEnd::of(&notice)) {
                    // Whoever waited may have gone, here and below.
                    let _ = waiting.send(Heard::End(end));
                }
                notices::say(notice, &self.roster.catalog);
            }
            Action::Finish => self.finished = true,
        }
    }

    /// The outputs that go with the ends of a question.
    fn outputs(&self, question: &Question) -> Vec<Option<String>> {
        match question {
            Question::End { ends, .. } => ends.iter().map(|end| self.bodies.output(end.slot, end.epoch)).collect(),
            _ => Vec::new(),
        }
    }

    /// The node does not know what it calls itself.
    fn named(&self, answer: TriggerAnswer) -> TriggerAnswer {
        match answer {
            TriggerAnswer::AlreadyRunning { node: None, since: Some(since), epoch } => {
                let node = Some(self.roster.catalog.node.clone());
                TriggerAnswer::AlreadyRunning { node, since: Some(since), epoch }
            }
            other => other,
        }
    }
}

impl Tickets {
    fn draw(&mut self) -> Ticket {
        self.next += 1;
        Ticket(self.next)
    }
}

/// Answers whoever holds the ticket; he may have gone.
fn answer_to<T>(waiting: &mut Vec<(Ticket, Reply<T>)>, ticket: Ticket, answer: T) {
    if let Some(at) = waiting.iter().position(|(theirs, _)| *theirs == ticket) {
        let _ = waiting.swap_remove(at).1.send(answer);
    }
}

impl Reports {
    fn first_visit(&mut self, result: Result<(), FirstTrouble>) {
        if let Some(waiting) = self.first_visit.take() {
            let _ = waiting.send(result);
        }
    }

    /// A notice may have been missed while there was no session, or when there were too many.
    fn note_free(&self, event: &Event, catalog: &Catalog) {
        let Some(waiting) = &self.waiting else { return };
        let free = match event {
            Event::Freed(key) => catalog.entries.iter().flatten().any(|entry| entry.key().0 == *key),
            Event::HintsLost | Event::Connected { .. } => true,
            _ => false,
        };
        if free {
            let _ = waiting.send(Heard::Free);
        }
    }

    fn note_first(&mut self, notice: &Notice, catalog: &Catalog) {
        match notice {
            Notice::Unavailable(trouble) => self.first_visit(Err(FirstTrouble::Database(trouble.clone()))),
            Notice::SessionShared => self.first_visit(Err(FirstTrouble::SessionShared)),
            Notice::OtherKey(slot) => {
                self.first_visit(Err(FirstTrouble::OtherKey(catalog.entry(*slot).name().to_owned())));
            }
            _ => {}
        }
    }
}
