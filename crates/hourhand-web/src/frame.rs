//! What stands round every page.

use jiff::Timestamp;

use crate::ctx::Ctx;

/// Of a page.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) ctx: Ctx,
    /// The place in the navigation.
    pub(crate) here: &'static str,
    /// What its parts were read at, to be told what has changed since.
    pub(crate) version: String,
    /// What its clocks begin with.
    pub(crate) now: Timestamp,
}

impl Frame {
    /// By this machine's clock.
    pub(crate) fn new(ctx: &Ctx, here: &'static str, version: String) -> Frame {
        Frame { ctx: ctx.clone(), here, version, now: Timestamp::now() }
    }

    /// By the server's clock, where that has been read.
    pub(crate) fn at(self, now: Timestamp) -> Frame {
        Frame { now, ..self }
    }
}
