//! A web service that pulls orders every hour from a slow, rate-limited outside service, on one replica at a time.
//!
//! What to copy, in the order in which to read it:
//!
//! - [`scheduler`]: the scheduler starts inside the serving process, on or off; [`serve`] puts it beside axum.
//! - [`job`]: the body of the job, which pulls page by page.
//! - [`store`]: what it saves, each page in one short fenced transaction.
//! - [`walk`]: how to read a span of changing data by pages and miss nothing.
//! - [`client`]: one call of the outside service.
//! - [`web`]: the pages, among them "sync now" and "how is the sync?"; [`once`] is the same from cron or a shell.
//!
//! [`feed`] is the outside service itself, a process of its own with the words of [`order`] and [`terms`] on the wire.

pub mod client;
pub mod dashboard;
pub mod feed;
pub mod job;
pub mod once;
pub mod options;
pub mod order;
pub mod scheduler;
pub mod serve;
pub mod signal;
pub mod store;
pub mod telemetry;
pub mod terms;
pub mod walk;
pub mod web;
