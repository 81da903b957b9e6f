//! Random numbers with a seed that is printed, so that any failure can be played again.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// SplitMix64 and the seed it began with.
pub(crate) struct Seed {
    began: u64,
    state: u64,
}

impl Seed {
    /// From `HOURHAND_SEED` if it is set, else another one in every run. Printed.
    pub(crate) fn of_this_run(what: &str) -> Seed {
        let given = std::env::var("HOURHAND_SEED").ok().map(|text| text.parse().expect("HOURHAND_SEED is a number"));
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let began = given.unwrap_or(since.as_nanos() as u64);
        println!("{what}: HOURHAND_SEED={began}");
        Seed { began, state: began }
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// A number from one to another, both included.
    pub(crate) fn between(&mut self, from: u8, to: u8) -> u8 {
        from + self.below(u64::from(to - from) + 1) as u8
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of several.
    pub(crate) fn one_of<'t, T>(&mut self, several: &'t [T]) -> &'t T {
        &several[self.below(several.len() as u64) as usize]
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HOURHAND_SEED={}", self.began)
    }
}

/// How long a fuzz goes on: `HOURHAND_FUZZ_SECONDS`, or else a few seconds.
pub(crate) fn fuzz_time(seconds: u64) -> Duration {
    let given = std::env::var("HOURHAND_FUZZ_SECONDS").ok();
    Duration::from_secs(given.map_or(seconds, |text| text.parse().expect("HOURHAND_FUZZ_SECONDS is a number")))
}
