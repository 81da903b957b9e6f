//! Orders made up from a seed.

use std::time::Duration;

use fastrand::Rng;
use jiff::Timestamp;

use crate::order::{Order, Status};

/// Names with accents, quotes, a comma and a percent sign: what a careless query or a careless encoding trips over.
const CUSTOMERS: [(&str, &str, &str, &str, &str); 10] = [
    ("AARHU", "Århus Cykler", "Åboulevarden 7", "Århus", "Denmark"),
    ("BONAP", "L'Épicerie du Coin", "12, rue de la République", "Liège", "Belgium"),
    ("COMPA", "Companhia São João", "Av. Açaí, 300", "São Paulo", "Brazil"),
    ("DORFB", "Dorfbäckerei Müller & Söhne", "Königsstr. 4", "Köln", "Germany"),
    ("HALFP", "100 % Half_Price", "1 Sale St.", "Leeds", "UK"),
    ("HANIL", "한일 상사", "을지로 12", "서울", "Korea"),
    ("KRAKO", "Księgarnia \"Pod Łosiem\"", "ul. Świętej Anny 3", "Kraków", "Poland"),
    ("NIEUW", "'t Nieuwe Huis", "Coöperatiestraat 9", "Den Haag", "Netherlands"),
    ("OBRIE", "O'Brien's Hardware", "5 Main St., Unit 2", "Cork", "Ireland"),
    ("SEMIC", "Semi; Colon -- Ltd", "2 Back\\Slash Rd.", "Reading", "UK"),
];

/// A newly placed order.
pub(super) fn order(number: usize, at: Timestamp, rng: &mut Rng) -> Order {
    let (customer, ship_name, ship_address, ship_city, ship_country) = CUSTOMERS[rng.usize(..CUSTOMERS.len())];
    Order {
        id: format!("{number:06}"),
        customer: customer.to_owned(),
        status: Status::Placed,
        placed_at: at,
        updated_at: at,
        ship_name: ship_name.to_owned(),
        ship_address: ship_address.to_owned(),
        ship_city: ship_city.to_owned(),
        ship_country: ship_country.to_owned(),
        items: rng.i32(1..=120),
        total_cents: rng.i64(500..=500_000),
    }
}

/// The orders that a world begins with: placed within `span` before `now`, each changed at most up to `now`.
pub(super) fn backlog(count: usize, span: Duration, now: Timestamp, seed: u64) -> Vec<Order> {
    let mut rng = Rng::with_seed(seed);
    let mut ages: Vec<f64> = (0..count).map(|_| rng.f64()).collect();
    ages.sort_by(|a, b| b.total_cmp(a));
    ages.into_iter().enumerate().map(|(i, age)| aged(i + 1, now, span.mul_f64(age), &mut rng)).collect()
}

fn aged(number: usize, now: Timestamp, age: Duration, rng: &mut Rng) -> Order {
    let statuses = [Status::Placed, Status::Paid, Status::Shipped, Status::Delivered, Status::Cancelled];
    let mut order = order(number, microseconds(now - age), rng);
    order.status = statuses[rng.usize(..statuses.len())];
    if order.status != Status::Placed {
        order.updated_at = microseconds(now - age.mul_f64(rng.f64()));
    }
    order
}

/// PostgreSQL keeps microseconds: a truth that is compared with its copy row by row must not know more than that.
pub(super) fn microseconds(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_is_its_seed_and_ends_now() {
        let now = Timestamp::constant(1_800_000_000, 123_456_789);
        let span = Duration::from_secs(3600);
        let orders = backlog(200, span, now, 4);
        assert_eq!(orders, backlog(200, span, now, 4));
        assert!(orders.is_sorted_by_key(|order| order.placed_at));
        for order in &orders {
            assert!(now - span <= order.placed_at && order.placed_at <= order.updated_at && order.updated_at <= now);
            assert_eq!(order.updated_at, microseconds(order.updated_at));
        }
    }
}
