//! From local time to instants and back: what a change of the clock does to a schedule.
//!
//! The rules are those of Vixie's cron, the one on nearly every machine:
//!
//! * A job that **follows real time** (its minute or hour begins with `*`) is due at every instant at which the clock
//!   on the wall shows a matching time. In an hour that is shown twice it is due twice, in an hour that is left out
//!   not at all; so `*/15 * * * *` keeps its distance of a quarter of an hour.
//! * Any other job has **fixed local times**, and each is due once: *at the first instant at which the clock has
//!   reached it*. When the clock goes back, that is the first pass. When it jumps forward over the time, that is the
//!   moment of the jump, the end of the gap; several times in one gap fall together. The same sentence covers a gap
//!   at midnight, a shift of half an hour, and a whole day that is left out (Samoa, 2011).
//!
//! For the second kind everything follows from one pair of functions. [`Clock::instant`] takes a local time to the
//! first instant that has reached it; [`Clock::reached`] takes an instant to the first local time that has *not* been
//! reached before it. `instant(local) >= at` if and only if `local >= reached(at)`, so the occurrences at or after an
//! instant are the matches at or after `reached(instant)`, those before it are the matches before that; forwards and
//! backwards cannot disagree.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneTransition};
use jiff::{SignedDuration, Timestamp};

use super::cron::calendar::Calendar;

/// One second.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// The clock on the wall of a time zone. All instants given to it are whole seconds.
#[derive(Clone, Copy)]
pub(crate) struct Clock<'z> {
    zone: &'z TimeZone,
}

/// The last whole second at or before an instant.
pub(crate) fn whole_second(at: Timestamp) -> Option<Timestamp> {
    let second = at.as_second();
    let below = i64::from(at.subsec_nanosecond() < 0);
    Timestamp::from_second(second - below).ok()
}

impl<'z> Clock<'z> {
    /// The clock of a zone.
    pub(crate) fn of(zone: &'z TimeZone) -> Clock<'z> {
        Clock { zone }
    }

    /// The first instant at which the clock has reached a local time.
    fn instant(self, local: DateTime) -> Option<Timestamp> {
        match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(local).ok(),
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(local).ok(),
            AmbiguousOffset::Gap { before, .. } => {
                let beyond = before.to_timestamp(local).ok()?.checked_add(SECOND).ok()?;
                self.zone.preceding(beyond).next().map(|change| change.timestamp())
            }
        }
    }

    /// The first local time that the clock has not reached before an instant.
    fn reached(self, at: Timestamp) -> Option<DateTime> {
        let shown = self.zone.to_datetime(at);
        let Some(change) = self.zone.preceding(at.checked_add(SECOND).ok()?).next() else { return Some(shown) };
        let before_change = self.offset_before(&change)?.to_datetime(change.timestamp());
        Some(if change.timestamp() == at { before_change } else { shown.max(before_change) })
    }

    /// The offset that a change put an end to.
    fn offset_before(self, change: &TimeZoneTransition<'_>) -> Option<Offset> {
        Some(self.zone.to_offset(change.timestamp().checked_sub(SECOND).ok()?))
    }
}

/// Fixed local times, each due once.
impl Clock<'_> {
    /// The first occurrence at or after an instant.
    pub(crate) fn first_fixed(self, calendar: &Calendar, from: Timestamp) -> Option<Timestamp> {
        self.instant(calendar.first_from(self.reached(from)?)?)
    }

    /// The last occurrence before an instant.
    pub(crate) fn last_fixed(self, calendar: &Calendar, until: Timestamp) -> Option<Timestamp> {
        self.instant(calendar.last_before(self.reached(until)?)?)
    }

    /// The number of occurrences from one instant (inclusive) to another (exclusive).
    pub(crate) fn count_fixed(self, calendar: &Calendar, from: Timestamp, until: Timestamp) -> Option<u64> {
        let matches = calendar.count(self.reached(from)?, self.reached(until)?);
        let changes = self.zone.following(from.checked_sub(SECOND).ok()?);
        let mut fallen_together = 0;
        for change in changes.take_while(|change| change.timestamp() < until) {
            let before = self.offset_before(&change)?.to_datetime(change.timestamp());
            let after = change.offset().to_datetime(change.timestamp()).checked_add(SECOND).ok()?;
            // What lies in the gap, and what is due at its very end, is one occurrence.
            fallen_together += calendar.count(before, after).saturating_sub(1);
        }
        Some(matches - fallen_together)
    }
}

/// Real time: each stretch without a change of the clock by itself.
impl Clock<'_> {
    /// The first occurrence at or after an instant.
    pub(crate) fn first_real(self, calendar: &Calendar, from: Timestamp) -> Option<Timestamp> {
        let mut offset = self.zone.to_offset(from);
        let mut searched_from = offset.to_datetime(from);
        let mut found = calendar.first_from(searched_from)?;
        for change in self.zone.following(from) {
            if offset.to_timestamp(found).ok()? < change.timestamp() {
                break;
            }
            offset = change.offset();
            let start = offset.to_datetime(change.timestamp());
            // Between what was searched from and what was found there is no match, so only a start outside needs
            // another search: one that the clock went back to, or jumped to over the match.
            if !(searched_from <= start && start <= found) {
                searched_from = start;
                found = calendar.first_from(start)?;
            }
        }
        offset.to_timestamp(found).ok()
    }

    /// The last occurrence before an instant.
    pub(crate) fn last_real(self, calendar: &Calendar, until: Timestamp) -> Option<Timestamp> {
        let mut offset = self.zone.to_offset(until.checked_sub(SECOND).ok()?);
        let mut searched_until = offset.to_datetime(until);
        let mut found = calendar.last_before(searched_until)?;
        for change in self.zone.preceding(until) {
            if offset.to_timestamp(found).ok()? >= change.timestamp() {
                break;
            }
            offset = self.offset_before(&change)?;
            let end = offset.to_datetime(change.timestamp());
            if !(found < end && end <= searched_until) {
                searched_until = end;
                found = calendar.last_before(end)?;
            }
        }
        offset.to_timestamp(found).ok()
    }

    /// The number of occurrences from one instant (inclusive) to another (exclusive).
    pub(crate) fn count_real(self, calendar: &Calendar, from: Timestamp, until: Timestamp) -> Option<u64> {
        let (mut start, mut offset, mut count) = (from, self.zone.to_offset(from), 0);
        for change in self.zone.following(from) {
            if change.timestamp() >= until {
                break;
            }
            count += calendar.count(offset.to_datetime(start), offset.to_datetime(change.timestamp()));
            (start, offset) = (change.timestamp(), change.offset());
        }
        Some(count + calendar.count(offset.to_datetime(start), offset.to_datetime(until)))
    }
}
