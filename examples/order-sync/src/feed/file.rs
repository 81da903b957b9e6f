//! Orders from a CSV file: `--orders FILE.csv`, with the columns of the Northwind sample.
//!
//! All or nothing: a file with one broken row gives one error that names the line, and no order.

use std::collections::HashSet;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use thiserror::Error;

use crate::order::{Order, Status};

/// A file that can't be taken.
#[derive(Debug, Error)]
#[error("{file}{}: {problem}", .line.map(|line| format!(", line {line}")).unwrap_or_default())]
pub struct FileError {
    file: String,
    line: Option<u64>,
    problem: String,
}

/// The columns that are read; others may stand beside them, in any order.
#[derive(Deserialize)]
struct Row {
    order_id: String,
    customer_id: String,
    order_date: String,
    shipped_date: String,
    ship_name: String,
    ship_address: String,
    ship_city: String,
    ship_country: String,
    total: String,
    items: String,
}

const COLUMNS: [&str; 10] = [
    "order_id",
    "customer_id",
    "order_date",
    "shipped_date",
    "ship_name",
    "ship_address",
    "ship_city",
    "ship_country",
    "total",
    "items",
];

/// Reads the file's orders, with the dates that stand there.
///
/// An order with a `shipped_date` is shipped and was last changed then; one without was placed and no more.
///
/// # Errors
///
/// One, for the first thing wrong: no such file, no such column, or a row and its line.
pub fn read(path: &Path) -> Result<Vec<Order>, FileError> {
    let file = path.display().to_string();
    let fail = |line, problem| FileError { file: file.clone(), line, problem };
    let mut reader = ReaderBuilder::new().from_path(path).map_err(|e| fail(None, plain(&e)))?;
    let header = reader.headers().map_err(|e| fail(Some(1), plain(&e)))?.clone();
    let missing: Vec<&str> = COLUMNS.into_iter().filter(|column| !header.iter().any(|h| h == *column)).collect();
    if !missing.is_empty() {
        return Err(fail(Some(1), format!("no column {}", missing.join(", "))));
    }
    let (mut orders, mut ids) = (Vec::new(), HashSet::new());
    for record in reader.records() {
        let record = record.map_err(|e| fail(e.position().map(csv::Position::line), plain(&e)))?;
        let line = record.position().map(csv::Position::line);
        let order = order(&record, &header).map_err(|problem| fail(line, problem))?;
        if !ids.insert(order.id.clone()) {
            return Err(fail(line, format!("order_id {:?} stands there twice", order.id)));
        }
        orders.push(order);
    }
    if orders.is_empty() {
        return Err(fail(None, "no orders in it".to_owned()));
    }
    Ok(orders)
}

/// Moves all dates by one constant, so that the newest change lies at `now` and all distances stay.
pub(super) fn move_to(now: Timestamp, orders: &mut [Order]) {
    let Some(newest) = orders.iter().map(|order| order.updated_at.max(order.placed_at)).max() else { return };
    let shift: SignedDuration = now.duration_since(newest);
    for order in orders {
        order.placed_at += shift;
        order.updated_at += shift;
    }
}

fn order(record: &StringRecord, header: &StringRecord) -> Result<Order, String> {
    let row: Row = record.deserialize(Some(header)).map_err(|e| plain(&e))?;
    let placed_at = date("order_date", &row.order_date)?;
    let shipped_at = match row.shipped_date.as_str() {
        "" => None,
        text => Some(date("shipped_date", text)?),
    };
    Ok(Order {
        status: if shipped_at.is_some() { Status::Shipped } else { Status::Placed },
        placed_at,
        updated_at: shipped_at.unwrap_or(placed_at).max(placed_at),
        items: row.items.parse().map_err(|_| wrong("items", &row.items, "a whole number"))?,
        total_cents: cents(&row.total)?,
        id: filled("order_id", row.order_id)?,
        customer: filled("customer_id", row.customer_id)?,
        ship_name: row.ship_name,
        ship_address: row.ship_address,
        ship_city: row.ship_city,
        ship_country: row.ship_country,
    })
}

fn filled(column: &str, text: String) -> Result<String, String> {
    if text.trim().is_empty() { Err(format!("{column} is empty")) } else { Ok(text) }
}

fn date(column: &str, text: &str) -> Result<Timestamp, String> {
    let date: Date = text.parse().map_err(|_| wrong(column, text, "a date like 1998-05-06"))?;
    TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).map_err(|_| wrong(column, text, "a date of our time"))
}

/// Exact: `"1863.40"` is 186340, without a float on the way.
fn cents(text: &str) -> Result<i64, String> {
    let problem = || wrong("total", text, "an amount like 1863.40");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "00"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 2 {
        return Err(problem());
    }
    format!("{whole}{fraction:0<2}").parse().map_err(|_| problem())
}

fn wrong(column: &str, text: &str, right: &str) -> String {
    format!("{column} {text:?} is not {right}")
}

/// The cause without the position, which stands before it already.
fn plain(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Io(cause) => cause.to_string(),
        csv::ErrorKind::Utf8 { err, .. } => format!("not UTF-8: {err}"),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} fields, where the header has {expected_len}")
        }
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
