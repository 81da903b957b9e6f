//! How to read a span of changing data page by page and miss nothing. Pure: it is told the pages.
//!
//! The feed answers `GET /orders?updated_from&updated_until&page` with what is true at that moment and remembers
//! nothing between two calls. Read as page 1, 2, 3 … of one span, rows get lost: when an order of page 1 changes, its
//! `updated_at` moves past the span, the rows behind it move up by one, and the first row of page 2 is on page 1 now,
//! which has been read already.
//!
//! So no second page is asked for. The pages are sorted by `updated_at`, and after a full page the span itself
//! begins anew where that page ended:
//!
//! ```text
//!   [from ........................ until)  page 1   reaches a
//!              [a ................ until)  page 1   reaches b      everything before b is saved
//!                        [b ...... until)  page 1   the last one
//! ```
//!
//! Rows that leave from before the span's start can't move anything in it. Rows of the instant `a` are read twice, which an
//! upsert does not mind. And the place to go on after a crash is the same as the place to go on after a page.
//!
//! That needs an instant to fit on a page. One that does not (somebody's bulk update: 5,000 orders with one
//! `updated_at`) is read as a span of its own, by page numbers, **last page first**: rows that leave move the others
//! towards the pages that are still to be read, so a row may be seen twice but not missed.
//!
//! What *appears* while we read (late orders, late changes) may be missed here, and may push one row of a crowded
//! instant out of sight. It appears after the run's window has ended, with an `updated_at` at most its lateness before
//! that; so it and all it moves lie within the lookback of the next window, which reads them again.

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use crate::order::OrderPage;

/// PostgreSQL's resolution, so the smallest step from one instant to the next.
const MICROSECOND: SignedDuration = SignedDuration::from_micros(1);

/// A call to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// The span's start.
    pub from: Timestamp,
    /// The span's end, which it does not contain.
    pub until: Timestamp,
    /// From 1.
    pub page: u32,
}

/// How far the orders of a page bring the run, once they are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// On, but not to a place to begin from again.
    Within,
    /// Every order changed before this instant is saved.
    Reached(Timestamp),
    /// To the window's end.
    Done,
}

/// An answer that is not what was asked for. Going on with it could lose orders.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the feed's answer makes no sense: {0}")]
pub struct Nonsense(String);

/// The way through one window.
#[derive(Debug, Clone)]
pub struct Walk {
    until: Timestamp,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// Everything before `from` is saved.
    Span { from: Timestamp },
    /// At an instant that fits on no page: its pages are to be counted.
    Crowd { at: Timestamp },
    /// On the way from its last page to its first.
    CrowdPage { at: Timestamp, page: u32 },
}

impl Walk {
    /// Through `[from, until)`.
    pub fn new(from: Timestamp, until: Timestamp) -> Self {
        Self { until, place: Place::Span { from } }
    }

    /// The next call, unless the window has been read.
    pub fn next(&self) -> Option<Ask> {
        let crowd = |at, page| Ask { from: at, until: at + MICROSECOND, page };
        match self.place {
            Place::Span { from } => (from < self.until).then_some(Ask { from, until: self.until, page: 1 }),
            Place::Crowd { at } => Some(crowd(at, 1)),
            Place::CrowdPage { at, page } => Some(crowd(at, page)),
        }
    }

    /// Takes the answer to [`Walk::next`]. What it returns is true once the answer's orders are saved.
    ///
    /// # Errors
    ///
    /// The answer is not what was asked for; the walk stays where it is.
    pub fn took(&mut self, answer: &OrderPage) -> Result<Progress, Nonsense> {
        let Some(ask) = self.next() else { return Ok(Progress::Done) };
        check(ask, answer)?;
        match self.place {
            Place::Span { .. } if answer.pages <= 1 => Ok(self.reach(self.until)),
            Place::Span { from } => match answer.orders.last().map(|order| floor(order.updated_at)) {
                Some(last) if last > from => Ok(self.reach(last)),
                Some(at) => Ok(self.within(Place::Crowd { at })),
                None => Err(Nonsense(format!("no orders on page 1 of {}", answer.pages))),
            },
            Place::Crowd { at } if answer.pages > 1 => Ok(self.within(Place::CrowdPage { at, page: answer.pages })),
            Place::CrowdPage { at, page } if page > 1 => Ok(self.within(Place::CrowdPage { at, page: page - 1 })),
            Place::Crowd { at } | Place::CrowdPage { at, .. } => Ok(self.reach(at + MICROSECOND)),
        }
    }

    fn within(&mut self, place: Place) -> Progress {
        self.place = place;
        Progress::Within
    }

    fn reach(&mut self, from: Timestamp) -> Progress {
        self.place = Place::Span { from };
        if from < self.until { Progress::Reached(from) } else { Progress::Done }
    }
}

/// The whole microsecond that an instant lies in: the window's next start must not lie behind a row.
fn floor(at: Timestamp) -> Timestamp {
    let below = at.subsec_nanosecond().rem_euclid(1000);
    at - SignedDuration::from_nanos(below.into())
}

/// The walk stands on what the feed says of itself: page, order and bounds. A feed that breaks its word is found out
/// here, not by an order that is missing months later.
fn check(ask: Ask, answer: &OrderPage) -> Result<(), Nonsense> {
    if answer.page != ask.page {
        return Err(Nonsense(format!("page {} was asked for, page {} came", ask.page, answer.page)));
    }
    if let Some(order) = answer.orders.iter().find(|order| order.updated_at < ask.from || ask.until <= order.updated_at)
    {
        let Ask { from, until, .. } = ask;
        return Err(Nonsense(format!("order {} of {} lies outside {from} to {until}", order.id, order.updated_at)));
    }
    if !answer.orders.is_sorted_by_key(|order| order.updated_at) {
        return Err(Nonsense("its orders are not sorted by updated_at".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
