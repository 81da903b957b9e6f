//! What a run came to.

use std::ops::AddAssign;

/// Counts of one run, or of many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Steps of the world.
    pub happenings: u64,
    /// Faults, and requests of people.
    pub faults: u64,
    /// Attempts to connect.
    pub connects: u64,
    /// Statements that nodes sent.
    pub statements: u64,
    /// Bodies that began.
    pub runs: u64,
    /// Fenced transactions that committed.
    pub commits: u64,
    /// Fenced transactions that were refused.
    pub fenced_out: u64,
    /// Runs by hand.
    pub triggered: u64,
    /// Runs that were asked for from elsewhere.
    pub requested: u64,
    /// Requests that were answered with *already running*.
    pub refused: u64,
    /// Questions for the status.
    pub statuses: u64,
    /// Locks lost in mid-run.
    pub locks_lost: u64,
    /// Runs whose process died.
    pub deaths: u64,
    /// Silent sessions that were ended.
    pub evictions: u64,
    /// Ends that could not be recorded in time.
    pub unrecorded: u64,
    /// Things that people were told.
    pub notices: u64,
}

impl AddAssign<&Report> for Report {
    fn add_assign(&mut self, other: &Report) {
        self.happenings += other.happenings;
        self.faults += other.faults;
        self.connects += other.connects;
        self.statements += other.statements;
        self.runs += other.runs;
        self.commits += other.commits;
        self.fenced_out += other.fenced_out;
        self.triggered += other.triggered;
        self.requested += other.requested;
        self.refused += other.refused;
        self.statuses += other.statuses;
        self.locks_lost += other.locks_lost;
        self.deaths += other.deaths;
        self.evictions += other.evictions;
        self.unrecorded += other.unrecorded;
        self.notices += other.notices;
    }
}
