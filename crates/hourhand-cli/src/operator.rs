//! The operator behind the commands that see and act from outside.

use hourhand::{Operator, OperatorBuilder};

use crate::globals::Globals;
use crate::refusal::Refusal;
use crate::runtime::block_on;

/// Connects, lets `work` ask, and ends with it.
///
/// # Errors
///
/// The database can't be had, or what `work` refuses.
pub(crate) fn with_operator<T>(
    globals: &Globals,
    work: impl AsyncFnOnce(&Operator) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let builder = builder(globals)?;
    block_on(async { work(&builder.connect().await?).await })
}

/// An operator to be, as the command line and the environment say.
///
/// # Errors
///
/// They make no sense.
pub(crate) fn builder(globals: &Globals) -> Result<OperatorBuilder, Refusal> {
    let mut builder = Operator::builder(globals.database_url()?).schema(globals.schema());
    builder = builder.exclusion(globals.exclusion());
    if let Some(namespace) = globals.namespace()? {
        builder = builder.namespace(namespace.as_str());
    }
    if let Some(url) = globals.session_url()? {
        builder = builder.session_url(url);
    }
    Ok(builder)
}
