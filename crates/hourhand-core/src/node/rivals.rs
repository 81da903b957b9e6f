//! Rivals: nodes that wake for the same occurrence at the same instant, of which one can have it.
//!
//! All nodes that know a job wake when it is due; none knows how many others there are. Were all of two hundred to connect within the
//! same hundredth of a second, a server with room for twenty sessions would refuse the application too. So a node that comes too late
//! comes later the next time: after each instant in a row at which it woke and got nothing, its share of a growing span is added to its
//! waking up, by a hash of its seed and the instant. Who runs a job wakes on time, so that lateness stays what it was; the others
//! spread, and find it handled. If the quick ones are gone, the next one comes within the span: two seconds at most, and at most a
//! tenth of the distance of the job's occurrences.
//!
//! A resident node has its session already and takes nobody's place.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::Node;
use crate::backoff::fraction;
use crate::protocol::Slot;
use crate::time::Mono;

/// The span after the first loss; it doubles with each further one.
const SPAN_FIRST: Duration = Duration::from_millis(50);
const SPAN_MAX: Duration = Duration::from_secs(2);
/// Jobs that are due at one instant are lost at one.
const ONE_INSTANT: Duration = Duration::from_millis(500);

/// What this node wakes for and others have already.
#[derive(Debug, Default)]
pub(super) struct Rivals {
    /// Instants in a row at which it got nothing.
    losses: u32,
    lost_at: Option<Mono>,
}

impl Node {
    /// Somebody else was quicker, or is at it.
    pub(super) fn came_too_late(&mut self, now: Mono, slot: Slot) {
        let woken = std::mem::take(&mut self.job_mut(slot).woken);
        let counted = self.rivals.lost_at.is_some_and(|at| now - at < ONE_INSTANT);
        if woken && !counted {
            self.rivals.losses = self.rivals.losses.saturating_add(1);
            self.rivals.lost_at = Some(now);
        }
    }

    /// A run starts here.
    pub(super) fn came_in_time(&mut self, slot: Slot) {
        if std::mem::take(&mut self.job_mut(slot).woken) {
            self.rivals.losses = 0;
        }
    }

    /// It wakes on time for what is due.
    pub(super) fn is_punctual(&self) -> bool {
        self.rivals.losses == 0
    }

    /// When to wake for what is due at `at`.
    pub(super) fn after_rivals(&self, slot: Slot, at: Timestamp) -> Timestamp {
        let losses = self.rivals.losses;
        if losses == 0 || self.settings.resident {
            return at;
        }
        let span = SPAN_FIRST.saturating_mul(1 << (losses - 1).min(16)).min(SPAN_MAX);
        let period = self.job(slot).definition.schedule.period_at(at);
        let period = period.and_then(|period| Duration::try_from(period).ok());
        let span = period.map_or(span, |period| span.min(period / 10));
        let drawn = self.settings.seed ^ at.as_second().cast_unsigned();
        let share = SignedDuration::try_from(span.mul_f64(fraction(drawn))).unwrap_or_default();
        at.checked_add(share).unwrap_or(at)
    }
}
