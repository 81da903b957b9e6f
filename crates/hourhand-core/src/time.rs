//! The three clocks, kept apart.
//!
//! *When did it happen* is the server's clock, a [`Timestamp`]; every node decides by it. *How long may I trust* is the node's
//! own [`Mono`] clock. The node's wall clock only says when to wake up: it is corrected by the offset measured at each visit.
//! An instant of one clock is never subtracted from an instant of another, except in [`ServerClock`], whose whole purpose it is.

use std::ops::{Add, Sub};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// An instant on the node's trust clock: time since some fixed moment, which goes on while the machine is suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mono(pub Duration);

impl Mono {
    /// Time passed since `earlier`; zero if it lies ahead.
    pub fn since(self, earlier: Mono) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Mono {
    type Output = Mono;
    fn add(self, length: Duration) -> Mono {
        Mono(self.0.saturating_add(length))
    }
}

impl Sub<Mono> for Mono {
    type Output = Duration;
    fn sub(self, earlier: Mono) -> Duration {
        self.since(earlier)
    }
}

/// What the node's own clocks say at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The trust clock.
    pub mono: Mono,
    /// The node's wall clock, right or wrong.
    pub wall: Timestamp,
}

/// How the node's wall clock relates to the server's.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerClock {
    offset: Option<SignedDuration>,
}

impl ServerClock {
    /// Takes the server's time from an answer that arrived `now`.
    ///
    /// The answer was on its way for a while, so the estimate can only lag behind: a node that wakes by it wakes late by one
    /// trip at most, never early.
    pub fn learn(&mut self, now: Now, server: Timestamp) {
        self.offset = Some(server.duration_since(now.wall));
    }

    /// The server's time, as far as known; before the first visit nobody can tell.
    pub fn estimate(&self, now: Now) -> Option<Timestamp> {
        self.offset.and_then(|offset| now.wall.checked_add(offset).ok())
    }

    /// Server time less node time.
    pub fn offset(&self) -> Option<SignedDuration> {
        self.offset
    }

    /// How long until the server's clock shows `instant`; zero when it is past, `None` before the first visit.
    pub fn until(&self, now: Now, instant: Timestamp) -> Option<Duration> {
        let ahead = instant.duration_since(self.estimate(now)?);
        Some(Duration::try_from(ahead).unwrap_or(Duration::ZERO))
    }
}
