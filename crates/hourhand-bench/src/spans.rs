//! How long is watched.

use clap::ValueEnum;
use serde::Serialize;

/// Longer spans have more firings, and more patience with what takes long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spans {
    /// To see that it works.
    Quick,
    /// Everybody within half an hour.
    Short,
    /// Everything.
    #[default]
    Full,
}

impl Spans {
    /// What belongs to these spans.
    pub(crate) fn pick<T>(self, quick: T, short: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Short => short,
            Self::Full => full,
        }
    }
}
