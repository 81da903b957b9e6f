//! `cargo xtask demo --once`: the whole story, told in steps.
//!
//! Nothing is made up by writing into the database: occurrences are missed because no process was there, a run is lost
//! because its process was killed. Each step waits for what has to come about, up to a deadline, and fails if something
//! else does.

mod click;
mod deaths;
mod deploy;
mod downtime;
mod feed;

use super::book::Run;
use super::stage::Stage;
use super::verdict::Report;
use super::wait::{Look, SOON};
use anyhow::{Context, Result, bail};
use std::time::{Duration, Instant, SystemTime};

/// What a step is called, and what it does; it answers with what came about.
type Step = (&'static str, fn(&mut Stage, &mut Tale) -> Result<String>);

const STORY: [Step; 9] = [
    (
        "a process registers the job and goes again; occurrences come due, and nobody is there",
        downtime::nobody_is_there,
    ),
    ("two nodes start, and catch up after the start delay", downtime::two_nodes_catch_up),
    ("a double click on \"sync now\", which reaches two nodes", click::on_two_nodes),
    ("a double click that reaches one node", click::on_one_node),
    ("a rolling deploy across an occurrence: two new nodes up, two old ones down", deploy::rolling),
    ("kill -9 of the holder in mid-run, and take-over", deaths::kill_the_holder),
    ("all nodes down across occurrences, and one catch-up", downtime::everybody_is_gone),
    ("an outage of the feed, and recovery", feed::outage),
    ("the feed stands still, and a last sync covers everything", feed::last_sync),
];

/// What the steps have seen, for those after them and for the end.
#[derive(Default)]
pub(super) struct Tale {
    /// Since when nobody is there.
    down_since: Option<SystemTime>,
    /// The runs whose process was killed, and when.
    pub(super) killed: Vec<(i64, SystemTime)>,
    pub(super) catch_ups: Vec<i64>,
    /// From the kill of a holder to the start of the next run of the same occurrence.
    pub(super) takeover: Option<Duration>,
    /// Every order of the feed, once it stands still.
    pub(super) truth: String,
}

/// Plays it to its end, and says what it came to.
pub(super) fn play(stage: &mut Stage) -> Result<Report> {
    let begun = Instant::now();
    let mut tale = Tale::default();
    for (number, (name, step)) in STORY.iter().enumerate() {
        eprintln!("[{:5.1} s] {}. {name}", begun.elapsed().as_secs_f32(), number + 1);
        let came_about = step(stage, &mut tale).with_context(|| format!("step {}, {name}", number + 1))?;
        eprintln!("             {came_about}");
    }
    let report = Report::draw_up(stage, &tale)?;
    eprintln!("[{:5.1} s] the end", begun.elapsed().as_secs_f32());
    Ok(report)
}

/// Waits for the first ended run after that epoch of which it is so.
fn await_run(stage: &mut Stage, what: &str, after: i64, is_it: impl Fn(&Run) -> bool) -> Result<Run> {
    await_run_within(stage, (what, SOON), after, is_it)
}

fn await_run_within(
    stage: &mut Stage,
    (what, within): (&str, Duration),
    after: i64,
    is_it: impl Fn(&Run) -> bool,
) -> Result<Run> {
    stage.until(what, within, |stage| {
        let runs = stage.book.runs_after(after)?;
        let found = runs.iter().find(|run| is_it(run)).cloned();
        Ok(Look::of(found, || runs.last().map_or("no run since".to_owned(), told)))
    })
}

/// A run, for a person.
fn told(run: &Run) -> String {
    let kind = if run.trigger == "schedule" { "scheduled" } else { run.trigger.as_str() };
    let (node, seconds, outcome) = (&run.node, run.length().as_secs_f32(), &run.outcome);
    // A success is on record with its data, its output a moment later.
    let what = [&run.output, &run.error].map(|text| text.trim()).into_iter().find(|text| !text.is_empty());
    let what = what.map(|what| format!(" ({what})")).unwrap_or_default();
    format!("{kind} run on {node}, {outcome} after {seconds:.1} s{what}")
}

/// How long the one instant lies after the other.
fn since(earlier: SystemTime, later: SystemTime) -> Result<Duration> {
    match later.duration_since(earlier) {
        Ok(length) => Ok(length),
        Err(back) => bail!("what came after lies {:?} before", back.duration()),
    }
}
