//! The example on real ground: the feed over HTTP, PostgreSQL as it is, the built binaries.
#![allow(clippy::unwrap_used, reason = "these are tests, outside a #[cfg(test)] that clippy could see")]

mod support;

mod a_run_of_the_past_writes_nothing;
mod bad_input_is_one_clear_error;
mod client_tells_trouble_apart;
#[cfg(feature = "sentry")]
mod error_tracker;
mod failures_are_told_apart;
mod feed_keeps_account;
mod older_never_overwrites_newer;
mod orders_are_read_from_the_copy;
mod sync_now;
mod the_copy_becomes_the_truth;
mod the_feed_is_left_its_rest;
mod the_scheduler_starts_where_it_should;
