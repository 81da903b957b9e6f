//! How long to wait before the next try.

use std::time::Duration;

use jiff::SignedDuration;

/// What becomes of an occurrence whose run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Runs of one occurrence, the first included; at least 1.
    pub attempts: u32,
    /// The wait after the first failure.
    pub backoff: SignedDuration,
    /// What each further wait is multiplied by: 1 for a fixed backoff, 2 for an exponential one.
    pub factor: u32,
    /// No wait is longer, jitter aside.
    pub backoff_max: SignedDuration,
    /// Each wait is longer by a share of this, another one each time: what failed together does not come back together.
    pub jitter: SignedDuration,
}

impl Default for Retry {
    fn default() -> Self {
        Retry::none()
    }
}

impl Retry {
    /// A failed occurrence waits for its successor.
    pub fn none() -> Retry {
        Retry::fixed(1, SignedDuration::ZERO)
    }

    /// Up to `attempts` runs of an occurrence, `backoff` apart.
    pub fn fixed(attempts: u32, backoff: SignedDuration) -> Retry {
        Retry { attempts, backoff, factor: 1, backoff_max: backoff, jitter: SignedDuration::ZERO }
    }

    /// Up to `attempts` runs; the wait doubles from `backoff` to `backoff_max`.
    pub fn exponential(attempts: u32, backoff: SignedDuration, backoff_max: SignedDuration) -> Retry {
        Retry { attempts, backoff, factor: 2, backoff_max, jitter: SignedDuration::ZERO }
    }

    /// Makes each wait longer by up to `length`.
    pub fn jitter(self, length: SignedDuration) -> Retry {
        Retry { jitter: length, ..self }
    }

    /// The share of the jitter that falls to `seed`.
    pub fn jitter_of(&self, seed: u64) -> SignedDuration {
        SignedDuration::try_from_secs_f64(self.jitter.as_secs_f64() * fraction(seed)).unwrap_or(SignedDuration::ZERO)
    }

    /// The wait after attempt number `attempt` (from 1) failed; `None` when it was the last one.
    pub fn wait_after(&self, attempt: u32) -> Option<SignedDuration> {
        if attempt >= self.attempts {
            return None;
        }
        let factor = i64::from(self.factor).saturating_pow(attempt.saturating_sub(1).min(32));
        let seconds = self.backoff.as_secs_f64() * factor as f64;
        let wait = SignedDuration::try_from_secs_f64(seconds).unwrap_or(self.backoff_max);
        Some(wait.min(self.backoff_max))
    }
}

/// The wait before try number `tries` (from 0) to reach a server: quick at first, doubling to 30 s, and spread so that a fleet
/// does not come back in one second. `seed` makes the spread reproducible.
pub fn reconnect_wait(tries: u32, seed: u64) -> Duration {
    let full = Duration::from_millis(100).saturating_mul(1 << tries.min(9)).min(Duration::from_secs(30));
    spread(full, seed ^ u64::from(tries))
}

/// A length between a half and the whole of `full`, the same for the same seed.
pub fn spread(full: Duration, seed: u64) -> Duration {
    full.mul_f64(0.5 + fraction(seed) / 2.0)
}

/// A stable number in `[0, 1)` for a seed (the finaliser of splitmix64, Steele, Lea and Flood 2014).
pub fn fraction(seed: u64) -> f64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_their_bound_and_end_with_the_attempts() {
        let retry = Retry::exponential(5, SignedDuration::from_secs(10), SignedDuration::from_secs(30));
        let waits: Vec<_> = (1..=5).map(|attempt| retry.wait_after(attempt).map(|wait| wait.as_secs())).collect();
        assert_eq!(waits, [Some(10), Some(20), Some(30), Some(30), None]);
        assert_eq!(Retry::none().wait_after(1), None);
    }

    #[test]
    fn jitter_only_lengthens_a_wait_and_differs_from_run_to_run() {
        let retry = Retry::fixed(2, SignedDuration::from_secs(10)).jitter(SignedDuration::from_secs(4));
        let shares: Vec<_> = (1000..1100).map(|epoch| retry.jitter_of(epoch)).collect();
        assert!(shares.iter().all(|share| !share.is_negative() && *share < retry.jitter));
        let early = shares.iter().filter(|share| share.as_secs() < 2).count();
        assert!((25..75).contains(&early), "{early} of 100 in the first half");
    }

    #[test]
    fn reconnecting_starts_quickly_and_never_waits_longer_than_its_bound() {
        assert!(reconnect_wait(0, 7) <= Duration::from_millis(100));
        assert!((0..60).all(|tries| reconnect_wait(tries, 7) <= Duration::from_secs(30)));
        assert!(reconnect_wait(40, 7) >= Duration::from_secs(15));
    }
}
