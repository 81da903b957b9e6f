//! Real time of the simulated world, which none of its clocks shows exactly.

use std::ops::{Add, Sub};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// An instant of real time: microseconds since the world began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct At(pub(crate) u64);

impl At {
    /// What a clock shows that is off by so much.
    pub(crate) fn shown_by(self, off: SignedDuration) -> Timestamp {
        // 2026-01-01T00:00:00Z.
        let began = Timestamp::constant(1_767_225_600, 0);
        began + SignedDuration::from_micros(self.0.cast_signed()) + off
    }

    /// Time since the world began.
    pub(crate) fn since_began(self) -> Duration {
        Duration::from_micros(self.0)
    }
}

impl Add<Duration> for At {
    type Output = At;
    fn add(self, length: Duration) -> At {
        // A timer fires when its time has come, never before.
        At(self.0 + length.as_nanos().div_ceil(1_000) as u64)
    }
}

impl Sub<At> for At {
    type Output = Duration;
    fn sub(self, earlier: At) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}
