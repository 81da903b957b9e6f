//! Rows, read by name.

use std::collections::HashMap;
use std::time::Duration;

use hourhand_core::facts::{Facts, Holder, Registered, Renamed};
use hourhand_core::key::Key;
use hourhand_core::outcome::Trigger;
use hourhand_core::protocol::{Started, Trouble};
use hourhand_core::request::{Request, Wanted};
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::definition;
use super::trouble::{trouble, unexpected};
use super::tstz::Tstz;

/// A column by name; a missing one or one of another type is trouble, not a panic.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: &str) -> Result<T, Trouble> {
    row.try_get(column).map_err(|error| trouble(&error))
}

/// An instant.
pub(crate) fn instant(row: &Row, column: &str) -> Result<Timestamp, Trouble> {
    get::<Tstz>(row, column).map(|instant| instant.0)
}

/// An instant, or none.
pub(crate) fn instant_or_none(row: &Row, column: &str) -> Result<Option<Timestamp>, Trouble> {
    Ok(get::<Option<Tstz>>(row, column)?.map(|instant| instant.0))
}

/// A count that is never negative.
fn count(row: &Row, column: &str) -> Result<u32, Trouble> {
    let number: i32 = get(row, column)?;
    u32::try_from(number).map_err(|_| unexpected(format!("{column} is {number}")))
}

/// The rows by the job they speak of.
pub(crate) fn by_name(rows: Vec<Row>) -> Result<HashMap<String, Row>, Trouble> {
    rows.into_iter().map(|row| Ok((get::<String>(&row, "name")?, row))).collect()
}

pub(crate) fn facts(row: &Row) -> Result<Facts, Trouble> {
    let holder_pid: Option<i32> = get(row, "holder_pid")?;
    let application: Option<String> = get(row, "holder_application")?;
    let trigger: Option<String> = get(row, "trigger")?;
    Ok(Facts {
        epoch: get(row, "epoch")?,
        ended_epoch: get(row, "ended_epoch")?,
        handled_until: instant(row, "handled_until")?,
        counts_from: instant_or_none(row, "counts_from")?,
        other: other(row)?.map(Box::new),
        renamed: renamed(row)?.map(Box::new),
        open_for: instant_or_none(row, "open_for")?,
        attempts: count(row, "attempts")?,
        failures: count(row, "failures")?,
        deaths: count(row, "deaths")?,
        not_before: instant_or_none(row, "not_before")?,
        paused: get(row, "paused")?,
        resumed_at: instant_or_none(row, "resumed_at")?,
        holder: holder_pid.map(|pid| Box::new(Holder { pid, application })),
        lease_left: get::<Option<f64>>(row, "lease_left")?.map(|seconds| Duration::from_secs_f64(seconds.max(0.0))),
        running: get(row, "running")?,
        mine: get::<Option<bool>>(row, "mine")?.unwrap_or(false),
        node: get(row, "node")?,
        started_at: instant_or_none(row, "started_at")?,
        scheduled_for: instant_or_none(row, "scheduled_for")?,
        trigger: trigger.as_deref().and_then(Trigger::parse),
        window_behind: get::<Option<bool>>(row, "window_behind")?.unwrap_or(false),
        last_outcome: get(row, "last_outcome")?,
        last_success_at: instant_or_none(row, "last_success_at")?,
        known_at: instant_or_none(row, "known_at")?,
        request: None,
    })
}

/// Where the job went, if it goes on under another name.
fn renamed(row: &Row) -> Result<Option<Renamed>, Trouble> {
    let Some(to) = get::<Option<String>>(row, "renamed_to")? else { return Ok(None) };
    Ok(Some(Renamed {
        to,
        handled_until: instant(row, "renamed_handled_until")?,
        open: get(row, "renamed_open")?,
        paused: get(row, "renamed_paused")?,
        idle_since: instant_or_none(row, "renamed_idle_since")?,
    }))
}

/// Another definition, where one is registered.
fn other(row: &Row) -> Result<Option<Registered>, Trouble> {
    let Some(body) = get::<Option<&str>>(row, "other")? else { return Ok(None) };
    Ok(Some(definition::read(get(row, "name")?, Key(get(row, "key")?), get(row, "fingerprint")?, body)))
}

/// The facts of a look: with what somebody asks for.
pub(crate) fn looked(row: &Row) -> Result<Facts, Trouble> {
    Ok(Facts { request: request(row)?, ..facts(row)? })
}

fn request(row: &Row) -> Result<Option<Request>, Trouble> {
    let Some(id) = get::<Option<i64>>(row, "request")? else { return Ok(None) };
    let wanted = if get(row, "backfill")? {
        Wanted::Backfill { after: instant(row, "backfill_after")?, until: instant(row, "backfill_until")? }
    } else {
        Wanted::Run
    };
    Ok(Some(Request { id, wanted }))
}

pub(crate) fn started(row: &Row) -> Result<Option<Started>, Trouble> {
    let Some(epoch) = get::<Option<i64>>(row, "epoch")? else { return Ok(None) };
    Ok(Some(Started {
        epoch,
        attempt: count(row, "attempt")?,
        takeover: count(row, "takeover")?,
        window_from: instant(row, "window_from")?,
        window_until: instant(row, "window_until")?,
        started_at: instant(row, "started_at")?,
    }))
}
