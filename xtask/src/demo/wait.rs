//! Waiting for what has to come about.

use std::time::Duration;

/// How often is looked: soon enough to catch a run of a second in its middle.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// For what takes a moment, on a machine that is busy with other things.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// For a sync of all orders, with the rests that the feed asks for.
pub(crate) const LATER: Duration = Duration::from_secs(180);

/// What a look showed.
pub(crate) enum Look<T> {
    /// It has come about.
    So(T),
    /// Not yet; this was seen instead.
    NotYet(String),
}

impl<T> Look<T> {
    /// It has come about if there is something.
    pub(crate) fn of(found: Option<T>, otherwise: impl FnOnce() -> String) -> Self {
        found.map_or_else(|| Self::NotYet(otherwise()), Self::So)
    }
}
