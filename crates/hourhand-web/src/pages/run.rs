//! One run: its facts, what it said, how it ended, the other attempts at its occurrence.
//!
//! A run is found in one of two places. Under way (or lost, and on no record yet) it is the newest start in the job's row; ended, it is in
//! history. They are read one after another, row first: a run that ends in between is then in both, and history stands. The
//! other way round it would be in neither. Whether it is under way is the lock in the database's own list, here as everywhere.
//!
//! What it has written so far is shown where this very process runs it (a dashboard beside the sidecar). It lies in that process's
//! memory and is asked for there, by a script, again and again: a tag tells it that nothing has been added.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use hourhand::{AuditEntry, AuditQuery, HistoryEntry, HistoryQuery, JobDetail, OpenRun};
use jiff::Timestamp;
use serde::Deserialize;

use crate::app::App;
use crate::asked::Query;
use crate::ctx::Ctx;
use crate::fail::Fail;
use crate::frame::Frame;
use crate::markup::{self, Markup};

/// Entries on either side of the run among which its other attempts are looked for.
const AROUND: u32 = 50;
/// Acts on the job among which the one that cancelled the run is looked for.
const ACTS: u32 = 200;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    job: String,
    epoch: i64,
}

/// What is read, shared by all who look at the run.
#[derive(Default)]
struct Read {
    job: Option<JobDetail>,
    open: Option<OpenRun>,
    ended: Option<HistoryEntry>,
    around: Vec<HistoryEntry>,
    acts: Vec<AuditEntry>,
}

#[derive(Template)]
#[template(path = "run.html")]
struct Page {
    frame: Frame,
    name: String,
    epoch: i64,
    state: Markup,
    is_running: bool,
    /// What it has written so far, if it runs in this process.
    live: Option<String>,
    facts: Facts,
    ended: Option<HistoryEntry>,
    took: Option<String>,
    story: String,
    attempts: Vec<HistoryEntry>,
    cancelled_by: Option<AuditEntry>,
    before: Option<i64>,
    after: Option<i64>,
}

/// What is known of a run from its start on.
#[derive(Default)]
struct Facts {
    trigger: Option<String>,
    attempt: Option<i32>,
    takeover: Option<i32>,
    scheduled_for: Option<Timestamp>,
    started_at: Option<Timestamp>,
    window: Option<hourhand::Window>,
    node: Option<String>,
}

/// `run?job=…&epoch=…`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx, Query(asked): Query<Asked>) -> Response {
    ctx.show(page(&app, &ctx, &asked).await)
}

async fn page(app: &App, ctx: &Ctx, asked: &Asked) -> Result<Page, Fail> {
    let version = app.hub().version();
    let read = read(app, asked).await?;
    let open = read.open.as_ref().filter(|open| open.epoch == asked.epoch);
    let running = read.job.as_ref().and_then(|job| job.status.running.as_ref());
    let is_running = running.is_some_and(|running| running.epoch == asked.epoch);
    let (facts, word) = match (&read.ended, open) {
        (Some(ended), _) => (of_entry(ended), ended.outcome.as_str()),
        (None, Some(open)) => (of_open(open), if is_running { "running" } else { "lost" }),
        (None, None) => {
            let text = format!("job {:?} has no run {}: it may be older than what is kept", asked.job, asked.epoch);
            return Err(Fail::NotFound(text));
        }
    };
    let live = if is_running { app.live_output().get(&asked.job, asked.epoch).await } else { None };
    let now = read.job.as_ref().map_or_else(Timestamp::now, |job| job.now);
    let place = read.around.iter().position(|entry| entry.epoch == Some(asked.epoch));
    let epochs = |entries: &[HistoryEntry]| entries.iter().filter_map(|entry| entry.epoch).collect::<Vec<_>>();
    let before = epochs(&read.around[..place.unwrap_or(0)]).last().copied();
    let after = place.and_then(|place| epochs(&read.around[place + 1..]).first().copied());
    Ok(Page {
        frame: Frame::new(ctx, "jobs", version).at(now),
        state: markup::badge(word),
        story: story(word, read.ended.as_ref(), (&facts, live.is_some())),
        attempts: attempts(&read.around, facts.scheduled_for, asked.epoch),
        cancelled_by: read.acts.iter().find(|act| cancels(act, asked.epoch)).cloned(),
        took: read.ended.as_ref().and_then(HistoryEntry::duration).map(markup::length),
        ended: read.ended.clone(),
        name: asked.job.clone(),
        epoch: asked.epoch,
        live: live.as_deref().map(shown),
        is_running,
        facts,
        before,
        after,
    })
}

/// `output?job=…&epoch=…`: what a run under way in this process has written so far, for the page's script. Nothing, and no content, where it
/// is not (any more).
pub(crate) async fn output(State(app): State<App>, Query(asked): Query<Asked>, headers: HeaderMap) -> Response {
    let Some(text) = app.live_output().get(&asked.job, asked.epoch).await else {
        return StatusCode::NO_CONTENT.into_response();
    };
    let text = shown(&text);
    let tag = format!("\"{:x}\"", digest(&text));
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    ([(CONTENT_TYPE, "text/plain; charset=utf-8"), (ETAG, tag.as_str())], text).into_response()
}

/// What a run wrote, for people.
fn shown(text: &str) -> String {
    markup::visible(&markup::without_colours(text)).into_owned()
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

async fn read(app: &App, asked: &Asked) -> Result<Arc<Read>, Fail> {
    let (operator, job, epoch) = (app.operator(), asked.job.as_str(), asked.epoch);
    let read = async {
        let query = HistoryQuery { job: Some(job.to_owned()), epoch: Some(epoch), ..HistoryQuery::default() };
        let acts = AuditQuery { job: Some(job.to_owned()), limit: Some(ACTS), ..AuditQuery::default() };
        Ok(Read {
            // In this order: a run that ends meanwhile is found in history.
            job: operator.details(Some(job)).await?.pop(),
            open: operator.open_run(job).await?,
            ended: operator.history(&query).await?.pop(),
            around: operator.neighbours(job, epoch, AROUND).await?,
            acts: operator.audit(&acts).await?,
        })
    };
    Ok(app.hub().shared(format!("run {epoch} {job}"), read).await?)
}

fn of_entry(entry: &HistoryEntry) -> Facts {
    Facts {
        trigger: entry.trigger.clone(),
        attempt: entry.attempt,
        takeover: entry.takeover,
        scheduled_for: entry.scheduled_for,
        started_at: entry.started_at,
        window: entry.window,
        node: entry.node.clone(),
    }
}

fn of_open(open: &OpenRun) -> Facts {
    Facts {
        trigger: open.trigger.clone(),
        attempt: open.attempt,
        takeover: open.takeover,
        scheduled_for: open.scheduled_for,
        started_at: open.started_at,
        window: open.window,
        node: open.node.clone(),
    }
}

/// The other tries at the same occurrence.
fn attempts(around: &[HistoryEntry], occurrence: Option<Timestamp>, epoch: i64) -> Vec<HistoryEntry> {
    let same =
        |entry: &&HistoryEntry| entry.epoch.is_some_and(|other| other != epoch) && entry.scheduled_for == occurrence;
    if occurrence.is_none() { Vec::new() } else { around.iter().filter(same).cloned().collect() }
}

fn cancels(act: &AuditEntry, epoch: i64) -> bool {
    act.action == "cancel" && act.detail["epoch"].as_i64() == Some(epoch)
}

/// How it ended, and by whose word: that of history, not a guess.
fn story(word: &str, ended: Option<&HistoryEntry>, (facts, is_live): (&Facts, bool)) -> String {
    let node = facts.node.as_deref().unwrap_or("its node");
    let Some(ended) = ended else {
        return match (word, is_live) {
            ("running", true) => "It holds the job's lock, read from the database's own list.".to_owned(),
            ("running", false) => format!(
                "It holds the job's lock, read from the database's own list. It runs on {node}: what it writes is shown here once it has \
                 ended."
            ),
            _ => "Its session is gone and no end is recorded: a node that looks into the database will put it on record as lost."
                .to_owned(),
        };
    };
    let by = ended.recorded_by.as_deref();
    let recorded = match by {
        Some("complete") => "recorded by the run itself, in its own transaction".to_owned(),
        Some(by) => format!("recorded by {by}"),
        None => "by whom it was recorded is not known".to_owned(),
    };
    match word {
        "lost" if by.is_some() && by == ended.node.as_deref() => format!(
            "Its node lost the lock and stopped it: {recorded} itself, when that had a session again. What it committed with the fence \
             stands; its window was not moved."
        ),
        "lost" => format!(
            "It ended without a word: {recorded}, which found its lock free. What it committed with the fence stands; its window was not \
             moved."
        ),
        "failed" if ended.error.as_deref().is_some_and(|error| error.starts_with("holder died")) => format!(
            "Its process died, and so had those before it: given up, so that the job can go on; {recorded}, which found its lock free."
        ),
        "cancelled" => format!("Told to stop; {recorded}."),
        "timed_out" => format!("Stopped because it took longer than it may; {recorded}."),
        "panicked" => format!("Its body panicked, which its node caught; {recorded}."),
        _ => format!("{}.", markup::sentence(&recorded)),
    }
}
