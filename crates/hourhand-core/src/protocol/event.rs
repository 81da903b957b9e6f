//! What happens to a node, and what it wants done.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Answer, Notice, Order, Ordered, Question, Slot, Started, Ticket, Trouble};
use crate::facts::Facts;
use crate::job::Definition;
use crate::outcome::{BodyEnd, StopReason, Trigger};

/// Where a request to run a job now ended up.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerAnswer {
    /// It runs on this node.
    Started(i64),
    /// It runs already, here or elsewhere.
    AlreadyRunning {
        /// The node, where known.
        node: Option<String>,
        /// Since when, by the server's clock.
        since: Option<Timestamp>,
        /// The run, where known.
        epoch: Option<i64>,
    },
    /// The job is paused.
    Paused,
    /// Its current occurrence needs no run: for jobs that start when asked if they are due.
    NotDue {
        /// When it will, by its schedule.
        next: Option<Timestamp>,
    },
    /// The database could not be asked.
    Unreachable(Trouble),
    /// This node is shutting down, or the job was removed from it.
    ShuttingDown,
}

/// What happens to a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Time passed.
    Woke,
    /// The session is open.
    Connected {
        /// The server's time.
        server: Timestamp,
        /// Its backend's process id.
        pid: i32,
    },
    /// The session could not be had.
    ConnectFailed(Trouble),
    /// The session ended.
    Closed(Trouble),
    /// The question asked was answered.
    Answered(Answer),
    /// The question asked came to nothing.
    Refused(Trouble),
    /// Another node let the lock with this key go.
    Freed(i64),
    /// A run of the job with this key has started somewhere.
    Began(i64),
    /// Somebody asked for the run of the job with this key to be cancelled.
    CancelAsked(i64),
    /// Something about the job with this key was changed by hand.
    Changed(i64),
    /// More was said than could be heard: anything may have changed.
    HintsLost,
    /// Somebody orders something for a job.
    Ordered {
        /// The job.
        slot: Slot,
        /// What.
        order: Order,
        /// Who waits for the answer.
        ticket: Ticket,
    },
    /// A body ended.
    BodyEnded {
        /// Its job.
        slot: Slot,
        /// Its run.
        epoch: i64,
        /// How.
        end: BodyEnd,
    },
    /// Somebody wants this job run now.
    Triggered {
        /// The job.
        slot: Slot,
        /// Who waits for the answer.
        ticket: Ticket,
    },
    /// Somebody wants to know how all jobs stand.
    StatusAsked(Ticket),
    /// The program has more jobs.
    Added {
        /// Each with a slot that was never used before.
        jobs: Vec<(Slot, Arc<Definition>)>,
        /// Who waits until they are registered.
        ticket: Ticket,
    },
    /// The process's own condition for running a job holds, or not.
    ConditionAnswered {
        /// The job.
        slot: Slot,
        /// Whether so.
        holds: bool,
    },
    /// The program has a job no more; other nodes may.
    Removed {
        /// The job.
        slot: Slot,
        /// Who waits for the answer.
        ticket: Ticket,
    },
    /// End: no new runs, let those under way finish within the grace.
    Shutdown,
}

/// What a job's hooks are told.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    /// What happened.
    pub what: What,
    /// The run; none where an occurrence waits for one.
    pub epoch: Option<i64>,
    /// How it ended, in the word of history.
    pub outcome: Option<String>,
    /// Its message.
    pub error: Option<String>,
    /// A failure that was to be expected.
    pub transient: bool,
    /// The occurrence; none for a run by hand.
    pub occurrence: Option<Timestamp>,
    /// Failed runs in a row: with this one, or before this success.
    pub failures: u32,
    /// The occurrence will be tried again.
    pub retried: bool,
}

/// What is worth a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// A run failed, panicked or took too long, or its holders died.
    Failure,
    /// A run succeeded.
    Success,
    /// The first success after failures.
    Recovery,
    /// An occurrence waits longer than it should.
    Late,
}

/// What a node wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Open the session. `end_former`: end this node's former one on the server, whose locks nobody uses any more.
    Connect {
        /// Whether to.
        end_former: bool,
    },
    /// Let the session go.
    Close,
    /// Ask this; answer with `Answered`, `Refused` or `Closed`.
    Ask(Question),
    /// Start the body of a run.
    StartBody {
        /// The job.
        slot: Slot,
        /// Its occurrence.
        occurrence: Option<Timestamp>,
        /// Why it runs.
        trigger: Trigger,
        /// The run.
        run: Started,
    },
    /// Tell a body to stop.
    StopBody {
        /// The job.
        slot: Slot,
        /// The run.
        epoch: i64,
        /// Why.
        reason: StopReason,
    },
    /// End a body's task: it was told to stop and did not within its grace.
    AbortBody {
        /// The job.
        slot: Slot,
        /// The run.
        epoch: i64,
    },
    /// Answer a request to run a job now.
    AnswerTrigger(Ticket, TriggerAnswer),
    /// Answer a question for all jobs' status: the server's time, and the facts of each job.
    AnswerStatus(Ticket, Result<(Timestamp, Vec<Option<Facts>>), Trouble>),
    /// The jobs added are registered, or will be at the next visit, but for these, which stand under another key: removed again.
    AnswerAdded(Ticket, Vec<Slot>),
    /// The job starts nothing here any more. A run of it goes on, if any.
    AnswerRemoved(Ticket, Option<i64>),
    /// Nothing is left of a job that was removed, and nothing will speak of it again.
    Release(Slot),
    /// Answer an order.
    AnswerOrder(Ticket, Result<Ordered, Trouble>),
    /// Find out whether the process's own condition for running a job holds; answer with `ConditionAnswered`, soon.
    AskCondition(Slot),
    /// Tell whoever wants to hear of such a thing: once in the fleet.
    Tell(Slot, Happened),
    /// Tell people.
    Say(Notice),
    /// Nothing is left to do: the node has shut down.
    Finish,
}
