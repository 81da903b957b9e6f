//! The outside order service, as far as order-sync can tell: slow, rate-limited, now and then out of order.
//!
//! It stands for somebody else's machine. order-sync shares with it the words of the wire ([`crate::order`]) and
//! reaches it over HTTP only. What it tells about itself beside its orders is for tests and for the demo, and
//! lies outside the rate limit: `GET /stats` (was it ever called too soon, or twice at once?), `GET /truth` (every
//! order as it is now, to compare a copy with) and `POST /control` (make trouble; end all change).

mod books;
mod file;
mod generate;
mod http;
mod limit;
mod options;
mod world;

pub use books::{Books, Control, Stats};
pub use file::{FileError, read};
pub use http::{Truth, router, serve};
pub use limit::Limit;
pub use options::Options;
pub use world::{Change, World};
