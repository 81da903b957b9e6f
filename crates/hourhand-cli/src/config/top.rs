//! The keys of the file itself: the database, and what holds for the whole process.

use std::net::SocketAddr;

use hourhand::{Exclusion, Operator, Schedule};
use hourhand_core::name::Namespace;
use jiff::SignedDuration;

use super::section::Section;
use super::text::Secret;

/// What holds for the whole process. `None`: the file does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Top {
    pub(crate) database_url: Option<Secret>,
    pub(crate) session_url: Option<Secret>,
    pub(crate) schema: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) exclusion: Option<Exclusion>,
    pub(crate) time_zone: Option<String>,
    pub(crate) resident: Option<bool>,
    pub(crate) ttl: Option<SignedDuration>,
    pub(crate) start_delay: Option<SignedDuration>,
    pub(crate) shutdown_grace: Option<SignedDuration>,
    pub(crate) evict_foreign_idle_after: Option<SignedDuration>,
    pub(crate) runs_max: Option<u32>,
    pub(crate) listen: Option<SocketAddr>,
}

const EXCLUSIONS: [(&str, Exclusion); 2] = [("session", Exclusion::Session), ("lease", Exclusion::Lease)];

pub(super) fn read(section: &Section<'_>) -> Top {
    Top {
        database_url: url(section, "database_url"),
        session_url: url(section, "session_url"),
        schema: schema(section),
        namespace: namespace(section),
        exclusion: section.choice("exclusion", &EXCLUSIONS),
        time_zone: time_zone(section),
        resident: section.yes("resident"),
        ttl: ttl(section),
        start_delay: section.length("start_delay"),
        shutdown_grace: section.length("shutdown_grace"),
        evict_foreign_idle_after: section.length("evict_foreign_idle_after"),
        runs_max: section.number("runs_max", 1..=u32::MAX),
        listen: listen(section),
    }
}

/// A time zone that is known.
pub(super) fn time_zone(section: &Section<'_>) -> Option<String> {
    let name = section.text("time_zone")?;
    match Schedule::hourly().in_zone(name.get_ref()).check() {
        Ok(()) => Some(name.into_inner()),
        Err(error) => {
            section.complain(name.span(), error.sentence(), error.advice().as_deref());
            None
        }
    }
}

/// A connection string that can be read; the library's complaint holds no piece of a password.
fn url(section: &Section<'_>, name: &'static str) -> Option<Secret> {
    let url = section.secret(name)?;
    match Operator::builder(url.reveal()).connect_lazily() {
        Ok(_) => Some(url),
        Err(error) => {
            let why = error.to_string();
            let why = why.strip_prefix("database: ").unwrap_or(&why);
            section.complain(section.place(name), format_args!("{name}: {why}"), None);
            None
        }
    }
}

fn schema(section: &Section<'_>) -> Option<String> {
    let name = section.text("schema")?;
    match hourhand::migration_sql(name.get_ref(), i32::MAX, None) {
        Ok(_) => Some(name.into_inner()),
        Err(error) => {
            section.complain(name.span(), error, None);
            None
        }
    }
}

fn namespace(section: &Section<'_>) -> Option<String> {
    let name = section.text("namespace")?;
    match Namespace::parse(name.get_ref()) {
        Ok(_) => Some(name.into_inner()),
        Err(error) => {
            section.complain(name.span(), format_args!("namespace: {error}"), None);
            None
        }
    }
}

fn ttl(section: &Section<'_>) -> Option<SignedDuration> {
    let ttl = section.length("ttl")?;
    let fits = ttl.subsec_nanos() == 0 && (5..=86_400).contains(&ttl.as_secs());
    if !fits {
        let what = format_args!("ttl: {ttl:#} is not a whole number of seconds from 5 s to 1 day");
        section.complain(section.value_place("ttl"), what, Some("\"15s\" unless there is a reason"));
    }
    fits.then_some(ttl)
}

fn listen(section: &Section<'_>) -> Option<SocketAddr> {
    let text = section.text("listen")?;
    let complain = |why: String| section.complain(text.span(), format_args!("listen: {why}"), Some(ADDRESSES));
    address(text.get_ref()).map_err(complain).ok()
}

const ADDRESSES: &str = "an address and a port: \"127.0.0.1:9090\", \"[::1]:9090\"";

/// An address to listen on.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric.parse().map_err(|_| format!("{text:?} is not an address and a port"))
}
