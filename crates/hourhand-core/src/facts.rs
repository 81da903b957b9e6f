//! What a look into the database showed of one job.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::job::Definition;
use crate::outcome::Trigger;
use crate::request::Request;

/// Who holds a job's lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The backend's process id; 0 for a lease, which no session holds.
    pub pid: i32,
    /// What its session calls itself, where visible.
    pub application: Option<String>,
}

/// The definition that stands registered for a job, where it is not this node's: the last one registered decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Registered {
    /// Tells definitions apart.
    pub fingerprint: i64,
    /// `None`: written by a version that this one can't read.
    pub definition: Option<Arc<Definition>>,
    /// Of the process that registered it.
    pub start_delay: SignedDuration,
}

/// The job that a job's state went over to, under its new name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// Its name.
    pub to: String,
    /// Occurrences up to here need no run there, for whatever reason.
    pub handled_until: Timestamp,
    /// A run of it has not ended.
    pub open: bool,
    /// It is paused there: that nothing runs is nobody's fault.
    pub paused: bool,
    /// Where it is continuous, since when it could have been running there: the last instant before which something kept it.
    pub idle_since: Option<Timestamp>,
}

/// A job's row and its surroundings at one moment. Old as soon as it is read: a start re-checks all that matters.
///
/// A node keeps them for all its jobs: what few jobs have stands in boxes.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The epoch of the newest start; 0 before the first.
    pub epoch: i64,
    /// The epoch of the newest recorded end.
    pub ended_epoch: i64,
    /// Occurrences up to here need no run.
    pub handled_until: Timestamp,
    /// Occurrences up to here were nobody's to run: the schedule was registered then.
    pub counts_from: Option<Timestamp>,
    /// Another definition than this node's is the registered one.
    pub other: Option<Box<Registered>>,
    /// The job goes on under another name: nothing of it starts under this one.
    pub renamed: Option<Box<Renamed>>,
    /// The occurrence whose counters these are.
    pub open_for: Option<Timestamp>,
    /// Attempts used up by the open occurrence.
    pub attempts: u32,
    /// Failed runs in a row, also across occurrences: set back by a success only.
    pub failures: u32,
    /// Deaths in a row, also across occurrences.
    pub deaths: u32,
    /// The open occurrence (after deaths: any) waits until then.
    pub not_before: Option<Timestamp>,
    /// Paused now.
    pub paused: bool,
    /// What lies before this instant counts as handled: the job was paused until then.
    pub resumed_at: Option<Timestamp>,
    /// Whoever holds the lock, hourhand or not.
    pub holder: Option<Box<Holder>>,
    /// Somebody else's lease runs out after this.
    pub lease_left: Option<Duration>,
    /// The lock is held by the session of the newest start, and its end is not recorded.
    pub running: bool,
    /// The newest start was made by the very session that looked.
    pub mine: bool,
    /// Node of the newest start.
    pub node: Option<String>,
    /// Instant of the newest start.
    pub started_at: Option<Timestamp>,
    /// Occurrence of the newest start; none for a manual run.
    pub scheduled_for: Option<Timestamp>,
    /// Trigger of the newest start.
    pub trigger: Option<Trigger>,
    /// The newest run succeeded with a window that ended before the run began: what came since is still to be covered.
    pub window_behind: bool,
    /// Outcome of the newest recorded end, in the word of history.
    pub last_outcome: Option<String>,
    /// When a run last succeeded.
    pub last_success_at: Option<Timestamp>,
    /// When a node that has the job last took note that it waits.
    pub known_at: Option<Timestamp>,
    /// What somebody asked for, from anywhere, that no start has taken.
    pub request: Option<Request>,
}

impl Facts {
    /// A job as its registration leaves it.
    pub fn registered(at: Timestamp) -> Facts {
        Facts {
            epoch: 0,
            ended_epoch: 0,
            handled_until: at,
            counts_from: Some(at),
            other: None,
            renamed: None,
            open_for: None,
            attempts: 0,
            failures: 0,
            deaths: 0,
            not_before: None,
            paused: false,
            resumed_at: None,
            holder: None,
            lease_left: None,
            running: false,
            mine: false,
            node: None,
            started_at: None,
            scheduled_for: None,
            trigger: None,
            window_behind: false,
            last_outcome: None,
            last_success_at: None,
            known_at: None,
            request: None,
        }
    }

    /// The row after the end of this node's own run, as far as that statement tells.
    pub fn after_end(
        &self,
        epoch: i64,
        handled_until: Timestamp,
        open_for: Option<Timestamp>,
        not_before: Option<Timestamp>,
    ) -> Facts {
        let attempts = if open_for.is_some() { self.attempts } else { 0 };
        let ended = Facts { epoch, ended_epoch: epoch, handled_until, open_for, not_before, ..self.clone() };
        Facts { attempts, deaths: 0, running: false, holder: None, mine: false, ..ended }
    }

    /// The newest start has no recorded end: under a lock of one's own that run is over, and lost.
    pub fn open_run(&self) -> Option<i64> {
        (self.epoch > self.ended_epoch).then_some(self.epoch)
    }

    /// The newest start has no recorded end, and nobody has the job: that run is lost, before anybody has recorded it.
    pub fn lost_run(&self) -> Option<i64> {
        self.open_run().filter(|_| self.holder.is_none())
    }

    /// Occurrences at or before this instant need no run, for whatever reason.
    pub fn floor(&self) -> Timestamp {
        let others = [self.counts_from, self.resumed_at];
        others.into_iter().flatten().fold(self.handled_until, Timestamp::max)
    }
}
