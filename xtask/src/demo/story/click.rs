//! "Sync now", clicked twice.

use super::{Tale, await_run, told};
use crate::demo::http;
use crate::demo::stage::{EVERY, Stage};
use crate::demo::wait::{Look, SOON};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// With nothing due for so long, the clicks most likely meet nobody but each other.
const QUIET: Duration = Duration::from_secs(1);

type Answer = (u16, Value);

pub(super) fn on_two_nodes(stage: &mut Stage, _tale: &mut Tale) -> Result<String> {
    let up = stage.up();
    let pages = [stage.page(up[0], "/sync")?, stage.page(up[1], "/sync")?];
    double_click(stage, &pages)
}

pub(super) fn on_one_node(stage: &mut Stage, _tale: &mut Tale) -> Result<String> {
    let up = stage.up();
    let page = stage.page(up[0], "/sync")?;
    double_click(stage, &[page.clone(), page])
}

/// One of the two starts a run and the other is told of it: anything else is tried again, as a scheduled run may have come
/// between, and fails in the end.
fn double_click(stage: &mut Stage, pages: &[String; 2]) -> Result<String> {
    let before = stage.book.epoch()?;
    let (started, refused) = stage.until("one answer 202 and one 409", SOON, |stage| {
        if !is_quiet(stage)? {
            return Ok(Look::NotYet("a scheduled run is under way, or nearly so".to_owned()));
        }
        let [one, other] = click_both(pages)?;
        let seen = format!("answers {} {} and {} {}", one.0, one.1, other.0, other.1);
        let clean = match (one.0, other.0) {
            (202, 409) => Some((one.1, other.1)),
            (409, 202) => Some((other.1, one.1)),
            _ => None,
        };
        Ok(Look::of(clean, || seen))
    })?;
    ensure!(refused["since"].is_string(), "the 409 does not say since when: {refused}");
    for field in ["node", "epoch"] {
        ensure!(started[field] == refused[field], "the 409 means another run than the 202: {refused}, {started}");
    }
    let epoch = started["epoch"].as_i64().context("the 202 names no epoch")?;
    let run = await_run(stage, "the end of the manual run", before, |run| run.epoch == epoch)?;
    ensure!(run.trigger == "manual" && run.succeeded(), "not a manual run that succeeded: {}", told(&run));
    let since = refused["since"].as_str().unwrap_or_default();
    Ok(format!("202, and 409 (on {} since {since}); a {}", run.node, told(&run)))
}

/// Whether nobody runs, and nothing comes due for a while. Occurrences lie on multiples of their distance.
fn is_quiet(stage: &mut Stage) -> Result<bool> {
    let job = stage.book.job()?.context("the job is gone")?;
    let passed = job.now.duration_since(SystemTime::UNIX_EPOCH)?.as_millis() % EVERY.as_millis();
    Ok(!job.running && EVERY.as_millis() - passed > QUIET.as_millis())
}

fn click_both(pages: &[String; 2]) -> Result<[Answer; 2]> {
    let click = |page: &str| http::post(page, &json!(null));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| click(&pages[1]));
        let one = click(&pages[0])?;
        let other = other.join().ok().context("a click panicked")??;
        Ok([one, other])
    })
}
