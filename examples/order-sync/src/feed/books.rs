//! Everything the feed knows and counts, behind one lock that is never held across an await.

use std::time::{Duration, Instant};

use fastrand::Rng;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::limit::Limit;
use super::options::Options;
use super::world::World;
use crate::order::{Order, OrderPage};

/// The feed's state.
#[derive(Debug)]
pub struct Books {
    world: World,
    limit: Limit,
    rng: Rng,
    page_size: usize,
    answer: (Duration, Duration),
    outage_until: Option<Instant>,
    errors_until: Option<Instant>,
    stats: Stats,
}

/// `GET /stats`: what a caller can be held to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Calls of `GET /orders` that arrived, whatever became of them.
    pub calls: u64,
    /// Calls answered with a page.
    pub answers: u64,
    /// Calls answered 429 because they came too soon.
    pub rate_violations: u64,
    /// Calls cut off by an outage or answered 500, on demand.
    pub failures: u64,
    /// Calls whose client went before the answer.
    pub left: u64,
    /// Calls under way now: begun, not answered, the client not gone.
    pub under_way: u64,
    /// The most that were under way at the same time.
    pub under_way_max: u64,
    /// Orders in sight.
    pub orders: u64,
    /// Orders whose newest change is held back.
    pub held_back: u64,
    /// Changes since the beginning.
    pub changes: u64,
    /// Changes that came late.
    pub late: u64,
    /// Whether change has been ended.
    pub frozen: bool,
}

/// `POST /control`: what is to happen; what is left out stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// From now on, for so long, calls are cut off without an answer. 0 ends it.
    pub outage_for_seconds: Option<f64>,
    /// From now on, for so long, calls are answered 500. 0 ends it.
    pub errors_for_seconds: Option<f64>,
    /// End all change, for good; what is held back shows.
    #[serde(default)]
    pub freeze: bool,
}

/// What becomes of a call that has arrived.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The service is out: no answer at all.
    Cut,
    /// 429: so much too soon.
    TooSoon(Duration),
    /// 500.
    Broken,
    /// A page, once so much time has passed.
    Admitted(Duration),
}

impl Books {
    /// Opens the books.
    pub fn new(world: World, options: &Options) -> Self {
        Self {
            world,
            limit: Limit::new(options.terms.clone()),
            rng: Rng::with_seed(options.seed),
            page_size: options.page_size as usize,
            answer: (options.answer_min, options.answer_max.max(options.answer_min)),
            outage_until: None,
            errors_until: None,
            stats: Stats::default(),
        }
    }

    /// A call arrives. It is under way until [`Books::ended`].
    pub fn arrive(&mut self, now: Instant) -> Arrival {
        self.stats.calls += 1;
        self.stats.under_way += 1;
        self.stats.under_way_max = self.stats.under_way_max.max(self.stats.under_way);
        if self.outage_until.is_some_and(|until| now < until) {
            self.stats.failures += 1;
            return Arrival::Cut;
        }
        if let Err(left) = self.limit.arrive(now) {
            return Arrival::TooSoon(left);
        }
        if self.errors_until.is_some_and(|until| now < until) {
            self.stats.failures += 1;
            return Arrival::Broken;
        }
        let (min, max) = self.answer;
        Arrival::Admitted(min + (max - min).mul_f64(self.rng.f64()))
    }

    /// A call is over: answered, or its client gone.
    pub fn ended(&mut self, answered: bool) {
        self.stats.under_way -= 1;
        self.stats.left += u64::from(!answered);
    }

    /// One page of `[from, until)`, as things are at this moment.
    ///
    /// Nothing is kept between two calls: whatever changes meanwhile moves rows from page to page, as with most
    /// services of this kind. The caller has to live with it (see [`crate::walk`]).
    pub fn page(&mut self, (from, until): (Timestamp, Timestamp), page: u32, now: (Timestamp, Instant)) -> OrderPage {
        self.world.advance(now.0);
        let rows = self.world.window(from, until);
        let pages = rows.len().div_ceil(self.page_size).max(1);
        let skipped = (page as usize).saturating_sub(1).saturating_mul(self.page_size);
        let orders: Vec<Order> = rows.into_iter().skip(skipped).take(self.page_size).cloned().collect();
        self.stats.answers += 1;
        self.limit.answered(now.1, orders.len());
        OrderPage { page, pages: u32::try_from(pages).unwrap_or(u32::MAX), orders }
    }

    /// Every order in sight, by id.
    pub fn truth(&mut self, now: Timestamp) -> Vec<Order> {
        self.world.advance(now);
        self.world.visible().cloned().collect()
    }

    /// The counts.
    pub fn stats(&mut self, now: Timestamp) -> Stats {
        self.world.advance(now);
        let (changes, late) = self.world.changes();
        Stats {
            rate_violations: self.limit.violations(),
            orders: self.world.visible().len() as u64,
            held_back: self.world.held_back() as u64,
            changes,
            late,
            frozen: self.world.is_frozen(),
            ..self.stats.clone()
        }
    }

    /// Does as told; a length that makes no sense changes nothing.
    ///
    /// # Errors
    ///
    /// Says which length it is.
    pub fn control(&mut self, control: &Control, now: (Timestamp, Instant)) -> Result<(), String> {
        let outage = control.outage_for_seconds.map(|s| until("outage_for_seconds", s, now.1)).transpose()?;
        let errors = control.errors_for_seconds.map(|s| until("errors_for_seconds", s, now.1)).transpose()?;
        self.outage_until = outage.or(self.outage_until);
        self.errors_until = errors.or(self.errors_until);
        if control.freeze {
            self.world.freeze(now.0);
        }
        Ok(())
    }
}

fn until(name: &str, seconds: f64, now: Instant) -> Result<Instant, String> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|length| now.checked_add(length))
        .ok_or_else(|| format!("{name} is a number of seconds from 0, not {seconds}"))
}
