//! The one source of chance: everything in a run follows from its seed.

use std::time::Duration;

/// A stream of numbers from a seed (splitmix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed ^ 0x5851_f42d_4c95_7f2d)
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// True in `per_mille` of 1,000 cases.
    pub(crate) fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1_000) < per_mille
    }

    /// A length between two others.
    pub(crate) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = most.saturating_sub(least).as_micros() as u64;
        least + Duration::from_micros(self.below(span + 1))
    }

    /// A length between two others, in milliseconds.
    pub(crate) fn millis(&mut self, least: u64, most: u64) -> Duration {
        self.between(Duration::from_millis(least), Duration::from_millis(most))
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}
