//! A rolling deploy.

use super::{Tale, await_run, told};
use crate::demo::stage::Stage;
use crate::demo::wait::{Look, SOON};
use anyhow::{Context, Result};

/// Two new nodes come up beside the old ones; while an old one runs an occurrence that came due meanwhile, the old ones are
/// told to end. A new one goes on.
pub(super) fn rolling(stage: &mut Stage, _tale: &mut Tale) -> Result<String> {
    let old = stage.up();
    let old_names: Vec<String> = old.iter().map(|node| stage.nodes[*node].name.clone()).collect();
    let begun = stage.book.now()?;
    let before = stage.book.epoch()?;
    stage.start_nodes(2)?;
    let (epoch, occurrence) = stage.until("an old node to run what came due during the deploy", SOON, |stage| {
        let job = stage.book.job()?.context("the job is gone")?;
        let meanwhile = job.occurrence.filter(|occurrence| job.running && *occurrence > begun);
        let found = meanwhile.filter(|_| job.node.as_ref().is_some_and(|node| old_names.contains(node)));
        Ok(Look::of(found.map(|occurrence| (job.epoch, occurrence)), || format!("{job:?}")))
    })?;
    stage.stop_nodes(&old)?;
    let on_new = await_run(stage, "a run on a new node", before, |run| {
        run.occurrence >= Some(occurrence) && run.succeeded() && !old_names.contains(&run.node)
    })?;
    let cut = await_run(stage, "the end of the old node's run", before, |run| run.epoch == epoch)?;
    Ok(format!("the old ones were told to end during a {}; then a {}", told(&cut), told(&on_new)))
}
