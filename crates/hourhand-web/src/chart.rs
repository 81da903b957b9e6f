//! Pictures, as SVG drawn here: no script, no inline style; colours and strokes are the style sheet's.
//!
//! What a picture shows stands on the page as text too, in a table or in its label: colour alone tells nothing apart.

mod entry;
mod strip;
mod timeline;
mod trend;

pub(crate) use entry::summary;
pub(crate) use strip::{ENTRIES, strip};
pub(crate) use timeline::{Moments, Timeline};
pub(crate) use trend::Trend;
