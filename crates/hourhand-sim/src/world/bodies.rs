//! Bodies, step by step.
//!
//! What a body is like is drawn when it begins ([`Nature`]): how long it works, whether it writes, and in how many ways it misbehaves.
//! A write goes over a connection of the body's own, which knows nothing of the node's session: begin, `fence` or `complete` (which
//! may wait for the row), COMMIT, each travelling like everything else. So a write can be under way while the lock is lost, and only
//! the fence stands between it and a successor's; that is what P2 is held against.
//!
//! A body that is told to stop ends soon, unless it is deaf (then it is aborted, and that ends it) or blocks (then not even that does,
//! until it is done with what it does: a blocking call in a library). A blocking body may outlive its lock; the promise
//! for it is the fence alone, so the checks of P7 leave it out, and those of P2 do not.

use std::time::Duration;

use hourhand_core::outcome::{BodyEnd, StopReason, Trigger};
use hourhand_core::protocol::{Event, Slot, Started};

use super::{Happening, World};
use crate::body::{Body, Nature, Step};
use crate::process::Line;

impl World {
    pub(super) fn start_body(&mut self, process: usize, slot: Slot, (run, trigger): (Started, Trigger)) {
        let job = self.processes[process].jobs[slot.0];
        let nature = Nature::draw(&self.jobs[job], (self.quiet, trigger == Trigger::Continuous), &mut self.random);
        let pid = match self.processes[process].line {
            Line::Open(pid) => pid,
            Line::Closed | Line::Opening(_) => 0,
        };
        let body = Body {
            process,
            pid,
            slot,
            job,
            epoch: run.epoch,
            nature: nature.clone(),
            told: None,
            aborted: false,
            tx: None,
            called_complete: false,
            done: false,
            gone: None,
            must_end_by: None,
        };
        self.report.runs += 1;
        self.count_lateness(job, &run);
        let may = !self.jobs[job].definition.conditional || self.processes[process].permits.get(&job) == Some(&true);
        self.checks.require(may || !trigger.is_by_schedule(), self.now, || {
            format!("only_if: process {process} runs job {job}, which its own condition forbids")
        });
        let id = self.new_body(body);
        self.body_began(id);
        if let Some(wait) = nature.dies_after {
            self.after(wait, Happening::Body { body: id, step: Step::Die });
        }
        if let Some(wait) = nature.writes_after {
            self.after(wait, Happening::Body { body: id, step: Step::Write });
        }
        self.after(nature.length, Happening::Body { body: id, step: Step::Done });
    }

    /// How late the first body of an occurrence is, by the server's clock.
    fn count_lateness(&mut self, job: usize, run: &Started) {
        let row = self.server.store.rows.get(&job).filter(|row| row.epoch == run.epoch && row.scheduled());
        if let Some(occurrence) = row.and_then(|row| row.scheduled_for)
            && (run.attempt, run.takeover) == (1, 0)
        {
            let due = occurrence + self.server.registered(job).delay();
            self.scale.began((self.server.now(self.now) - due).try_into().unwrap_or_default());
        }
    }

    pub(super) fn body_soon(&mut self, body: u64, step: Step) {
        let wait = self.random.between(Duration::ZERO, Duration::from_millis(2));
        self.after(wait, Happening::Body { body, step });
    }

    pub(super) fn body_step(&mut self, id: u64, step: Step) {
        let Some(body) = self.bodies.get(&id).cloned() else { return };
        match step {
            Step::Write if body.tx.is_none() && !body.done => {
                let tx = self.server.begin(Some(id), body.job, body.epoch, body.nature.completes);
                self.with_body(id, |body| body.tx = Some(tx));
                self.body_soon(id, Step::Fence);
            }
            Step::Fence => {
                let Some(tx) = body.tx else { return };
                let completes = body.nature.completes;
                self.with_body(id, |body| body.called_complete |= completes);
                let arrival = self.arrival(body.process, true);
                self.at(arrival, Happening::FenceArrived { tx });
            }
            Step::Commit => {
                let Some(tx) = body.tx else { return };
                let arrival = self.arrival(body.process, true);
                self.at(arrival, Happening::CommitArrived { tx });
            }
            Step::Done => {
                self.with_body(id, |body| body.done = true);
                if body.tx.is_none() && body.nature.blocks_for.is_none_or(|_| body.told.is_none()) {
                    let end = body.end(&mut self.random);
                    self.end_body(id, end);
                }
            }
            Step::Die => self.kill(body.process, true),
            Step::End(end) => self.end_body(id, end),
            Step::Write => {}
        }
    }

    fn with_body(&mut self, id: u64, change: impl FnOnce(&mut Body)) {
        if let Some(body) = self.bodies.get_mut(&id) {
            change(body);
        }
    }

    /// The fence's answer is on its way; COMMIT follows.
    pub(super) fn fence_passed(&mut self, id: u64) {
        if let Some(wait) = self.bodies.get(&id).map(|body| body.nature.holds_row_for) {
            self.after(wait, Happening::Body { body: id, step: Step::Commit });
        }
    }

    pub(super) fn commit_answered(&mut self, tx: u64, done: bool) {
        let Some((id, body)) = self.bodies.iter().find(|(_, body)| body.tx == Some(tx)) else { return };
        let (id, body) = (*id, body.clone());
        self.with_body(id, |body| body.tx = None);
        if !done {
            self.body_soon(id, Step::End(superseded()));
        } else if body.done {
            let end = body.end(&mut self.random);
            self.body_soon(id, Step::End(end));
        }
    }

    /// The body ends, with whatever it has under way; its node learns it.
    fn end_body(&mut self, id: u64, end: BodyEnd) {
        let Some(body) = self.bodies.remove(&id) else { return };
        if let Some(tx) = body.tx {
            self.server.abort(tx);
        }
        self.feed(body.process, Event::BodyEnded { slot: body.slot, epoch: body.epoch, end });
    }

    fn find(&self, process: usize, (slot, epoch): (Slot, i64)) -> Option<u64> {
        let found = |body: &&Body| body.process == process && body.slot == slot && body.epoch == epoch;
        self.bodies.iter().find(|(_, body)| found(body)).map(|(id, _)| *id)
    }

    pub(super) fn stop_body(&mut self, process: usize, run: (Slot, i64), reason: StopReason) {
        let Some(id) = self.find(process, run) else { return };
        self.with_body(id, |body| body.told = Some(reason));
        let Some(body) = self.bodies.get(&id) else { return };
        if body.nature.blocks_for.is_none() && !body.nature.deaf {
            let completing = body.called_complete;
            let wait = self.random.millis(0, 200);
            self.after(wait, Happening::Body { body: id, step: Step::End(BodyEnd::Returned { completing }) });
        }
    }

    pub(super) fn abort_body(&mut self, process: usize, run: (Slot, i64)) {
        let Some(id) = self.find(process, run) else { return };
        self.with_body(id, |body| body.aborted = true);
        let blocks = self.bodies.get(&id).and_then(|body| body.nature.blocks_for);
        let wait = blocks.unwrap_or_else(|| self.random.millis(0, 20));
        self.after(wait, Happening::Body { body: id, step: Step::End(BodyEnd::Aborted) });
    }

    /// The process ended, and all its bodies with it. What they had open is closed, as far as the link lets the server know.
    pub(super) fn bodies_end_with(&mut self, process: usize) {
        let ids: Vec<u64> = self.bodies.iter().filter(|(_, body)| body.process == process).map(|(id, _)| *id).collect();
        for id in ids {
            let Some(body) = self.bodies.remove(&id) else { continue };
            if let Some(tx) = body.tx {
                let arrival = self.arrival(process, true);
                self.at(arrival, Happening::StrangerTxDone { tx });
            }
        }
    }
}

/// What a body makes of being told that its run is no longer the current one.
pub(super) fn superseded() -> BodyEnd {
    BodyEnd::Failed { error: "superseded".to_owned(), transient: false, retry_after: None }
}
