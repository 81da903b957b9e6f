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

    /// What the machine's own clock will show at an instant of this node's: the one clock that other processes can read too.
    ///
    /// Counted from now on, and the boot-time clock never runs behind the monotonic one: so the answer is never too late.
    pub(crate) fn on_the_machine(&self, instant: Mono) -> Duration {
        machine() + instant.since(self.now().mono)
    }

    /// Trust ends by whichever passes first: the monotonic clock stands still while the machine is suspended, the boot-time
    /// clock does not.
    pub(crate) fn now(&self) -> Now {
        let boot = since_boot().saturating_sub(self.boot);
        Now { mono: Mono(self.monotonic.elapsed().max(boot)), wall: Timestamp::now() }
    }
}

/// The clock that all processes of the machine share: the boot-time clock, elsewhere than on Linux the monotonic one.
#[cfg(target_os = "linux")]
pub(crate) fn machine() -> Duration {
    since_boot()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn machine() -> Duration {
    let spec = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::try_from(spec).unwrap_or(Duration::ZERO)
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
