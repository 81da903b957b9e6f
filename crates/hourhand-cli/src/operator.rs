//! The operator behind the commands that see and act from outside.

use hourhand::Operator;

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
    let mut builder = Operator::builder(globals.database_url()?).schema(&globals.schema);
    if let Some(namespace) = globals.namespace()? {
        builder = builder.namespace(namespace.as_str());
    }
    if let Some(url) = globals.session_url()? {
        builder = builder.session_url(url);
    }
    block_on(async { work(&builder.connect().await?).await })
}
