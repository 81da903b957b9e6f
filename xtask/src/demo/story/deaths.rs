//! `kill -9`, and take-over.

use super::{Tale, await_run, since, told};
use crate::demo::stage::{EVERY, Stage};
use crate::demo::wait::{Look, SOON};
use anyhow::{Context, Result, bail, ensure};
use std::time::SystemTime;

/// So often is a holder killed until one dies in mid-run with time enough for its own occurrence to be taken over: when the
/// next one comes due first, that is run instead.
const TRIES_MAX: u32 = 4;

/// A holder that was killed in mid-run.
struct Victim {
    epoch: i64,
    occurrence: SystemTime,
    killed_at: SystemTime,
    name: String,
}

pub(super) fn kill_the_holder(stage: &mut Stage, tale: &mut Tale) -> Result<String> {
    for _ in 0..TRIES_MAX {
        let victim = stage.until("a scheduled run to be killed in its middle", SOON, kill_one)?;
        tale.killed.push((victim.epoch, victim.killed_at));
        // As whatever looks after the processes would.
        stage.start_nodes(1)?;
        let next = await_run(stage, "the run after the lost one", victim.epoch, |_| true)?;
        let lost = await_run(stage, "the lost run on record", victim.epoch - 1, |_| true)?;
        // Its success may have been on the way to the database already. Any other end than these two is a lie.
        ensure!(lost.outcome == "lost" || lost.succeeded(), "the killed run is on record as {}", told(&lost));
        if lost.outcome == "lost" && next.occurrence == Some(victim.occurrence) {
            return taken_over(tale, &victim, &next);
        }
        // Only an end that a node itself has recorded sets the count of deaths back.
        await_run(stage, "a run to succeed again", victim.epoch, |run| run.occurrence.is_some() && run.succeeded())?;
    }
    bail!("{TRIES_MAX} holders were killed, and each time its run had ended or the next occurrence came first")
}

fn taken_over(tale: &mut Tale, victim: &Victim, next: &super::Run) -> Result<String> {
    ensure!(
        next.takeover == 1,
        "the next run of the occurrence is on record as its take-over number {}",
        next.takeover
    );
    ensure!(next.node != victim.name, "the dead {} ran again", victim.name);
    ensure!(next.succeeded(), "the take-over failed: {}", told(next));
    let after = since(victim.killed_at, next.started_at)?;
    tale.takeover = Some(after);
    Ok(format!(
        "{} killed in the middle of a call of the feed; {:.2} s later a {}",
        victim.name,
        after.as_secs_f32(),
        told(next)
    ))
}

/// Kills the holder if it is in the middle of a call of the feed, for an occurrence that leaves time enough.
///
/// It is frozen first: so the run is seen to go on still, and the instant of its end is known exactly. Frozen, it holds
/// its lock; killed, it does not.
fn kill_one(stage: &mut Stage) -> Result<Look<Victim>> {
    let job = stage.book.job()?.context("the job is gone")?;
    let seen = format!("{job:?}");
    let (true, Some(occurrence), Some(name)) = (job.running, job.occurrence, job.node) else {
        return Ok(Look::NotYet(seen));
    };
    if since(occurrence, job.now)? > EVERY / 2 || stage.feed.stats()?.under_way == 0 {
        return Ok(Look::NotYet(seen));
    }
    let node = stage.node(&name)?;
    stage.nodes[node].freeze();
    let frozen = stage.book.job()?.context("the job is gone")?;
    if !frozen.running || frozen.epoch != job.epoch {
        stage.nodes[node].thaw();
        return Ok(Look::NotYet(seen));
    }
    stage.nodes[node].kill();
    Ok(Look::So(Victim { epoch: job.epoch, occurrence, killed_at: frozen.now, name }))
}
