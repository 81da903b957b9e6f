//! A question's way: asked, arrived, executed, answered; or lost on the way.
//!
//! Between any two of these everything else may happen, and that is where schedulers go wrong: the statement is carried out and its
//! session ends before the answer is sent, or the answer comes after the client has given it up (ttl/5, while the server's own bound is
//! shorter, so that a statement given up here does not go on there). A late answer is dropped, not undone: what the node believes
//! and what the server has done differ from then on, until it looks.
//!
//! A session carries out one statement after another. One that waits for a row holds up those behind it, pings too.

use std::time::Duration;

use hourhand_core::protocol::{Answer, Event, Question, Trouble, TroubleKind};

use super::nodes::name_of;
use super::{Happening, World};
use crate::bug::Bug;
use crate::process::Line;
use crate::server::{Cause, Execution, Request, Snapshot, Waiter};

impl World {
    /// The node asks: sent at once, and given up after its bound.
    pub(super) fn ask(&mut self, process: usize, question: Question) {
        let Line::Open(pid) = self.processes[process].line else { return };
        self.report.statements += 1;
        self.scale.asked(self.now, name_of(&question));
        let now = self.now;
        let asking = &mut self.processes[process];
        asking.asks += 1;
        asking.sent.push(now);
        let ask = asking.asks;
        asking.asking = Some((ask, question.clone()));
        if self.plan.bug == Some(Bug::PingCountedFromAnswer)
            && matches!(question, Question::Ping(_))
            && let Some(proof) = self.processes[process].last_proof.take()
        {
            return self.after(Duration::ZERO, Happening::Answered { process, pid, ask, answer: Ok(proof) });
        }
        let request = Request { ask, question, seen: Snapshot::default(), waited: false };
        let arrival = self.arrival(process, true);
        self.at(arrival, Happening::Arrived { pid, process, request });
        self.after(self.ttl / 5, Happening::BoundPassed { process, ask });
    }

    pub(super) fn arrived(&mut self, pid: i32, process: usize, request: Request) {
        let Some(backend) = self.server.backends.get_mut(&pid) else {
            // Nobody is there: the answer is a reset.
            return self.tell_closed(process, pid);
        };
        backend.heard = self.now;
        backend.queue.push_back(request);
        self.begin_next(pid);
    }

    /// A backend that has nothing to do takes the next statement.
    fn begin_next(&mut self, pid: i32) {
        let Some(backend) = self.server.backends.get_mut(&pid).filter(|backend| !backend.busy) else { return };
        let Some(mut request) = backend.queue.pop_front() else { return };
        backend.busy = true;
        backend.begun = self.now;
        request.seen = self.server.snapshot(pid, &request.question);
        let slow = self.faults.heavy_until > self.now && self.random.chance(300);
        let takes = if slow {
            self.random.millis(10, 6_000)
        } else {
            self.random.between(Duration::from_micros(50), Duration::from_millis(3))
        };
        let bound = self.ttl / 5 - Duration::from_millis(200);
        self.after(takes.min(bound), Happening::Executed { pid, request, timed_out: takes > bound });
    }

    pub(super) fn executed(&mut self, pid: i32, request: Request, timed_out: bool) {
        if !self.server.backends.contains_key(&pid) {
            return;
        }
        if timed_out {
            // Locks that a statement has taken before it is cancelled stay taken.
            self.server.take_some(pid, &request.question);
            return self.reply(pid, request.ask, Err(trouble(TroubleKind::Cancelled)));
        }
        self.execute(pid, request);
    }

    pub(super) fn execute(&mut self, pid: i32, mut request: Request) {
        let ask = request.ask;
        match self.server.execute(pid, &request, self.now) {
            Execution::Done(answer) => {
                self.note(|| format!("server: {} of {pid}: {answer:?}", name_of(&request.question)));
                if self.faults.strikes_now(self.quiet, &request.question, &mut self.random) {
                    // The worst instant: it is done, and nobody learns it.
                    return self.end_session(pid, Cause::Ended);
                }
                self.tell_the_evicted(&answer);
                self.reply(pid, ask, Ok(answer));
            }
            Execution::Failed(kind) => self.reply(pid, ask, Err(trouble(kind))),
            Execution::Wait(job) => {
                request.waited = true;
                self.server.held_up.insert(pid, request);
                self.server.waiting.entry(job).or_default().push_back(Waiter::Backend(pid));
                self.after(self.ttl / 15, Happening::RowWaited { pid, ask });
            }
        }
    }

    /// Sessions that the maintainer ended learn it.
    fn tell_the_evicted(&mut self, answer: &Answer) {
        if let Answer::Obstacles(seen) = answer {
            for (_, obstacle) in seen.iter().filter(|(_, obstacle)| obstacle.evicted && obstacle.ours) {
                let process = self.processes.iter().position(|process| process.former == Some(obstacle.pid));
                if let Some(process) = process {
                    self.tell_closed(process, obstacle.pid);
                }
            }
        }
    }

    /// It has waited for the row as long as it may.
    pub(super) fn row_waited(&mut self, pid: i32, ask: u64) {
        if self.server.held_up.get(&pid).is_some_and(|request| request.ask == ask) {
            self.server.held_up.remove(&pid);
            self.server.wait_no_more(Waiter::Backend(pid));
            self.reply(pid, ask, Err(trouble(TroubleKind::Cancelled)));
        }
    }

    fn reply(&mut self, pid: i32, ask: u64, answer: Result<Answer, Trouble>) {
        let Some(backend) = self.server.backends.get_mut(&pid) else { return };
        backend.busy = false;
        let process = backend.process;
        let arrival = self.arrival(process, false);
        self.at(arrival, Happening::Answered { process, pid, ask, answer });
        self.begin_next(pid);
    }

    pub(super) fn answered(&mut self, process: usize, (pid, ask): (i32, u64), answer: Result<Answer, Trouble>) {
        if let Some(backend) = self.server.backends.get_mut(&pid) {
            // Its kernel has said that it got it.
            backend.heard = self.now;
        }
        let current = self.processes[process].asking.as_ref().is_some_and(|(asked, _)| *asked == ask);
        if self.processes[process].line != Line::Open(pid) || !current {
            return;
        }
        self.processes[process].asking = None;
        match answer {
            Ok(answer) => {
                if self.plan.bug == Some(Bug::PingCountedFromAnswer) && matches!(answer, Answer::Pinged(_)) {
                    let fresh = self.processes[process].last_proof.is_none();
                    self.processes[process].last_proof = fresh.then(|| answer.clone());
                }
                self.feed(process, Event::Answered(answer));
            }
            Err(trouble) => self.feed(process, Event::Refused(trouble)),
        }
    }

    pub(super) fn bound_passed(&mut self, process: usize, ask: u64) {
        if self.processes[process].asking.as_ref().is_some_and(|(asked, _)| *asked == ask) {
            self.processes[process].asking = None;
            self.feed(process, Event::Refused(trouble(TroubleKind::TimedOut)));
        }
    }
}

pub(crate) fn trouble(kind: TroubleKind) -> Trouble {
    Trouble { kind, text: String::new() }
}
