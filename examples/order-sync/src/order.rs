//! The order, as both services speak of it: the words of the wire, and of the local copy.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One order of the outside service.
///
/// `updated_at` moves with every change, never backwards: the newer of two tellings of an order is the one with the
/// later `updated_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The outside service's own id, unique there.
    pub id: String,
    /// The customer's code.
    pub customer: String,
    /// How far the order has come.
    pub status: Status,
    /// When it was placed.
    pub placed_at: Timestamp,
    /// When anything about it last changed, to the microsecond.
    pub updated_at: Timestamp,
    /// Who receives it.
    pub ship_name: String,
    /// Street and number.
    pub ship_address: String,
    /// Town.
    pub ship_city: String,
    /// Country.
    pub ship_country: String,
    /// Pieces ordered.
    pub items: i32,
    /// What it costs, in cents: money is not a float.
    pub total_cents: i64,
}

/// How far an order has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Ordered, not paid.
    Placed,
    /// Paid, not on its way.
    Paid,
    /// On its way.
    Shipped,
    /// Arrived; final.
    Delivered,
    /// Called off; final.
    Cancelled,
}

impl Status {
    /// The word on the wire, in the database and in an address.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Placed => "placed",
            Self::Paid => "paid",
            Self::Shipped => "shipped",
            Self::Delivered => "delivered",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing comes after it.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Delivered | Self::Cancelled)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One page of the outside service's `GET /orders`: the orders of a half-open span of `updated_at`, oldest change
/// first, those of one instant by id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderPage {
    /// This page's number, from 1.
    pub page: u32,
    /// How many pages the span has at this moment.
    pub pages: u32,
    /// The orders of this page.
    pub orders: Vec<Order>,
}
