//! Lines between processes and the server: opening, closing, silence.
//!
//! A line is one TCP connection: bytes keep their order, so what is sent later never arrives earlier, and what a cut holds back
//! arrives when it is mended, unless one of the ends has given the session up by then. A cut tells nobody anything. The client
//! learns of it by its own bounds; the server, because it hears nothing for `tcp_user_timeout`, the ttl, after what it heard last, or
//! after the keepalive that it sent then: so its locks come free after one to 6/5 ttl, drawn anew for each session. The holder has
//! given up before, at 3/5 ttl; that the two never cross is what most of these seeds are about.
//!
//! Connecting is no statement: it may end in a refusal (no room, no server), take as long as the client waits, or succeed after
//! the client has given it up; then the socket is closed, and the server learns of it as of any close.

use std::time::Duration;

use hourhand_core::protocol::{Event, Trouble, TroubleKind};

use super::{Happening, World};
use crate::process::Line;
use crate::server::{Backend, Cause, STRANGER};
use crate::time::At;

impl World {
    /// When something sent now arrives: after a trip, not before what was sent earlier, and not while the link is cut.
    pub(crate) fn arrival(&mut self, process: usize, to_server: bool) -> At {
        let machine = self.processes[process].machine;
        let slow = self.faults.slow_until(machine) > self.now;
        let trip = if slow {
            self.random.millis(20, 4_000)
        } else {
            self.random.between(Duration::from_micros(100), Duration::from_millis(2))
        };
        let cut_until = self.faults.cut_until(machine);
        let leaves = if cut_until > self.now { cut_until + self.random.millis(1, 800) } else { self.now };
        let process = &mut self.processes[process];
        let earlier = if to_server { &mut process.to_server } else { &mut process.to_client };
        *earlier = (*earlier).max(leaves + trip);
        *earlier
    }

    pub(super) fn connect(&mut self, process: usize, end_former: bool) {
        self.processes[process].asks += 1;
        let attempt = self.processes[process].asks;
        self.processes[process].line = Line::Opening(attempt);
        self.report.connects += 1;
        let machine = self.processes[process].machine;
        let cut = self.faults.cut_until(machine) > self.now;
        let wait = if cut { Duration::from_secs(5) } else { self.random.millis(2, 40) };
        self.after(wait, Happening::Opened { process, attempt, end_former });
    }

    pub(super) fn opened(&mut self, process: usize, attempt: u64, end_former: bool) {
        if self.processes[process].line != Line::Opening(attempt) {
            return;
        }
        let machine = self.processes[process].machine;
        let crowded = self.faults.crowded_until > self.now && self.random.chance(700);
        let full = self.plan.max_connections.is_some_and(|room| self.server.backends.len() >= room);
        let trouble = if !self.server.up || self.faults.cut_until(machine) > self.now {
            Some(TroubleKind::Unreachable)
        } else if crowded || full {
            self.scale.refused(self.now);
            Some(TroubleKind::TooManyConnections)
        } else {
            None
        };
        if let Some(kind) = trouble {
            self.processes[process].line = Line::Closed;
            return self.feed(process, Event::ConnectFailed(Trouble { kind, text: String::new() }));
        }
        let (name, jobs) = (self.processes[process].name.clone(), self.processes[process].jobs.clone());
        let token = self.processes[process].leases().then_some(process as u64);
        let version = self.processes[process].version;
        let pid =
            self.server.open(Backend { token, version, ..Backend::of(process, name, jobs, (self.ttl, self.now)) });
        self.scale.connected(self.now, self.server.backends.len());
        if let Some(former) = self.processes[process].former.filter(|_| end_former) {
            self.end_session(former, Cause::Former);
        }
        self.processes[process].former = Some(pid);
        self.processes[process].to_server = self.now;
        self.processes[process].to_client = self.now;
        let arrival = self.arrival(process, false);
        self.at(arrival, Happening::OpenSeen { process, pid });
    }

    pub(super) fn open_seen(&mut self, process: usize, pid: i32) {
        if !matches!(self.processes[process].line, Line::Opening(_)) {
            // Given up meanwhile: the socket is closed.
            return self.send_close(process, pid);
        }
        if !self.server.backends.contains_key(&pid) {
            self.processes[process].line = Line::Closed;
            let text = String::new();
            return self.feed(process, Event::ConnectFailed(Trouble { kind: TroubleKind::Unreachable, text }));
        }
        self.processes[process].line = Line::Open(pid);
        // It may be ahead of what it is opened for.
        self.processes[process].sent.push(self.now);
        let server = self.server.now(self.now);
        self.feed(process, Event::Connected { server, pid });
    }

    /// The process closes its line.
    pub(super) fn close(&mut self, process: usize) {
        self.processes[process].asking = None;
        if let Line::Open(pid) = self.processes[process].line {
            self.send_close(process, pid);
        }
        self.processes[process].line = Line::Closed;
    }

    /// What closes a socket travels like everything else.
    pub(crate) fn send_close(&mut self, process: usize, pid: i32) {
        let arrival = self.arrival(process, true);
        self.at(arrival, Happening::CloseArrived { pid });
    }

    /// A session ends on the server, and its client learns it, unless the link is cut.
    pub(crate) fn end_session(&mut self, pid: i32, cause: Cause) {
        let process = self.server.backends.get(&pid).map(|backend| backend.process);
        if !self.server.end_session(pid, cause) {
            return;
        }
        if let Some(process) = process.filter(|process| *process != STRANGER) {
            self.tell_closed(process, pid);
        }
    }

    pub(crate) fn tell_closed(&mut self, process: usize, pid: i32) {
        let arrival = self.arrival(process, false);
        self.at(arrival, Happening::ClosedSeen { process, pid });
    }

    pub(super) fn closed_seen(&mut self, process: usize, pid: i32) {
        if self.processes[process].line == Line::Open(pid) {
            self.processes[process].line = Line::Closed;
            self.processes[process].asking = None;
            let text = "terminated".to_owned();
            self.feed(process, Event::Closed(Trouble { kind: TroubleKind::Unreachable, text }));
        }
    }

    /// The server has waited long enough for a client whose link was cut, and still is.
    pub(super) fn silence(&mut self, pid: i32, cut: u64) {
        let Some(backend) = self.server.backends.get(&pid).filter(|backend| backend.process != STRANGER) else {
            return;
        };
        let machine = self.processes[backend.process].machine;
        if self.faults.cut_until(machine) > self.now && self.faults.cut_number(machine) == cut {
            self.end_session(pid, Cause::Silence);
        }
    }

    pub(super) fn notified(&mut self, process: usize, pid: i32, said: Event) {
        if self.processes[process].line == Line::Open(pid) {
            self.feed(process, said);
        }
    }
}
