//! A web service that pulls orders every hour from a slow, rate-limited outside service, on one replica at a time.
pub mod client;
pub mod feed;
pub mod order;
pub mod signal;
pub mod terms;
pub mod walk;
