//! What the outside service asks of its callers, and how lengths of time are written on the command line.

use std::time::Duration;

use clap::Args;
use jiff::SignedDuration;

/// How often the order service may be called. It answers 429 to whoever calls sooner.
///
/// The feed takes them as what it enforces, order-sync as what it keeps: two processes, told the same by the same
/// options, and nothing else shared between enforcing and keeping.
#[derive(Debug, Clone, Args)]
pub struct Terms {
    /// Between two calls of one endpoint.
    #[arg(long = "feed-interval", env = "FEED_INTERVAL", default_value = "1s", value_parser = length)]
    pub interval: Duration,
    /// An answer of more rows than this is a large one.
    #[arg(long = "feed-large-rows", env = "FEED_LARGE_ROWS", default_value_t = 50)]
    pub large_rows: usize,
    /// After a large answer, before the next call.
    #[arg(long = "feed-rest", env = "FEED_REST", default_value = "5s", value_parser = length)]
    pub rest: Duration,
}

impl Terms {
    /// How long to leave the service alone once an answer of `rows` rows is in.
    ///
    /// Counted from the answer, though the service counts its interval from the call's arrival: the call arrived
    /// before its answer, so no jitter of the network can bring two arrivals nearer than the interval.
    pub fn pause_after(&self, rows: usize) -> Duration {
        if rows > self.large_rows { self.rest.max(self.interval) } else { self.interval }
    }

    /// The longest pause that an answer can ask for.
    pub fn pause_max(&self) -> Duration {
        self.pause_after(usize::MAX)
    }
}

/// A length of time as people write it: `90s`, `10m`, `1h 30m`, `250ms`.
///
/// # Errors
///
/// Says what was wrong, for clap to show beside the option's name.
pub fn length(text: &str) -> Result<Duration, String> {
    let length: SignedDuration =
        text.parse().map_err(|_| "not a length of time: write it like 90s, 10m or 1h 30m".to_owned())?;
    Duration::try_from(length).map_err(|_| "a length of time can't be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms {
        Terms { interval: Duration::from_secs(1), large_rows: 50, rest: Duration::from_secs(5) }
    }

    #[test]
    fn only_more_rows_than_the_bound_ask_for_a_rest() {
        assert_eq!(terms().pause_after(0), Duration::from_secs(1));
        assert_eq!(terms().pause_after(50), Duration::from_secs(1));
        assert_eq!(terms().pause_after(51), Duration::from_secs(5));
        assert_eq!(terms().pause_max(), Duration::from_secs(5));
    }

    #[test]
    fn a_rest_shorter_than_the_interval_does_not_shorten_it() {
        let terms = Terms { rest: Duration::ZERO, ..terms() };
        assert_eq!(terms.pause_after(1000), Duration::from_secs(1));
    }

    #[test]
    fn lengths_are_written_as_people_write_them() {
        assert_eq!(length("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(length("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(length("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(length("0s"), Ok(Duration::ZERO));
        for wrong in ["", "90", "-5s", "5 moons", "9999999999999999999s"] {
            assert!(length(wrong).is_err(), "{wrong:?} was taken");
        }
    }
}
