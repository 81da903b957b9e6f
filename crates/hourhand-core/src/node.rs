//! The node: one process's part in running the jobs, as a machine that is told what happened and answers what to do.
//!
//! Authority. Whether a job runs is decided by its lock and its row, in the database; the node only holds beliefs: the facts of
//! the last look (old at once; a start re-checks them), and the claim (which ends by itself).
//!
//! One question is under way at a time. Whenever none is, `plan` picks the most urgent one that the jobs' lives call for and
//! puts all jobs into it that need the same, so that a visit with many due jobs costs a handful of statements:
//!
//! ```text
//! Resting ──due──▶ Due ──look──▶ Wanted ──try──▶ Granted ──start──▶ Running ──body ends──▶ Ending ──recorded──▶ Resting
//!                   ▲             │ refused        │ not as seen: look again, under the lock
//!                   └──30 s── Contended ◀──────────┘ handled: Resting
//! ```
//!
//! What the session holds stands apart from the lives, in `life::Holds`: a lock is let go when no life needs it any more, so
//! no path through the lives can leave one behind. When the session ends, nothing is held, whatever the lives were.

mod answers;
mod asked;
mod conditions;
mod deploys;
mod ends;
mod groups;
mod health;
mod hooks;
mod index;
mod known;
mod life;
mod looked;
mod lost;
mod maintain;
mod members;
mod orders;
mod plan;
mod renames;
mod requests;
mod rivals;
mod runs;
mod session;
mod timers;

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::claim::{Claim, Spans};
use crate::facts::Facts;
use crate::job::Definition;
use crate::protocol::{Action, Event, Notice, Question, Slot, Ticket};
use crate::time::{Mono, Now, ServerClock};

use deploys::registered;
pub use health::{Health, Problem};
use index::{Changing, Index, Mark};
use life::{Job, Life};
use lost::LostRuns;
use orders::Standing;
use rivals::Rivals;
use session::Session;

/// How runs exclude each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exclusion {
    /// By a session-level advisory lock: comes free the moment its holder dies.
    #[default]
    Session,
    /// By a row that runs out: works through a transaction pooler; a dead holder is waited out for ttl, and a forward step of the
    /// server's clock can end a lease early (only the fence covers that).
    Lease,
}

/// What a node is told once, at its start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The one knob of the protocol.
    pub ttl: Duration,
    /// No occurrence starts before the process is this old.
    pub start_delay: Duration,
    /// With an occurrence due within this, the session is kept.
    pub linger: Duration,
    /// Keep the session at rest, to hear of requests at once.
    pub resident: bool,
    /// Make or upgrade the schema at the first visit.
    pub migrate: bool,
    /// How long a shutdown may take.
    pub shutdown_grace: Duration,
    /// Bodies at once in this process.
    pub runs_max: usize,
    /// How runs exclude each other.
    pub exclusion: Exclusion,
    /// How often old history is removed, on a visit that is made anyway; the first time after a sixtieth of it.
    pub prune_interval: Duration,
    /// Locks alone: no row is read or written, so no schema is needed. Runs start when asked, and their ends are on no record.
    pub rowless: bool,
    /// Spreads waits over a fleet; different on every node.
    pub seed: u64,
}

/// A question under way.
#[derive(Debug)]
struct Asked {
    question: Question,
    at: Mono,
}

/// One process's part in running the jobs. See the module.
#[derive(Debug)]
pub struct Node {
    settings: Settings,
    spans: Spans,
    began: Mono,
    /// By slot. A slot is used once: what still speaks of a job that is gone can't be taken for another.
    jobs: Vec<Option<Box<Job>>>,
    /// To be registered before anything else is done about them.
    unregistered: BTreeSet<Slot>,
    /// Removed by their program; gone once nothing of them is left.
    leaving: BTreeSet<Slot>,
    /// Who waits until a job is registered.
    adding: Vec<(Slot, Ticket)>,
    by_key: HashMap<i64, Slot>,
    session: Session,
    claim: Claim,
    clock: ServerClock,
    asked: Option<Asked>,
    /// What follows from all jobs together.
    index: Index,
    visits: Cell<u64>,
    status_tickets: Vec<Ticket>,
    orders: VecDeque<Standing>,
    /// Those whom the look under way will answer.
    status_in_flight: Vec<Ticket>,
    shutdown_since: Option<Mono>,
    finished: bool,
    /// The server had no room for another lock (said once, until it has): none is tried before then.
    out_of_locks_until: Option<Mono>,
    /// When jobs whose lock and watch others have are looked at again.
    look_outside_at: Mono,
    /// When the look was sent whose answer is being taken: who asked later is not answered by it.
    look_sent: Mono,
    /// What others are quicker at.
    rivals: Rivals,
    lost: LostRuns,
    /// Overdue jobs of which nothing on record tells that anybody has them.
    unknown: BTreeSet<Slot>,
    /// When history is to be pruned next.
    prune_at: Mono,
    random: u64,
    actions: Vec<Action>,
}

impl Node {
    /// A node that begins now, with these jobs. It looks at all of them at its first visit.
    pub fn new(settings: Settings, definitions: Vec<Definition>, now: Now) -> Node {
        let slots = (0..definitions.len()).map(Slot);
        Node::with_slots(settings, slots.zip(definitions.into_iter().map(Arc::new)).collect(), now)
    }

    /// As [`Node::new`], with a slot of its own for each job: those of a node before this one.
    pub fn with_slots(settings: Settings, definitions: Vec<(Slot, Arc<Definition>)>, now: Now) -> Node {
        let mut node = Node::without_jobs(settings, now);
        for (slot, definition) in definitions {
            node.join(slot, definition);
        }
        node
    }

    fn without_jobs(settings: Settings, now: Now) -> Node {
        Node {
            spans: Spans::of(settings.ttl),
            random: settings.seed,
            look_sent: now.mono,
            look_outside_at: now.mono,
            rivals: Rivals::default(),
            lost: LostRuns::default(),
            unknown: BTreeSet::new(),
            prune_at: now.mono + settings.prune_interval / 60,
            visits: Cell::new(0),
            index: Index::new(settings.ttl),
            settings,
            began: now.mono,
            jobs: Vec::new(),
            unregistered: BTreeSet::new(),
            leaving: BTreeSet::new(),
            adding: Vec::new(),
            by_key: HashMap::new(),
            session: Session::new(),
            claim: Claim::None,
            clock: ServerClock::default(),
            asked: None,
            status_tickets: Vec::new(),
            orders: VecDeque::new(),
            status_in_flight: Vec::new(),
            shutdown_since: None,
            finished: false,
            out_of_locks_until: None,
            actions: Vec::new(),
        }
    }

    /// Takes note of what happened and says what to do about it.
    ///
    /// Afterwards call again with what came of the actions, and with [`Event::Woke`] after [`Node::wakes_in`].
    pub fn step(&mut self, now: Now, event: Event) -> Vec<Action> {
        match event {
            Event::Woke => {}
            Event::Connected { server, pid } => self.connected(now, server, pid),
            Event::ConnectFailed(trouble) => self.connect_failed(now, trouble),
            Event::Closed(trouble) => self.closed(now, trouble),
            Event::Answered(answer) => {
                // What is answered after the time of trust starts nothing.
                self.trust(now);
                self.answered(now, answer);
            }
            Event::Refused(trouble) => self.refused(now, trouble),
            Event::Freed(key) => self.freed(now, key),
            Event::Began(key) => self.began(key),
            Event::BodyEnded { slot, epoch, end } => self.body_ended(now, slot, epoch, end),
            Event::Triggered { slot, ticket } => self.triggered(now, slot, ticket),
            Event::CancelAsked(key) => self.cancel_asked(now, key),
            Event::Changed(key) => self.changed(key),
            Event::HintsLost => self.look_at_all(),
            Event::Ordered { slot, order, ticket } => self.ordered(now, Standing { slot, order, ticket }),
            Event::StatusAsked(ticket) => self.status_asked(now, ticket),
            Event::Added { jobs, ticket } => self.added(now, jobs, ticket),
            Event::ConditionAnswered { slot, holds } => self.condition_answered(now, slot, holds),
            Event::Removed { slot, ticket } => self.removed(now, slot, ticket),
            Event::Shutdown => self.shut_down(now),
        }
        self.let_time_pass(now);
        self.plan(now);
        self.release();
        std::mem::take(&mut self.actions)
    }

    /// The definitions stand in the database, but for jobs that wait for a run under their old name: the first visit is done.
    pub fn is_registered(&self) -> bool {
        let awaited = self.unregistered.iter().any(|slot| self.awaits_registration(*slot));
        !awaited && (!self.settings.rowless || self.session.pid().is_some())
    }

    /// Until when the locks held are believed in; none: no lock is held, or not any more. Each answered ping moves it.
    pub fn trusted_until(&self) -> Option<Mono> {
        match self.claim {
            Claim::Held { trusted_until, .. } => Some(trusted_until),
            Claim::None | Claim::Lost => None,
        }
    }

    /// The jobs whose lock is held.
    pub fn locks_held(&self) -> usize {
        self.index.count(Mark::Lock)
    }

    /// How often any job has been looked up so far: what steps cost, without a clock.
    pub fn visits(&self) -> u64 {
        self.visits.get()
    }

    /// A job's definition.
    pub fn definition(&self, slot: Slot) -> &Definition {
        &self.job(slot).definition
    }

    /// What the last look showed of a job.
    pub fn facts(&self, slot: Slot) -> Option<&Facts> {
        self.job(slot).facts.as_ref()
    }

    /// All jobs.
    pub fn slots(&self) -> Vec<Slot> {
        (0..self.jobs.len()).map(Slot).filter(|slot| self.has(*slot)).collect()
    }

    /// The definition that decides about a job: the registered one.
    pub fn registered<'a>(&'a self, slot: Slot, facts: &'a Facts) -> &'a Definition {
        registered(self.job(slot), facts)
    }

    /// The longest time after its instant, jitter aside, that an occurrence may wait before it is called overdue.
    pub fn overdue_bound(&self, facts: &Facts) -> SignedDuration {
        let own = SignedDuration::try_from(self.settings.start_delay + 2 * self.settings.ttl);
        let bound =
            facts.other.as_ref().map_or_else(|| own.unwrap_or(SignedDuration::MAX), |other| self.patience(other));
        bound.max(SignedDuration::from_secs(60))
    }

    fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    fn say(&mut self, notice: Notice) {
        self.act(Action::Say(notice));
    }

    /// Invariant: a slot that anything speaks of is not released; what comes from outside is asked for with [`Node::has`] first.
    fn job(&self, slot: Slot) -> &Job {
        self.visits.set(self.visits.get() + 1);
        self.jobs[slot.0].as_ref().unwrap_or_else(|| unreachable!("{slot:?} was released"))
    }

    /// The only way to change a job: the index follows.
    fn job_mut(&mut self, slot: Slot) -> Changing<'_> {
        self.visits.set(self.visits.get() + 1);
        let job = self.jobs[slot.0].as_mut().unwrap_or_else(|| unreachable!("{slot:?} was released"));
        self.index.change(slot, job)
    }

    /// Another life, with no place in the calendar.
    fn live(&mut self, slot: Slot, life: Life) {
        let mut job = self.job_mut(slot);
        job.life = life;
        job.calendar_at = None;
    }

    /// Puts a job to rest until the server's clock shows `at`; `None`: for good.
    fn rest_until(&mut self, slot: Slot, at: Option<Timestamp>) {
        let at = at.map(|at| self.after_rivals(slot, at));
        let mut job = self.job_mut(slot);
        if job.permit == life::Permit::Given {
            job.permit = life::Permit::None;
        }
        job.life = Life::Resting;
        job.calendar_at = at;
    }

    /// The jobs of which that can be said and that pass the test, in order.
    fn those(&self, mark: Mark, test: impl Fn(&Job) -> bool) -> Vec<Slot> {
        self.index.all(mark).filter(|slot| test(self.job(*slot))).collect()
    }

    fn holds_any_lock(&self) -> bool {
        self.index.any(Mark::Lock)
    }

    fn leases(&self) -> bool {
        self.settings.exclusion == Exclusion::Lease
    }

    fn shutting_down(&self) -> bool {
        self.shutdown_since.is_some()
    }

    /// The next number of the node's own stream: reproducible from its seed.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random
    }
}
