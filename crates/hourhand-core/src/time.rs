//! The three clocks, kept apart.
//!
//! *When did it happen* is the server's clock, a [`Timestamp`]; every node decides by it. *How long may I trust* is the node's
//! own [`Mono`] clock. The node's wall clock only helps to say when to wake up; it decides nothing.
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

/// What the node knows of the server's clock: what it showed when it was last heard of, and its own clocks at that moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerClock {
    heard: Option<(Now, Timestamp)>,
}

impl ServerClock {
    /// Takes the server's time from an answer that arrived `now`.
    ///
    /// The answer was on its way for a while, so the estimate can only lag behind: a node that wakes by it wakes late by one
    /// trip at most, never early.
    pub fn learn(&mut self, now: Now, server: Timestamp) {
        self.heard = Some((now, server));
    }

    /// The server's time for deciding when to wake up; before the first visit nobody can tell.
    ///
    /// Whichever of the node's clocks ran further counts: the trust clock where the wall clock was set back, the wall clock where
    /// the trust clock stood still with the machine. A wall clock set ahead costs a visit, which finds nothing due.
    pub fn estimate(&self, now: Now) -> Option<Timestamp> {
        let (then, server) = self.heard?;
        let by_wall = now.wall.duration_since(then.wall);
        let by_trust = SignedDuration::try_from(now.mono - then.mono).unwrap_or(SignedDuration::MAX);
        server.checked_add(by_wall.max(by_trust)).ok()
    }

    /// What the server's clock shows at least, for decisions that are written down. The wall clock has no say in it: it may have
    /// been set ahead, and an occurrence that is not due must not be skipped.
    pub fn at_least(&self, now: Now) -> Option<Timestamp> {
        let (then, server) = self.heard?;
        server.checked_add(SignedDuration::try_from(now.mono - then.mono).ok()?).ok()
    }

    /// Server time less node time, when the server was last heard of.
    pub fn offset(&self) -> Option<SignedDuration> {
        self.heard.map(|(then, server)| server.duration_since(then.wall))
    }

    /// How long until the server's clock shows `instant`; zero when it is past, `None` before the first visit.
    pub fn until(&self, now: Now, instant: Timestamp) -> Option<Duration> {
        let ahead = instant.duration_since(self.estimate(now)?);
        Some(Duration::try_from(ahead).unwrap_or(Duration::ZERO))
    }
}
