use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

use super::*;
use crate::order::{Order, Status};

const UNTIL: Timestamp = Timestamp::constant(1_800_000_000, 0);

/// The lookback's seconds, and so the lateness's bound.
const LATE_MAX: i64 = 300;

fn at(seconds_before: i64) -> Timestamp {
    UNTIL - SignedDuration::from_secs(seconds_before)
}

fn order(id: u32, updated_at: Timestamp) -> Order {
    Order {
        id: format!("{id:05}"),
        customer: "C".into(),
        status: Status::Placed,
        placed_at: updated_at,
        updated_at,
        ship_name: String::new(),
        ship_address: String::new(),
        ship_city: String::new(),
        ship_country: String::new(),
        items: 1,
        total_cents: 1,
    }
}

/// A feed as forgetful as the real one.
struct Feed {
    orders: BTreeMap<String, Order>,
    page_size: usize,
}

impl Feed {
    fn new(page_size: usize, orders: impl IntoIterator<Item = Order>) -> Self {
        Self { page_size, orders: orders.into_iter().map(|order| (order.id.clone(), order)).collect() }
    }

    fn answer(&self, ask: Ask) -> OrderPage {
        let mut rows: Vec<&Order> =
            self.orders.values().filter(|o| ask.from <= o.updated_at && o.updated_at < ask.until).collect();
        rows.sort_by_key(|order| (order.updated_at, &order.id));
        let pages = rows.len().div_ceil(self.page_size).max(1) as u32;
        let skip = (ask.page as usize - 1) * self.page_size;
        OrderPage { page: ask.page, pages, orders: rows.into_iter().skip(skip).take(self.page_size).cloned().collect() }
    }

    /// An order changes: it leaves the window by its end.
    fn touch(&mut self, id: &str, second: i64) {
        self.orders.get_mut(id).unwrap().updated_at = at(-1 - second);
    }
}

/// Walks to the end; `between` happens between any two calls. Answers the ids seen, and the calls.
fn walk(feed: &mut Feed, mut between: impl FnMut(&mut Feed, u32)) -> (BTreeSet<String>, u32) {
    let (mut walk, mut seen, mut calls) = (Walk::new(at(3600), UNTIL), BTreeSet::new(), 0);
    let mut reached = at(3600);
    while let Some(ask) = walk.next() {
        let answer = feed.answer(ask);
        let progress = walk.took(&answer).unwrap();
        seen.extend(answer.orders.iter().map(|order| order.id.clone()));
        if let Progress::Reached(at) = progress {
            assert!(reached < at && at < UNTIL, "{at} after {reached}");
            reached = at;
            assert_all_before(feed, at, &seen);
        }
        assert_eq!(progress == Progress::Done, walk.next().is_none());
        calls += 1;
        assert!(calls < 1000, "no end in sight");
        between(feed, calls);
    }
    (seen, calls)
}

/// A checkpoint must not lie: whatever changed before it, and has not changed since, has been seen. What comes late may
/// be missing, as long as it lies within the lookback.
fn assert_all_before(feed: &Feed, reached: Timestamp, seen: &BTreeSet<String>) {
    let reached = reached.min(at(LATE_MAX));
    for order in feed.orders.values().filter(|order| at(3600) <= order.updated_at && order.updated_at < reached) {
        assert!(seen.contains(&order.id), "{} of {} lies before the checkpoint {reached}", order.id, order.updated_at);
    }
}

#[test]
fn a_window_without_a_span_asks_for_nothing() {
    assert_eq!(Walk::new(UNTIL, UNTIL).next(), None);
}

#[test]
fn one_page_is_one_call() {
    let mut feed = Feed::new(10, (0..10).map(|i| order(i, at(100 - i64::from(i)))));
    let (seen, calls) = walk(&mut feed, |_, _| {});
    assert_eq!((seen.len(), calls), (10, 1));
}

#[test]
fn rows_that_leave_between_two_pages_make_no_other_row_disappear() {
    let mut feed = Feed::new(10, (0..100).map(|i| order(i, at(1000 - i64::from(i)))));
    let (seen, _) = walk(&mut feed, |feed, call| feed.touch(&format!("{:05}", call - 1), 0));
    let left: BTreeSet<String> = feed.orders.values().filter(|o| o.updated_at < UNTIL).map(|o| o.id.clone()).collect();
    assert!(left.is_subset(&seen), "missed: {:?}", left.difference(&seen).collect::<Vec<_>>());
}

#[test]
fn an_instant_that_fits_on_no_page_is_read_whole_while_its_rows_leave() {
    let crowd = (0..55).map(|i| order(i, at(500)));
    let others = (55..70).map(|i| order(i, at(900 - i64::from(i))));
    let mut feed = Feed::new(10, crowd.chain(others));
    let (seen, _) = walk(&mut feed, |feed, call| feed.touch(&format!("{:05}", call * 3), 0));
    for order in feed.orders.values().filter(|order| order.updated_at < UNTIL) {
        assert!(seen.contains(&order.id), "missed {}", order.id);
    }
}

#[test]
fn a_crowd_at_the_very_end_of_the_window_ends_the_walk() {
    let last = UNTIL - MICROSECOND;
    let mut feed = Feed::new(5, (0..23).map(|i| order(i, last)));
    let (seen, _) = walk(&mut feed, |_, _| {});
    assert_eq!(seen.len(), 23);
}

#[test]
fn whatever_changes_and_appears_what_is_missed_lies_within_the_lookback() {
    for seed in 0..2000 {
        let mut rng = Rng::with_seed(seed);
        let instants = rng.i64(1..60);
        let count = rng.u32(1..200);
        let mut feed = Feed::new(rng.usize(1..20), (0..count).map(|i| order(i, at(60 * rng.i64(0..instants) + 1))));
        let (mut next, mut second) = (count, 0);
        let (seen, _) = walk(&mut feed, |feed, _| {
            second += 1;
            for _ in 0..rng.u32(..6) {
                feed.touch(&format!("{:05}", rng.u32(..count)), second);
            }
            // Late ones, new or changed: seen only now, so changed at most LATE_MAX before now.
            if rng.bool() {
                let changed_at = at(rng.i64(-second..LATE_MAX - second));
                let id = if rng.bool() { rng.u32(..count) } else { next };
                next += 1;
                let late = order(id, changed_at);
                let newer = feed.orders.get(&late.id).is_none_or(|before| before.updated_at < late.updated_at);
                if newer {
                    feed.orders.insert(late.id.clone(), late);
                }
            }
        });
        for order in feed.orders.values().filter(|order| order.updated_at < at(LATE_MAX)) {
            assert!(seen.contains(&order.id), "seed {seed}: missed {} of {}", order.id, order.updated_at);
        }
    }
}

#[test]
fn an_answer_that_breaks_the_feeds_word_is_refused() {
    let ask_page = |page, pages, orders| OrderPage { page, pages, orders };
    for (answer, expected) in [
        (ask_page(2, 2, vec![]), "page 1 was asked for, page 2 came"),
        (ask_page(1, 2, vec![]), "no orders on page 1 of 2"),
        (ask_page(1, 1, vec![order(1, UNTIL)]), "lies outside"),
        (ask_page(1, 1, vec![order(1, at(3601))]), "lies outside"),
        (ask_page(1, 1, vec![order(1, at(5)), order(2, at(6))]), "not sorted"),
    ] {
        let mut walk = Walk::new(at(3600), UNTIL);
        let error = walk.took(&answer).unwrap_err().to_string();
        assert!(error.starts_with("the feed's answer makes no sense: ") && error.contains(expected), "{error}");
        assert_eq!(walk.next(), Some(Ask { from: at(3600), until: UNTIL, page: 1 }));
    }
}

#[test]
fn a_feed_with_nanoseconds_is_walked_in_whole_microseconds() {
    let odd = |i: u32| order(i, at(100) + SignedDuration::from_nanos(i64::from(i) * 300));
    let mut feed = Feed::new(2, (0..20).map(odd));
    let (seen, _) = walk(&mut feed, |_, _| {});
    assert_eq!(seen.len(), 20);
}
