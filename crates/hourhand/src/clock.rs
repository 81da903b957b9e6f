//! The only place that reads time.

use std::time::{Duration, Instant};

use hourhand_core::time::{Mono, Now};
use jiff::Timestamp;

/// The node's own clocks, counted from one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    monotonic: Instant,
    boot: Duration,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock { monotonic: Instant::now(), boot: since_boot() }
    }

    /// Trust ends by whichever passes first: the monotonic clock stands still while the machine is suspended, the boot-time
    /// clock does not.
    pub(crate) fn now(&self) -> Now {
        let boot = since_boot().saturating_sub(self.boot);
        Now { mono: Mono(self.monotonic.elapsed().max(boot)), wall: Timestamp::now() }
    }
}

/// Time since the machine started, suspended or not; zero where no such clock is.
#[cfg(target_os = "linux")]
fn since_boot() -> Duration {
    let spec = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::try_from(spec).unwrap_or(Duration::ZERO)
}

#[cfg(not(target_os = "linux"))]
fn since_boot() -> Duration {
    Duration::ZERO
}
