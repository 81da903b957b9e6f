//! Nobody is there, and then somebody is.

use super::{Tale, await_run_within, since, told};
use crate::demo::stage::{EVERY, START_DELAY, Stage};
use crate::demo::wait::{LATER, Look, SOON};
use anyhow::{Context, Result, ensure};

/// Occurrences that are missed: in any span of that many periods, as many come due.
const MISSED_AT_FIRST: u32 = 2;
const MISSED: u32 = 3;

/// A job counts from its registration. So that occurrences can have been missed, one process was there before.
pub(super) fn nobody_is_there(stage: &mut Stage, tale: &mut Tale) -> Result<String> {
    let node = stage.start_nodes(1)?;
    stage.until("the job's registration", SOON, |stage| {
        Ok(Look::of(stage.book.job()?.map(drop), || "no job is registered".to_owned()))
    })?;
    stage.stop_nodes(&node)?;
    ensure!(stage.book.epoch()? == 0, "a run was started within the start delay of {START_DELAY:?}");
    let missed = let_pass(stage, tale, MISSED_AT_FIRST)?;
    Ok(format!("{missed} occurrences missed"))
}

pub(super) fn two_nodes_catch_up(stage: &mut Stage, tale: &mut Tale) -> Result<String> {
    catch_up(stage, tale, MISSED_AT_FIRST)
}

pub(super) fn everybody_is_gone(stage: &mut Stage, tale: &mut Tale) -> Result<String> {
    let nodes = stage.up();
    stage.stop_nodes(&nodes)?;
    let_pass(stage, tale, MISSED)?;
    catch_up(stage, tale, MISSED)
}

fn let_pass(stage: &mut Stage, tale: &mut Tale, occurrences: u32) -> Result<u32> {
    let from = stage.book.now()?;
    tale.down_since = Some(from);
    let length = EVERY * occurrences;
    stage.until("occurrences to come due", length + SOON, |stage| {
        let passed = since(from, stage.book.now()?)?;
        Ok(Look::of((passed > length).then_some(occurrences), || format!("{passed:?} of {length:?} have passed")))
    })
}

/// Two nodes start; one of them stands for all that was missed, with one run, of the newest occurrence.
fn catch_up(stage: &mut Stage, tale: &mut Tale, missed_min: u32) -> Result<String> {
    let down_since = tale.down_since.take().context("somebody was there all the time")?;
    let before = stage.book.epoch()?;
    let started = stage.book.now()?;
    stage.start_nodes(2)?;
    let what = ("one run that catches up", LATER);
    let run = await_run_within(stage, what, before, |run| run.trigger != "manual")?;

    let waited = since(started, run.started_at)?;
    ensure!(run.succeeded(), "the first run failed: {}", told(&run));
    ensure!(waited >= START_DELAY, "a run began {waited:?} after the start, and the start delay is {START_DELAY:?}");
    let occurrence = run.occurrence.context("the first run has no occurrence")?;
    let late = since(occurrence, run.started_at)?;
    // It is the newest when the node decides; on a busy machine the next one comes due before the run begins.
    ensure!(late < EVERY * 2, "the first run was for an occurrence {late:?} old, not the newest");
    ensure!(
        run.missed >= i64::from(missed_min),
        "the first run says that {} occurrences were missed, in {:?}",
        run.missed,
        since(down_since, started)?
    );
    tale.catch_ups.push(run.epoch);
    Ok(format!("{} occurrences missed; {:.1} s after the start a {}", run.missed, waited.as_secs_f32(), told(&run)))
}
