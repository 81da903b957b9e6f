//! The dashboard in-process against a real PostgreSQL, and in a real browser.
#![allow(clippy::unwrap_used, reason = "a test has nothing better to do with an error")]
#![allow(unreachable_pub, reason = "one test binary: everything in it is for itself")]

mod access;
mod actions;
mod api_as_described;
mod api_errors;
mod big_history;
mod browser;
mod chromium;
mod doors;
mod hostile_names;
mod jobs_without_occurrences;
mod live;
mod live_output;
mod pages;
mod pictures;
mod prefixes;
mod site;
mod standalone;
mod who_recorded_it;
