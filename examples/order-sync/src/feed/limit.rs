//! The rate limit of one endpoint: pure, told the time.

use std::time::{Duration, Instant};

use crate::terms::Terms;

/// When the endpoint may be called next, and how often it was called too soon.
///
/// A call may *arrive* no sooner than the interval after the arrival of the last admitted one, and no sooner than the
/// rest after a large answer. There is no tolerance: a client that keeps the terms never meets it, and one that
/// does not is counted. A refused call moves nothing.
#[derive(Debug)]
pub struct Limit {
    terms: Terms,
    not_before: Option<Instant>,
    violations: u64,
}

impl Limit {
    /// An endpoint that nobody has called yet.
    pub fn new(terms: Terms) -> Self {
        Self { terms, not_before: None, violations: 0 }
    }

    /// A call arrives: admitted, or told how long it should have waited.
    ///
    /// # Errors
    ///
    /// The time that was left. The call has been counted as a violation.
    pub fn arrive(&mut self, now: Instant) -> Result<(), Duration> {
        if let Some(left) = self.not_before.and_then(|at| at.checked_duration_since(now)).filter(|left| !left.is_zero())
        {
            self.violations += 1;
            return Err(left);
        }
        self.not_before = Some(now + self.terms.interval);
        Ok(())
    }

    /// An answer of `rows` rows went out. One whose client had gone never does.
    pub fn answered(&mut self, now: Instant, rows: usize) {
        if rows > self.terms.large_rows {
            self.not_before = self.not_before.max(Some(now + self.terms.rest));
        }
    }

    /// Calls that came too soon.
    pub fn violations(&self) -> u64 {
        self.violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit() -> (Limit, Instant) {
        let terms = Terms { interval: Duration::from_secs(1), large_rows: 50, rest: Duration::from_secs(5) };
        (Limit::new(terms), Instant::now())
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn calls_an_interval_apart_are_admitted() {
        let (mut limit, t) = limit();
        assert_eq!(limit.arrive(t), Ok(()));
        assert_eq!(limit.arrive(t + ms(1000)), Ok(()));
        assert_eq!(limit.arrive(t + ms(2500)), Ok(()));
        assert_eq!(limit.violations(), 0);
    }

    #[test]
    fn a_call_one_millisecond_early_is_a_violation_and_moves_nothing() {
        let (mut limit, t) = limit();
        assert_eq!(limit.arrive(t), Ok(()));
        assert_eq!(limit.arrive(t + ms(999)), Err(ms(1)));
        assert_eq!(limit.arrive(t + ms(1000)), Ok(()));
        assert_eq!(limit.violations(), 1);
    }

    #[test]
    fn a_large_answer_asks_for_a_rest_counted_from_the_answer() {
        let (mut limit, t) = limit();
        assert_eq!(limit.arrive(t), Ok(()));
        limit.answered(t + ms(700), 51);
        assert_eq!(limit.arrive(t + ms(5699)), Err(ms(1)));
        assert_eq!(limit.arrive(t + ms(5700)), Ok(()));
    }

    #[test]
    fn an_answer_of_exactly_the_bound_asks_for_none() {
        let (mut limit, t) = limit();
        assert_eq!(limit.arrive(t), Ok(()));
        limit.answered(t + ms(700), 50);
        assert_eq!(limit.arrive(t + ms(1000)), Ok(()));
    }

    #[test]
    fn a_call_that_arrives_while_another_is_answered_can_not_shorten_the_rest() {
        let (mut limit, t) = limit();
        assert_eq!(limit.arrive(t), Ok(()));
        limit.answered(t + ms(100), 100);
        assert!(limit.arrive(t + ms(1500)).is_err());
        limit.answered(t + ms(1600), 0);
        assert_eq!(limit.arrive(t + ms(5099)), Err(ms(1)));
    }
}
