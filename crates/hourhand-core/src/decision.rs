//! What is to be done about a job: the words in which it is decided.

use jiff::Timestamp;

use crate::outcome::Trigger;

/// An occurrence that needs a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The instant at which the job is due.
    pub occurrence: Timestamp,
    /// What the run will be called.
    pub trigger: Trigger,
    /// Older occurrences that this one replaces and that nobody has counted yet.
    pub skip: Option<Skip>,
    /// Its window ends here at the latest: the next occurrence has the rest.
    pub window_end: Option<Timestamp>,
}

/// Occurrences that are passed over, counted, not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Why.
    pub reason: SkipReason,
    /// How many.
    pub count: u64,
    /// The newest of them.
    pub newest: Timestamp,
}

/// Why an occurrence is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// A newer one runs in its place.
    Coalesced,
    /// It came due while a run was under way.
    Overlap,
    /// The job was paused.
    Paused,
    /// It is older than may be caught up, or later than its deadline.
    TooLate,
    /// Another definition was registered, and nobody ran it.
    StoodDown,
}

impl SkipReason {
    /// The word that stands in history.
    pub fn as_str(self) -> &'static str {
        match self {
            SkipReason::Coalesced => "coalesced",
            SkipReason::Overlap => "overlap",
            SkipReason::Paused => "paused",
            SkipReason::TooLate => "too_late",
            SkipReason::StoodDown => "stood_down",
        }
    }
}

/// What is to be done about a job at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// An occurrence needs a run.
    Due(Due),
    /// The window of the newest run was bounded: another run follows at once, for no occurrence.
    FollowUp,
    /// A continuous job has no run: its body is to be started.
    Continuous,
    /// Occurrences are passed over without a run; that is to be put on record, under the lock.
    PassOver(Skip),
    /// An occurrence needs a run, but not before then.
    Later(Timestamp),
    /// Nothing to run before then; `None`: never again.
    NotYet(Option<Timestamp>),
    /// Nothing to run, until somebody changes something: to be looked at again after a while.
    LookAgain,
}
