//! `cargo xtask demo`: the order service on several replicas.

use crate::arguments::Arguments;
use anyhow::{Result, bail};

pub(crate) fn run(_arguments: Arguments) -> Result<()> {
    bail!("not built yet")
}
