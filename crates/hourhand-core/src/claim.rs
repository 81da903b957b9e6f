//! What a node may still believe about the locks of its session.
//!
//! PostgreSQL frees a lock when *it* notices that the session is gone, and may notice before us. So a held claim carries a
//! deadline, past which the node ends its runs by itself: give-up comes 3/5 ttl after the last answered ping was *sent*, well
//! before the server lets go (1 to 6/5 ttl after the client's last sign of life). One claim covers all locks of a session, since
//! one ping proves them all.
//!
//! | state | event | state afterwards |
//! | --- | --- | --- |
//! | none | a lock granted, asked for at `t` | held until `t` + 3/5 ttl |
//! | held | a further lock granted | held, no longer than before: that answer proves only the new lock |
//! | held | a ping sent at `t` answered: every lock ours | held until `t` + 3/5 ttl |
//! | held | a ping answered: a lock missing | lost |
//! | held | the deadline passes, or the session closes | lost |
//! | held | doubted | held, the next ping is due now |
//! | held | the last lock let go | none |
//! | lost | anything | lost; a new session begins with none |

use std::time::Duration;

use crate::time::Mono;

/// The spans of the protocol, all derived from the one knob `ttl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spans {
    /// The knob: about how long a silent holder keeps its locks.
    pub ttl: Duration,
    /// Between two pings, and the bound on every statement of ours.
    pub ping_interval: Duration,
    /// From sending the last answered ping to not believing it any more.
    pub give_up: Duration,
    /// How long a body whose lock is lost may take to stop, at most.
    pub stop_max: Duration,
}

impl Spans {
    /// The spans for a `ttl`.
    pub fn of(ttl: Duration) -> Spans {
        Spans { ttl, ping_interval: ttl / 5, give_up: ttl * 3 / 5, stop_max: ttl / 5 }
    }

    /// How long a session may be silent before whoever waits for its lock ends it.
    pub fn evict(&self) -> Duration {
        self.ttl * 5 / 4
    }

    /// Whether the holder lets go first: a body is ended before the server frees its lock, and the server before a watcher ends the
    /// session, or two bodies overlap. `server_release`: how long the server waits for a client that went silent.
    ///
    /// # Errors
    ///
    /// The three numbers, in the order that does not hold.
    pub fn check_order(&self, server_release: Duration) -> Result<(), String> {
        let stopped = self.give_up + self.stop_max;
        if stopped < server_release && server_release < self.evict() {
            return Ok(());
        }
        let evict = self.evict();
        Err(format!(
            "the holder does not let go first: its body is ended {stopped:?} after the last sign of the server, the server lets go \
             after {server_release:?}, a watcher ends the session after {evict:?}; each must be longer than the one before"
        ))
    }
}

/// This node's belief that the locks of its session are its own.
///
/// Invariant: `trusted_until` counts from the moment a ping was *sent*; a slow answer must not lengthen trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The session holds no lock.
    None,
    /// Locks are held, and believed in until the deadline.
    Held {
        /// Past this the runs are ended.
        trusted_until: Mono,
        /// When the next ping is due.
        ping_at: Mono,
    },
    /// Somebody else may hold the locks by now.
    Lost,
}

/// What happens to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimEvent {
    /// A lock was granted by a statement sent at this instant.
    Granted(Mono),
    /// There is a reason not to wait for the next ping.
    Doubted,
    /// A ping was sent.
    PingSent,
    /// A ping sent at this instant was answered; `complete`: every lock is there, the server is a writable primary.
    PingAnswered {
        /// When it was sent.
        sent: Mono,
        /// Nothing is missing.
        complete: bool,
    },
    /// The last lock was let go.
    Released,
    /// The session ended.
    Closed,
    /// Time passed.
    Tick,
}

impl Claim {
    /// The claim after `event`.
    pub fn step(self, now: Mono, event: ClaimEvent, spans: &Spans) -> Claim {
        let held_from =
            |sent: Mono| Claim::Held { trusted_until: sent + spans.give_up, ping_at: sent + spans.ping_interval };
        // What comes when the deadline is past does not bring the belief back: the bodies may have been told already.
        let next = match (self.past_deadline(now), event) {
            (Claim::None, ClaimEvent::Granted(sent)) => held_from(sent),
            (Claim::Held { trusted_until, .. }, ClaimEvent::PingSent) => {
                Claim::Held { trusted_until, ping_at: now + spans.ping_interval }
            }
            (Claim::Held { trusted_until, ping_at }, ClaimEvent::PingAnswered { sent, complete: true }) => {
                Claim::Held { trusted_until: trusted_until.max(sent + spans.give_up), ping_at }
            }
            (Claim::Held { .. }, ClaimEvent::PingAnswered { complete: false, .. } | ClaimEvent::Closed) => Claim::Lost,
            (Claim::Held { trusted_until, .. }, ClaimEvent::Doubted) => Claim::Held { trusted_until, ping_at: now },
            (Claim::Held { .. }, ClaimEvent::Released) => Claim::None,
            (Claim::Held { .. }, ClaimEvent::Granted(_) | ClaimEvent::Tick) => self,
            (Claim::None, ClaimEvent::PingSent | ClaimEvent::PingAnswered { .. } | ClaimEvent::Released) => self,
            (Claim::None, ClaimEvent::Doubted | ClaimEvent::Closed | ClaimEvent::Tick) | (Claim::Lost, _) => self,
        };
        next.past_deadline(now)
    }

    /// The claim as of now, before and after whatever happens.
    fn past_deadline(self, now: Mono) -> Claim {
        match self {
            Claim::Held { trusted_until, .. } if now >= trusted_until => Claim::Lost,
            Claim::None | Claim::Held { .. } | Claim::Lost => self,
        }
    }

    /// A ping is due now.
    pub fn wants_ping(self, now: Mono) -> bool {
        matches!(self, Claim::Held { ping_at, .. } if now >= ping_at)
    }

    /// When time alone changes something: a ping is due, and trust ends.
    pub fn wakes_at(self) -> [Option<Mono>; 2] {
        match self {
            Claim::Held { trusted_until, ping_at } => [Some(ping_at), Some(trusted_until)],
            Claim::None | Claim::Lost => [None, None],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_every_ttl_the_holder_lets_go_first_and_a_server_that_is_quicker_or_slower_is_named_with_the_numbers() {
        for seconds in 5..=600 {
            let spans = Spans::of(Duration::from_secs(seconds));
            // What the session's settings make of a silent client: ttl, with a statement under way a fifth more.
            assert_eq!(spans.check_order(spans.ttl), Ok(()));
            assert_eq!(spans.check_order(spans.ttl * 6 / 5), Ok(()));
        }
        let spans = Spans::of(Duration::from_secs(15));
        for release in [8, 12, 19] {
            let error = spans.check_order(Duration::from_secs(release)).unwrap_err();
            assert!(["12s", "18.75s", &format!("{release}s")].iter().all(|number| error.contains(number)), "{error}");
        }
    }
}
