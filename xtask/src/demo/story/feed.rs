//! The feed breaks down, and in the end stands still.

use super::{Tale, await_run, since, told};
use crate::demo::stage::Stage;
use crate::demo::wait::{Look, SOON};
use anyhow::{Result, ensure};

/// Longer than the step takes; it is ended before that.
const OUTAGE_SECONDS: u32 = 3600;

/// Runs that have to fail before the feed is mended.
const FAILURES: usize = 2;

/// Runs fail, which is a warning and no error, and the first after it covers what they have not.
pub(super) fn outage(stage: &mut Stage, _tale: &mut Tale) -> Result<String> {
    let before = stage.book.epoch()?;
    let errors_before = errors(stage);
    stage.feed.break_down(OUTAGE_SECONDS)?;
    let failed = stage.until("runs that fail", SOON, |stage| {
        let runs = stage.book.runs_after(before)?;
        let failed: Vec<_> = runs.iter().filter(|run| run.outcome == "failed").cloned().collect();
        Ok(Look::of((failed.len() >= FAILURES).then_some(failed), || runs.last().map_or("no run".to_owned(), told)))
    })?;
    let other = failed.iter().find(|run| !run.error.contains("out of order")).map(told);
    ensure!(other.is_none(), "a run failed for another reason than the outage: {}", other.unwrap_or_default());
    stage.feed.break_down(0)?;
    let mended = stage.book.now()?;
    let run = await_run(stage, "a run that succeeds after the outage", before, |run| {
        run.started_at > mended && run.succeeded()
    })?;
    ensure!(errors(stage) == errors_before, "the outage, which was to be expected, is an error in the log of a node");
    let after = since(mended, run.ended_at)?.as_secs_f32();
    Ok(format!("a {}; with the feed mended, {after:.1} s later a {}", told(&failed[0]), told(&run)))
}

/// Events of level ERROR in the nodes' logs.
fn errors(stage: &Stage) -> usize {
    stage.nodes.iter().map(|node| node.log().lines().filter(|line| line.contains(" ERROR ")).count()).sum()
}

/// All change ends, and what was late shows. A run that begins later than the newest change covers them all: its window
/// reaches back further than a change can be late.
pub(super) fn last_sync(stage: &mut Stage, tale: &mut Tale) -> Result<String> {
    let before = stage.book.epoch()?;
    tale.truth = stage.feed.freeze()?;
    let newest = stage.book.newest_change(&tale.truth)?;
    let frozen = stage.book.now()?;
    let run = await_run(stage, "a run that covers the newest change", before, |run| {
        run.succeeded() && run.window_until > newest && run.started_at > frozen
    })?;
    let nodes = stage.up();
    stage.stop_nodes(&nodes)?;
    Ok(format!("a {}", told(&run)))
}
