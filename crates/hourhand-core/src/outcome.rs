//! How a run ended, and what that does to its occurrence.

use std::fmt;

use jiff::SignedDuration;

use crate::backoff::Retry;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The body did its work.
    Succeeded,
    /// The body said that it could not.
    Failed,
    /// The body panicked.
    Panicked,
    /// The body was stopped because it took too long.
    TimedOut,
    /// The body was stopped by a person or by the shutdown of its process.
    Cancelled,
    /// The lock was lost, or the process died without a word.
    Lost,
}

impl Outcome {
    /// The run had its chance and did not do its work: what hooks and people call a failure.
    pub fn is_failure(self) -> bool {
        matches!(self, Outcome::Failed | Outcome::Panicked | Outcome::TimedOut)
    }

    /// The word that stands in history.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::Panicked => "panicked",
            Outcome::TimedOut => "timed_out",
            Outcome::Cancelled => "cancelled",
            Outcome::Lost => "lost",
        }
    }

    /// The outcome that a word of history stands for.
    pub fn parse(word: &str) -> Option<Outcome> {
        use Outcome::{Cancelled, Failed, Lost, Panicked, Succeeded, TimedOut};
        [Succeeded, Failed, Panicked, TimedOut, Cancelled, Lost].into_iter().find(|outcome| outcome.as_str() == word)
    }
}

/// What stands in history as the outcome of an entry: each [`Outcome`]'s word, and that of occurrences which were passed over.
pub const IN_HISTORY: [&str; 7] = ["succeeded", "failed", "panicked", "timed_out", "cancelled", "lost", "skipped"];

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What made a run start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// Its occurrence came due.
    Schedule,
    /// Its occurrence came due over a minute ago, while nobody was there to run it.
    CatchUp,
    /// An earlier run of its occurrence failed.
    Retry,
    /// Somebody asked for it. Such a run has no occurrence, and never moves or eats one.
    Manual,
    /// Somebody asked for its occurrence to be run again. Such a run never moves or eats one.
    Backfill,
    /// A body that should always be running was not.
    Continuous,
}

impl Trigger {
    /// The run is due by the schedule: how it ends matters to its occurrence. A run that somebody asked for is never retried or
    /// taken over.
    pub fn is_by_schedule(self) -> bool {
        match self {
            Trigger::Schedule | Trigger::CatchUp | Trigger::Retry => true,
            Trigger::Manual | Trigger::Backfill | Trigger::Continuous => false,
        }
    }

    /// The word that stands in history.
    pub fn as_str(self) -> &'static str {
        match self {
            Trigger::Schedule => "schedule",
            Trigger::CatchUp => "catch_up",
            Trigger::Retry => "retry",
            Trigger::Manual => "manual",
            Trigger::Backfill => "backfill",
            Trigger::Continuous => "continuous",
        }
    }

    /// The trigger that a word of history stands for.
    pub fn parse(word: &str) -> Option<Trigger> {
        use Trigger::{Backfill, CatchUp, Continuous, Manual, Retry, Schedule};
        [Schedule, CatchUp, Retry, Manual, Backfill, Continuous].into_iter().find(|trigger| trigger.as_str() == word)
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a body was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The process shuts down.
    Shutdown,
    /// The lock is lost: another node may start at any moment.
    LockLost,
    /// It took longer than its job allows.
    TimedOut,
    /// A person cancelled the run.
    Cancelled,
}

/// How a body ended, seen from the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// It returned without an error.
    Returned {
        /// It called `complete` in a transaction of its own: only if that is committed, the run has succeeded.
        completing: bool,
    },
    /// It returned an error.
    Failed {
        /// The error's text.
        error: String,
        /// An outage that was to be expected: worth a warning, not a page.
        transient: bool,
        /// The wait that the error itself asked for.
        retry_after: Option<SignedDuration>,
    },
    /// It panicked, with this message.
    Panicked(String),
    /// Its task ended without it: aborted, or its runtime shut down.
    Aborted,
}

/// The end of a run, as it is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How it ended.
    pub outcome: Outcome,
    /// The message for history.
    pub error: Option<String>,
    /// The occurrence needs no further run.
    pub handled: bool,
    /// The run used up one of the occurrence's attempts.
    pub counts: bool,
    /// How long its occurrence waits for the next run; zero when handled.
    pub backoff: SignedDuration,
    /// A failure that was to be expected.
    pub transient: bool,
}

/// The table of outcomes: what the end of attempt number `attempt` (from 1) does to its occurrence.
///
/// A body that was told to stop is judged by why it was told, even if it returns without an error: half a work that returned
/// early must not move the window. A run whose body has completed it inside its own transaction keeps that success all the same,
/// because the first recorded end stands. `completes` says that only such a completion counts as success.
pub fn judge(end: BodyEnd, stopped: Option<StopReason>, completes: bool, attempt: u32, retry: &Retry) -> Verdict {
    let message = match &end {
        BodyEnd::Returned { .. } | BodyEnd::Aborted => None,
        BodyEnd::Failed { error, .. } => Some(error.clone()),
        BodyEnd::Panicked(message) => Some(format!("panicked: {message}")),
    };
    let verdict = |outcome, error, handled, counts| Verdict {
        outcome,
        error,
        handled,
        counts,
        backoff: SignedDuration::ZERO,
        transient: false,
    };
    let failed = |outcome, error: Option<String>, transient, asked: Option<SignedDuration>| {
        let wait = retry.wait_after(attempt).map(|own| asked.unwrap_or(own));
        let backoff = wait.unwrap_or(SignedDuration::ZERO);
        Verdict { outcome, error, handled: wait.is_none(), counts: true, backoff, transient }
    };
    match (stopped, end) {
        (Some(StopReason::Shutdown), _) => verdict(Outcome::Cancelled, because("shutdown", message), false, false),
        (Some(StopReason::LockLost), _) => verdict(Outcome::Lost, because("lock lost", message), false, false),
        (Some(StopReason::Cancelled), _) => verdict(Outcome::Cancelled, message, true, false),
        (Some(StopReason::TimedOut), _) => failed(Outcome::TimedOut, message, false, None),
        (None, BodyEnd::Returned { completing }) if completing || completes => {
            failed(Outcome::Failed, text("the body returned, but no `complete` of this run was committed"), false, None)
        }
        (None, BodyEnd::Returned { .. }) => verdict(Outcome::Succeeded, None, true, false),
        (None, BodyEnd::Failed { transient, retry_after, .. }) => {
            failed(Outcome::Failed, message, transient, retry_after)
        }
        (None, BodyEnd::Panicked(_)) => failed(Outcome::Panicked, message, false, None),
        (None, BodyEnd::Aborted) => verdict(Outcome::Cancelled, text("the body's runtime shut down"), false, false),
    }
}

/// Why it was told to stop, and what it said when it did: the outcome alone does not tell.
fn because(why: &str, said: Option<String>) -> Option<String> {
    Some(said.map_or_else(|| why.to_owned(), |said| format!("{why}: {said}")))
}

fn text(words: &str) -> Option<String> {
    Some(words.to_owned())
}
