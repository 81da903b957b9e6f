//! The world: what happens when, and to whom.
//!
//! Real time goes from one happening to the next. A happening that concerns a frozen process waits until it is thawed, in order, as
//! bytes wait in a socket and timers in a kernel. After each one the checks look at everything.

mod asks;
mod bodies;
mod faults;
mod lines;
mod looks;
mod nodes;
mod notes;
mod rows;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use hourhand_core::protocol::{Answer, Event, Slot, Trouble};

use self::faults::Faults;
use crate::Outcome;
use crate::body::{Body, Step};
use crate::check::Checks;
use crate::plan::{JobModel, Plan};
use crate::process::Process;
use crate::random::Random;
use crate::report::Report;
use crate::scale::Scale;
use crate::server::{Cause, Request, Server};
use crate::time::At;

/// Something that happens.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// A node's timer.
    Woke {
        process: usize,
        wakes: u64,
    },
    /// A node is woken for nothing.
    WokeInVain {
        process: usize,
    },
    /// An attempt to connect came to its end.
    Opened {
        process: usize,
        attempt: u64,
        end_former: bool,
    },
    /// The session is open, as its client learns now.
    OpenSeen {
        process: usize,
        pid: i32,
    },
    /// A question arrives at the server.
    Arrived {
        pid: i32,
        process: usize,
        request: Request,
    },
    /// A statement comes to its instant.
    Executed {
        pid: i32,
        request: Request,
        timed_out: bool,
    },
    /// A statement has waited for a row as long as it may.
    RowWaited {
        pid: i32,
        ask: u64,
    },
    /// An answer arrives at the client.
    Answered {
        process: usize,
        pid: i32,
        ask: u64,
        answer: Result<Answer, Trouble>,
    },
    /// The client's own bound on a question has passed.
    BoundPassed {
        process: usize,
        ask: u64,
    },
    /// The client learns that its session is gone.
    ClosedSeen {
        process: usize,
        pid: i32,
    },
    /// The server learns that the client is gone.
    CloseArrived {
        pid: i32,
    },
    /// The server has heard nothing for as long as it waits.
    Silence {
        pid: i32,
        cut: u64,
    },
    /// A notice arrives.
    Notified {
        process: usize,
        pid: i32,
        said: Event,
    },
    /// A process's own condition for running a job has been looked at.
    ConditionAnswered {
        process: usize,
        slot: Slot,
        holds: bool,
    },
    /// A body does something.
    Body {
        body: u64,
        step: Step,
    },
    /// A transaction's statement arrives.
    FenceArrived {
        tx: u64,
    },
    /// A transaction's end arrives.
    CommitArrived {
        tx: u64,
    },
    /// A transaction has been idle for as long as it may.
    TxIdle {
        tx: u64,
    },
    /// A process is thawed.
    Thawed {
        process: usize,
    },
    /// A machine starts a process again.
    Restarted {
        machine: usize,
    },
    /// A machine of a deploy is taken away.
    Withdrawn {
        process: usize,
    },
    /// The server is up again.
    ServerUp,
    /// A stranger lets a lock go, or ends its transaction.
    StrangerDone {
        pid: i32,
    },
    StrangerTxDone {
        tx: u64,
    },
    /// The next fault.
    Fault,
    /// A copy of what is durable reaches the standby.
    Replicated,
    /// Faults are over.
    Quiet,
    /// A look at everything that only time can show.
    Glance,
}

/// Machines that come with a deploy, run its version for a while, and are gone for good.
pub(crate) const CANARIES: usize = 3;

#[derive(Debug)]
struct Entry {
    at: At,
    order: u64,
    what: Happening,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.order == other.order
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// Everything there is.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) now: At,
    pub(crate) ttl: Duration,
    /// Of 1,000 processes, as many take leases.
    pub(crate) leasing: u64,
    pub(crate) server: Server,
    pub(crate) jobs: Vec<JobModel>,
    pub(crate) processes: Vec<Process>,
    /// The process of each machine, and the jobs that its processes know.
    pub(crate) machines: Vec<usize>,
    pub(crate) knows: Vec<Arc<[usize]>>,
    /// The version of the program that each runs.
    pub(crate) versions: Vec<usize>,
    pub(crate) bodies: BTreeMap<u64, Body>,
    pub(crate) faults: Faults,
    pub(crate) quiet: bool,
    pub(crate) checks: Checks,
    pub(crate) report: Report,
    pub(crate) scale: Scale,
    pub(crate) trace: Option<Vec<String>>,
    queue: BinaryHeap<Reverse<Entry>>,
    order: u64,
    next_body: u64,
}

impl World {
    pub(crate) fn new(plan: Plan, trace: bool) -> World {
        let mut random = Random::new(plan.seed);
        let mut jobs: Vec<JobModel> = (0..plan.jobs)
            .map(|number| match plan.fleet {
                Some(fleet) => JobModel::of(number, fleet),
                None => JobModel::draw(number, &mut random),
            })
            .collect();
        let ttl = if plan.fleet.is_some() { 15 } else { *random.pick(&[5, 5, 10, 15]) };
        let ttl = Duration::from_secs(ttl);
        let leasing = if plan.fleet.is_some() { 0 } else { *random.pick(&[0, 0, 0, 0, 500, 1_000]) };
        // A group is a lock: there is none among leases.
        if leasing == 0 && plan.fleet.is_none() && random.chance(400) {
            JobModel::group(&mut jobs);
        }
        if plan.fleet.is_none() {
            JobModel::more_policies(&mut jobs, &mut Random::new(!plan.seed));
            JobModel::rename(&mut jobs, &mut Random::new(plan.seed.swap_bytes()));
        }
        let versions = |job: &JobModel| [job.in_version(0).clone().into(), job.in_version(1).clone().into()];
        let mut server = Server::new(jobs.iter().map(versions).collect(), plan.bug);
        // What is renamed is there already.
        jobs.iter().filter_map(|job| job.heir_of).for_each(|job| server.register_first(job, At::default()));
        let all: Arc<[usize]> = (0..plan.jobs).collect();
        let known =
            |machine| if plan.fleet.is_some() { all.clone() } else { known_jobs(machine, plan.jobs, &mut random) };
        let knows = (0..plan.nodes).map(known).chain((0..CANARIES).map(|_| all.clone())).collect();
        let faults = Faults::new(&plan, &mut random);
        let mut world = World {
            random,
            now: At::default(),
            ttl,
            leasing,
            server,
            processes: Vec::new(),
            machines: vec![usize::MAX; plan.nodes + CANARIES],
            versions: vec![0; plan.nodes + CANARIES],
            knows,
            bodies: BTreeMap::new(),
            faults,
            quiet: false,
            checks: Checks::new(ttl, jobs.len()),
            report: Report::default(),
            scale: Scale::of(plan.fleet.map(|fleet| fleet.every)),
            trace: trace.then(Vec::new),
            queue: BinaryHeap::new(),
            order: 0,
            next_body: 0,
            jobs,
            plan,
        };
        for machine in 0..world.plan.nodes {
            let wait = world.random.millis(0, 3_000);
            world.after(wait, Happening::Restarted { machine });
        }
        let first_fault = world.random.millis(1_000, 20_000);
        world.after(first_fault, Happening::Fault);
        world.after(world.plan.quiet_from(), Happening::Quiet);
        world.after(Duration::from_secs(1), Happening::Glance);
        world.after(Duration::from_millis(500), Happening::Replicated);
        world
    }

    /// Lets everything happen, until the end or the first violation.
    pub(crate) fn run(mut self) -> Outcome {
        let ends = At::default() + self.plan.ends();
        while let Some(Reverse(Entry { at, what, .. })) = self.queue.pop() {
            if at > ends {
                break;
            }
            self.now = at;
            self.report.happenings += 1;
            self.happen(what);
            self.serve_rows();
            self.check();
            if self.checks.violation.is_some() {
                break;
            }
        }
        if self.checks.violation.is_none() {
            self.now = ends;
            self.check_the_end();
        }
        let (report, scale, violation) = (self.report, self.scale, self.checks.violation);
        Outcome { report, scale, violation, trace: self.trace.unwrap_or_default() }
    }

    pub(crate) fn after(&mut self, wait: Duration, what: Happening) {
        self.at(self.now + wait, what);
    }

    pub(crate) fn at(&mut self, at: At, what: Happening) {
        self.order += 1;
        self.queue.push(Reverse(Entry { at, order: self.order, what }));
    }

    pub(crate) fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:12.6} {}", self.now.since_began().as_secs_f64(), text()));
        }
    }

    /// Whom a happening concerns that waits while he is frozen.
    fn concerns(&self, what: &Happening) -> Option<usize> {
        match what {
            Happening::Woke { process, .. }
            | Happening::WokeInVain { process }
            | Happening::Opened { process, .. }
            | Happening::OpenSeen { process, .. }
            | Happening::Answered { process, .. }
            | Happening::BoundPassed { process, .. }
            | Happening::ClosedSeen { process, .. }
            | Happening::ConditionAnswered { process, .. }
            | Happening::Notified { process, .. } => Some(*process),
            Happening::Body { body, .. } => self.bodies.get(body).map(|body| body.process),
            _ => None,
        }
    }

    fn happen(&mut self, what: Happening) {
        if let Some(process) = self.concerns(&what) {
            if !self.processes[process].alive() {
                return;
            }
            if let Some(until) = self.processes[process].frozen_until {
                return self.at(until + Duration::from_micros(1), what);
            }
        }
        match what {
            Happening::Woke { process, wakes } => self.woke(process, wakes),
            Happening::WokeInVain { process } => self.feed(process, Event::Woke),
            Happening::Opened { process, attempt, end_former } => self.opened(process, attempt, end_former),
            Happening::OpenSeen { process, pid } => self.open_seen(process, pid),
            Happening::Arrived { pid, process, request } => self.arrived(pid, process, request),
            Happening::Executed { pid, request, timed_out } => self.executed(pid, request, timed_out),
            Happening::RowWaited { pid, ask } => self.row_waited(pid, ask),
            Happening::Answered { process, pid, ask, answer } => self.answered(process, (pid, ask), answer),
            Happening::BoundPassed { process, ask } => self.bound_passed(process, ask),
            Happening::ClosedSeen { process, pid } => self.closed_seen(process, pid),
            Happening::CloseArrived { pid } => self.end_session(pid, Cause::Client),
            Happening::Silence { pid, cut } => self.silence(pid, cut),
            Happening::Notified { process, pid, said } => self.notified(process, pid, said),
            Happening::ConditionAnswered { process, slot, holds } => {
                self.feed(process, Event::ConditionAnswered { slot, holds });
            }
            Happening::Body { body, step } => self.body_step(body, step),
            Happening::FenceArrived { tx } => self.fence_arrived(tx),
            Happening::CommitArrived { tx } => self.commit_arrived(tx),
            Happening::TxIdle { tx } => self.tx_idle(tx),
            Happening::Thawed { process } => self.thawed(process),
            Happening::Restarted { machine } => self.restarted(machine),
            Happening::Withdrawn { process } => self.kill(process, false),
            Happening::ServerUp => self.server_up(),
            Happening::StrangerDone { pid } => self.end_session(pid, Cause::Client),
            Happening::StrangerTxDone { tx } => self.server.abort(tx),
            Happening::Fault => self.fault(),
            Happening::Replicated => self.replicated(),
            Happening::Quiet => self.become_quiet(),
            Happening::Glance => self.glance(),
        }
    }

    pub(crate) fn new_body(&mut self, body: Body) -> u64 {
        self.next_body += 1;
        self.bodies.insert(self.next_body, body);
        self.next_body
    }
}

/// Most machines know all jobs, some not; each job is known somewhere (the first machine knows all).
fn known_jobs(machine: usize, jobs: usize, random: &mut Random) -> Arc<[usize]> {
    let all: Vec<usize> = (0..jobs).collect();
    if machine == 0 || jobs < 2 || random.chance(700) {
        return all.into();
    }
    let without = random.below(jobs as u64) as usize;
    all.into_iter().filter(|job| *job != without).collect()
}
