//! The runtime of commands that ask the database and end.

use std::future::Future;

use crate::refusal::Refusal;

/// Carries a command out on this thread: one connection needs no more.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Refusal::failed(format!("could not start: {error}")))?.block_on(work)
}
