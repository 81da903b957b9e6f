//! The life of one job in one node.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::facts::Facts;
use crate::job::{Definition, Starts};
use crate::occurrence::{Due, Skip};
use crate::outcome::{StopReason, Trigger, Verdict};
use crate::protocol::{EndForm, Started, Ticket};
use crate::request::Taken;
use crate::time::Mono;

/// A job, as this node has it before its eyes.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) definition: Arc<Definition>,
    pub(super) life: Life,
    pub(super) holds: Holds,
    pub(super) facts: Option<Facts>,
    /// When the lock was last refused to somebody's request from elsewhere.
    pub(super) request_refused_at: Option<Mono>,
    /// Its place in the calendar.
    pub(super) calendar_at: Option<Timestamp>,
    /// When the facts were read.
    pub(super) looked_at: Mono,
    /// It was woken for an occurrence that nobody has looked at since.
    pub(super) woken: bool,
    /// Who waits for a manual run, and since when.
    pub(super) tickets: Vec<(Ticket, Mono)>,
    /// Tickets make the job looked at, not before then.
    pub(super) look_at: Mono,
    /// Something was changed by hand while a run was under way here: looked into once it has ended.
    pub(super) hinted: bool,
    /// Whether this process may run it now, where it has a condition.
    pub(super) permit: Permit,
    /// It did not hold for this occurrence, and that has been said.
    pub(super) declined: Option<Box<Timestamp>>,
    /// The occurrence that waits, and when that has been too long.
    pub(super) waiting: Option<Box<Waiting>>,
    /// An end that the database would not take in time: written through any later session.
    pub(super) unrecorded: Option<Box<Ending>>,
    /// A body that would not stop: no run here until its task has ended.
    pub(super) stuck: Option<i64>,
    /// Its state is to be taken over from another name, before it is registered.
    pub(super) heir_of: Option<Box<Inheritance>>,
    /// Registered under another key by somebody else: not run here.
    pub(super) other_key: bool,
    /// It was registered once: what is registered otherwise since is newer.
    pub(super) registered_before: bool,
    /// Another definition is the registered one, and that has been said.
    pub(super) stood_down: bool,
    /// That definition (by its fingerprint) is to be replaced: nobody runs it.
    pub(super) stand_up: Option<i64>,
    /// It could not be replaced: not tried again at the speed of the line.
    pub(super) not_up: Option<i64>,
    /// What came due meanwhile is passed over because of that.
    pub(super) stood_up: bool,
    /// Said already: a session that is not ours holds the lock; the row is locked.
    pub(super) said_foreign: Option<i32>,
    pub(super) said_may_not: Option<i32>,
    /// A run without an end and without its lock, and the first look that saw it so.
    pub(super) lost_since: Option<Box<(i64, Mono)>>,
    /// When its lock (or its group's) was refused last.
    pub(super) refused_at: Option<Mono>,
    /// When the maintainer looked last.
    pub(super) maintained_at: Option<Mono>,
    pub(super) said_row_locked: bool,
    /// The holder of its newest occurrence died too often; until a run ends with its own node's word.
    pub(super) gave_up: bool,
}

/// A state to be taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inheritance {
    pub(super) from: String,
    /// A run under the other name is under way: not tried before then.
    pub(super) retry_at: Mono,
}

impl Inheritance {
    /// What a definition says.
    pub(super) fn by(definition: &Definition) -> Option<Box<Inheritance>> {
        definition.renamed_from.as_ref().map(|from| Box::new(Inheritance::of(from.to_string())))
    }

    pub(super) fn of(from: String) -> Inheritance {
        Inheritance { from, retry_at: Mono::default() }
    }
}

/// The answer of a job's own condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permit {
    /// Not asked for.
    None,
    /// Asked for.
    Asking,
    /// It holds, until the job comes to rest.
    Given,
}

/// An occurrence that nobody has run yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) occurrence: Timestamp,
    /// When it has waited too long.
    pub(super) late_at: Mono,
    /// That has been told, by this node or another.
    pub(super) told: bool,
}

/// What the session holds for a job. The truth about locks, independent of the life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holds {
    pub(super) lock: bool,
    pub(super) watch: bool,
}

/// Where a job stands. What only few jobs have at one time stands in boxes: most are at rest.
#[derive(Debug)]
pub(super) enum Life {
    /// Nothing to do before its instant in the calendar.
    Resting,
    /// To be looked at.
    Due,
    /// A run is wanted; its lock is to be tried.
    Wanted(Box<Intent>),
    /// The lock is ours; the row decides whether a run starts.
    Granted(Box<Grant>),
    /// A body is under way.
    Running(Box<Going>),
    /// The body ended; its end is to be made durable before the lock is let go.
    Ending(Box<Ending>),
    /// Somebody else holds the lock, and the occurrence is not handled. Or a job without occurrences is paused.
    Contended(Contention),
}

/// A run that the node wants to start, and the row that the wish rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Intent {
    /// What for.
    pub(super) wish: Wish,
    /// The row's epoch when it was looked at.
    pub(super) seen: i64,
    /// A run without an end stands in the row: settled first, once the lock is ours.
    pub(super) lost: Option<Lost>,
}

/// What a lock is wanted for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wish {
    /// To run an occurrence.
    Occurrence(Due),
    /// To run because somebody asked this node.
    ByHand,
    /// To run because somebody asked the fleet.
    Requested(Taken),
    /// To run for the rest of a bounded window.
    FollowUp,
    /// To run, because the body should always be running.
    Continuous,
    /// To put on record what is passed over.
    PassOver(Skip),
    /// To put a lost run on record; nothing else is to be done.
    Record,
}

/// A run that ended without a word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lost {
    pub(super) epoch: i64,
    /// Its process is gone; else it is our own start whose answer never came.
    pub(super) died: bool,
}

/// A granted lock on its way to a start.
#[derive(Debug)]
pub(super) struct Grant {
    /// `None`: the row is to be looked at first, under the lock.
    pub(super) intent: Option<Intent>,
    /// What the last start tried was for: the same wish again means that the row is locked.
    pub(super) tried: Option<Intent>,
    pub(super) alone: bool,
    pub(super) retry_at: Mono,
    /// The row was not to be had: see whose transaction holds it.
    pub(super) blocked: bool,
}

/// A run under way.
#[derive(Debug)]
pub(super) struct Going {
    pub(super) run: Started,
    pub(super) occurrence: Option<Timestamp>,
    pub(super) trigger: Trigger,
    /// When the start was answered.
    pub(super) since: Mono,
    pub(super) times_out_at: Option<Mono>,
    pub(super) warn_at: Option<Mono>,
    /// Failed runs in a row before this one.
    pub(super) failures: u32,
    pub(super) stop: Option<Stop>,
}

/// A body that was told to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) reason: StopReason,
    pub(super) abort_at: Mono,
    pub(super) aborted: bool,
}

/// A run whose body has ended.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) epoch: i64,
    pub(super) occurrence: Option<Timestamp>,
    pub(super) failures: u32,
    pub(super) verdict: Verdict,
    pub(super) since: Mono,
    pub(super) retry_at: Mono,
    pub(super) form: EndForm,
    pub(super) alone: bool,
}

/// Waiting for somebody else's lock; or (outside) for a continuous job's pause to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contention {
    /// With the watch: try the lock then. Without: try the watch, or (asked before) look again then.
    pub(super) again_at: Mono,
    /// The watch was refused: somebody else watches.
    pub(super) outside: bool,
    /// The lock (or the watch) was refused just now: see who has it, and whether he lives.
    pub(super) maintain: bool,
}

impl Job {
    pub(super) fn new(definition: Arc<Definition>) -> Job {
        Job {
            heir_of: Inheritance::by(&definition),
            definition,
            life: Life::Due,
            holds: Holds::default(),
            facts: None,
            request_refused_at: None,
            calendar_at: None,
            looked_at: Mono::default(),
            woken: false,
            tickets: Vec::new(),
            look_at: Mono::default(),
            hinted: false,
            permit: Permit::None,
            declined: None,
            waiting: None,
            unrecorded: None,
            stuck: None,
            other_key: false,
            registered_before: false,
            stood_down: false,
            stand_up: None,
            not_up: None,
            stood_up: false,
            said_foreign: None,
            said_may_not: None,
            lost_since: None,
            refused_at: None,
            maintained_at: None,
            said_row_locked: false,
            gave_up: false,
        }
    }

    /// Its body should always be running.
    pub(super) fn is_continuous(&self) -> bool {
        self.definition.schedule.is_continuous() && self.definition.starts == Starts::BySchedule
    }

    pub(super) fn is_active(&self) -> bool {
        !matches!(self.life, Life::Resting)
            || self.holds != Holds::default()
            || !self.tickets.is_empty()
            || self.unrecorded.is_some()
            || self.permit == Permit::Asking
    }

    /// When the lock of a body that was told to stop is let go, whether it has or not.
    pub(super) fn abandons_at(&self, stop: Stop) -> Mono {
        stop.abort_at + Duration::try_from(self.definition.abandon_after).unwrap_or(Duration::ZERO)
    }

    /// The run under way here, if any.
    pub(super) fn going(&self) -> Option<&Going> {
        match &self.life {
            Life::Running(going) => Some(going),
            Life::Resting | Life::Due | Life::Wanted(_) | Life::Granted(_) | Life::Ending(_) | Life::Contended(_) => {
                None
            }
        }
    }

    /// What its lock is wanted for.
    pub(super) fn wish(&self) -> Option<Wish> {
        match &self.life {
            Life::Wanted(intent) => Some(intent.wish),
            Life::Resting | Life::Due | Life::Granted(_) | Life::Running(_) | Life::Ending(_) | Life::Contended(_) => {
                None
            }
        }
    }

    /// The lock is not to be let go yet.
    pub(super) fn needs_lock(&self) -> bool {
        matches!(self.life, Life::Granted(_) | Life::Running(_) | Life::Ending(_))
    }

    /// Somebody else watches: nothing is to be done before the next look, and no session is needed.
    pub(super) fn waits_outside(&self) -> bool {
        matches!(&self.life, Life::Contended(contention) if contention.outside) && !self.holds.watch
    }

    /// The watch is not to be let go yet.
    pub(super) fn needs_watch(&self) -> bool {
        matches!(&self.life, Life::Contended(contention) if !contention.outside)
    }
}

impl Contention {
    /// A lock just refused.
    pub(super) fn new(now: Mono) -> Contention {
        Contention { again_at: now, outside: false, maintain: false }
    }
}

impl Grant {
    /// A lock just granted.
    pub(super) fn new(intent: Option<Intent>) -> Grant {
        Grant { intent, tried: None, alone: false, retry_at: Mono::default(), blocked: false }
    }
}
