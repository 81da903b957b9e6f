//! The truth about the orders, and how it changes with time. Told the time; the same seed tells the same story.
//!
//! Time passes in ticks of one length. At each tick an order that is not final yet moves one step on (and, where the
//! world may grow, now and then a new one is placed); its `updated_at` is the tick's instant. One change in five is
//! *late*: it is held back and shows up to `late_max` afterwards, with the `updated_at` it had from the start. That is
//! what the caller's lookback is for, which must be longer than `late_max`. An order that is held back changes no
//! further, so what is visible of one order never goes back.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use jiff::Timestamp;

use super::generate;
use crate::order::{Order, Status};

/// How the world changes.
#[derive(Debug, Clone)]
pub struct Change {
    /// Between two ticks; zero: nothing ever changes.
    pub every: Duration,
    /// The longest that a change is held back.
    pub late_max: Duration,
    /// Whether new orders are placed.
    pub grows: bool,
}

/// All orders, those in sight and those held back.
#[derive(Debug)]
pub struct World {
    change: Change,
    rng: Rng,
    next_tick: Timestamp,
    frozen: bool,
    visible: BTreeMap<String, Order>,
    held_back: Vec<HeldBack>,
    /// Orders there have ever been, and the next one's number less one.
    placed: usize,
    changes: u64,
    late: u64,
}

#[derive(Debug)]
struct HeldBack {
    until: Timestamp,
    order: Order,
}

impl World {
    /// A world that begins with these orders; those that changed just now may be late.
    pub fn new(orders: Vec<Order>, change: Change, seed: u64, now: Timestamp) -> Self {
        let mut world = Self {
            next_tick: now + change.every,
            change,
            rng: Rng::with_seed(seed),
            frozen: false,
            visible: BTreeMap::new(),
            held_back: Vec::new(),
            placed: orders.len(),
            changes: 0,
            late: 0,
        };
        for order in orders {
            let until = order.updated_at + world.lateness();
            if until > now && world.rng.bool() {
                world.hold_back(until, order);
            } else {
                world.visible.insert(order.id.clone(), order);
            }
        }
        world
    }

    /// Lets time pass up to `now`.
    pub fn advance(&mut self, now: Timestamp) {
        if self.frozen {
            return;
        }
        while self.next_tick <= now && !self.change.every.is_zero() {
            let at = self.next_tick;
            self.show(at);
            self.tick(at);
            self.next_tick = at + self.change.every;
        }
        self.show(now);
    }

    /// Ends all change: what is held back shows, and then the truth is final.
    pub fn freeze(&mut self, now: Timestamp) {
        self.advance(now);
        self.show(Timestamp::MAX);
        self.frozen = true;
    }

    /// Whether the truth is final.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// The orders whose `updated_at` lies in `[from, until)`, oldest change first, those of one instant by id.
    pub fn window(&self, from: Timestamp, until: Timestamp) -> Vec<&Order> {
        let mut orders: Vec<&Order> =
            self.visible.values().filter(|order| from <= order.updated_at && order.updated_at < until).collect();
        orders.sort_by_key(|order| (order.updated_at, &order.id));
        orders
    }

    /// Every order in sight, by id.
    pub fn visible(&self) -> impl ExactSizeIterator<Item = &Order> {
        self.visible.values()
    }

    /// How many orders are held back now.
    pub fn held_back(&self) -> usize {
        self.held_back.len()
    }

    /// Changes since the beginning, and how many of them (and of the first orders) came late.
    pub fn changes(&self) -> (u64, u64) {
        (self.changes, self.late)
    }

    fn tick(&mut self, at: Timestamp) {
        let places = self.change.grows && self.rng.u8(..4) == 0;
        let next = if places { None } else { self.step(at) };
        let order = match next {
            Some(order) => order,
            None if self.change.grows => self.place(at),
            None => return,
        };
        self.changes += 1;
        if self.rng.u8(..5) == 0 {
            let until = at + self.lateness();
            self.hold_back(until, order);
        } else {
            self.visible.insert(order.id.clone(), order);
        }
    }

    /// The next state of some order that is in sight, not final and not held back.
    fn step(&mut self, at: Timestamp) -> Option<Order> {
        let held_back = |id: &str| self.held_back.iter().any(|held| held.order.id == id);
        let open: Vec<&Order> =
            self.visible.values().filter(|order| !order.status.is_final() && !held_back(&order.id)).collect();
        let order = self.rng.choice(open)?;
        let called_off = matches!(order.status, Status::Placed | Status::Paid) && self.rng.u8(..8) == 0;
        let status = match order.status {
            _ if called_off => Status::Cancelled,
            Status::Placed => Status::Paid,
            Status::Paid => Status::Shipped,
            Status::Shipped | Status::Delivered | Status::Cancelled => Status::Delivered,
        };
        Some(Order { status, updated_at: at, ..order.clone() })
    }

    fn place(&mut self, at: Timestamp) -> Order {
        self.placed += 1;
        generate::order(self.placed, at, &mut self.rng)
    }

    fn lateness(&mut self) -> Duration {
        self.change.late_max.mul_f64(self.rng.f64())
    }

    fn hold_back(&mut self, until: Timestamp, order: Order) {
        self.late += 1;
        self.held_back.push(HeldBack { until, order });
    }

    fn show(&mut self, now: Timestamp) {
        for HeldBack { order, .. } in self.held_back.extract_if(.., |held| held.until <= now) {
            self.visible.insert(order.id.clone(), order);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const START: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn world(seed: u64, grows: bool) -> World {
        let change = Change { every: Duration::from_millis(500), late_max: Duration::from_secs(60), grows };
        let orders = generate::backlog(50, Duration::from_secs(3600), START, seed);
        World::new(orders, change, seed, START)
    }

    fn truth(world: &World) -> Vec<Order> {
        world.visible().cloned().collect()
    }

    #[test]
    fn the_same_seed_tells_the_same_story_however_often_it_is_asked() {
        let (mut once, mut often) = (world(7, true), world(7, true));
        let end = START + Duration::from_secs(300);
        once.advance(end);
        for second in 0..=300 {
            often.advance(START + Duration::from_secs(second));
        }
        assert_eq!(truth(&once), truth(&often));
        let mut other = world(8, true);
        other.advance(end);
        assert_ne!(truth(&once), truth(&other));
    }

    #[test]
    fn an_order_never_goes_back_and_is_never_later_than_the_bound() {
        let mut world = world(1, true);
        let mut seen: BTreeMap<String, Order> = world.visible().map(|o| (o.id.clone(), o.clone())).collect();
        let mut late = 0;
        for step in 1..1200 {
            let now = START + Duration::from_millis(250 * step);
            world.advance(now);
            for order in world.visible() {
                let before = seen.insert(order.id.clone(), order.clone());
                if before.as_ref() == Some(order) {
                    continue;
                }
                assert!(before.is_none_or(|before| before.updated_at < order.updated_at), "went back: {order:?}");
                let lateness = now.duration_since(order.updated_at);
                assert!(lateness.as_secs() <= 60, "{lateness} late: {order:?}");
                late += u32::from(lateness.as_secs() > 1);
            }
        }
        assert!(late > 20, "only {late} late changes were seen");
    }

    #[test]
    fn a_world_that_does_not_grow_keeps_its_number_of_orders_and_comes_to_rest() {
        let mut world = world(3, false);
        world.advance(START + Duration::from_secs(3600));
        assert_eq!(world.visible().len(), 50);
        assert!(world.visible().all(|order| order.status.is_final()));
        assert_eq!(world.held_back(), 0);
    }

    #[test]
    fn a_frozen_world_hides_nothing_and_changes_no_more() {
        let mut world = world(5, true);
        let now = START + Duration::from_secs(120);
        world.advance(now);
        assert!(world.held_back() > 0, "nothing was held back to begin with");
        world.freeze(now);
        assert_eq!(world.held_back(), 0);
        let frozen = truth(&world);
        world.advance(now + Duration::from_secs(3600));
        assert_eq!(truth(&world), frozen);
        assert!(world.is_frozen());
    }

    #[test]
    fn a_window_is_half_open_and_sorted_by_change_then_id() {
        let world = world(9, false);
        let all = world.window(Timestamp::MIN, Timestamp::MAX);
        assert!(all.is_sorted_by_key(|order| (order.updated_at, &order.id)));
        let (first, last) = (all[0].updated_at, all[all.len() - 1].updated_at);
        let window = world.window(first, last);
        assert!(window.iter().any(|order| order.updated_at == first));
        assert!(window.iter().all(|order| order.updated_at < last));
    }
}
