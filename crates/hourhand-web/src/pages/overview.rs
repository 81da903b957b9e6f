//! The overview: every job at a glance, what needs attention first.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use hourhand::{HistoryEntry, JobDetail};
use jiff::Timestamp;
use serde::Deserialize;

use super::standing::{self, Kind};
use crate::app::App;
use crate::asked::Query;
use crate::chart;
use crate::ctx::Ctx;
use crate::fail::Fail;
use crate::frame::Frame;
use crate::markup::{self, Markup};

/// So many jobs on a page: what is read and drawn for a page is bounded, however many there are.
const JOBS_MAX: usize = 50;
/// A list that nobody reads to its end helps nobody; the numbers above it lead to all.
const CONCERNS_MAX: usize = 10;
/// The newest run is looked for among so many entries: what was skipped may have been recorded after it.
const SKIPS_MAX: u32 = 5;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    /// A part of the name.
    find: Option<String>,
    /// `running`, `late`, `paused`, `failing`.
    only: Option<String>,
    /// Jobs before this one are on earlier pages.
    from: Option<usize>,
}

/// A row of the table.
struct Row {
    job: JobDetail,
    kind: Kind,
    words: String,
    states: Vec<Markup>,
    outcome: Option<String>,
    strip: Markup,
}

/// A job that has to be looked at.
struct Concern {
    name: String,
    states: Vec<Markup>,
    troubles: Vec<String>,
    /// The run that failed last: its address, and what it said.
    failed: Option<(String, String)>,
    due_since: Option<Timestamp>,
}

/// A number that leads to the jobs it counts.
struct Figure {
    count: usize,
    word: &'static str,
    only: &'static str,
    class: &'static str,
}

impl Figure {
    /// Whether what it counts has to be looked at.
    fn is_concern(&self) -> bool {
        matches!(self.only, "late" | "failing" | "held")
    }
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Page {
    frame: Frame,
    total: usize,
    found: usize,
    figures: Vec<Figure>,
    concerns: Vec<Concern>,
    /// How many there are in all.
    concerned: usize,
    rows: Vec<Row>,
    find: String,
    only: String,
    next_from: Option<usize>,
}

/// `/`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx, Query(asked): Query<Asked>) -> Response {
    ctx.show(page(&app, &ctx, asked).await)
}

async fn page(app: &App, ctx: &Ctx, asked: Asked) -> Result<Page, Fail> {
    let version = app.hub().version();
    let jobs = app.hub().shared("details".to_owned(), app.operator().details(None)).await?;
    let now = jobs.first().map_or_else(Timestamp::now, |job| job.now);
    let (find, only) = (asked.find.unwrap_or_default(), asked.only.unwrap_or_default());
    let wanted: Vec<&JobDetail> = jobs.iter().filter(|job| job.status.job.contains(&find) && is(job, &only)).collect();
    let from = asked.from.unwrap_or(0).min(wanted.len());
    let shown = &wanted[from..wanted.len().min(from + JOBS_MAX)];
    let strips = newest(app, shown, chart::ENTRIES as u32).await?;
    Ok(Page {
        frame: Frame::new(ctx, "jobs", version).at(now),
        total: jobs.len(),
        found: wanted.len(),
        figures: figures(&jobs),
        concerns: if find.is_empty() && only.is_empty() { concerns(app, ctx, &jobs).await? } else { Vec::new() },
        concerned: jobs.iter().filter(|job| standing::needs_attention(job)).count(),
        rows: rows(ctx, shown, &strips),
        next_from: (from + shown.len() < wanted.len()).then_some(from + shown.len()),
        find,
        only,
    })
}

/// The newest entries of some jobs, by one statement; by none, of none.
async fn newest(app: &App, jobs: &[&JobDetail], of_each: u32) -> Result<Arc<Vec<HistoryEntry>>, Fail> {
    let names: Vec<&str> = jobs.iter().map(|job| job.status.job.as_str()).collect();
    if names.is_empty() {
        return Ok(Arc::default());
    }
    let key = format!("newest {of_each} of {}", names.join("\0"));
    let read = async { app.operator().recent(&names, of_each).await };
    Ok(app.hub().shared(key, read).await?)
}

fn rows(ctx: &Ctx, shown: &[&JobDetail], entries: &[HistoryEntry]) -> Vec<Row> {
    let mut by_job: HashMap<&str, Vec<&HistoryEntry>> = HashMap::new();
    for entry in entries {
        by_job.entry(&entry.job).or_default().push(entry);
    }
    let row = |job: &&JobDetail| {
        let mine = by_job.remove(job.status.job.as_str()).unwrap_or_default();
        let strip = chart::strip(ctx, &mine, job.status.running.is_some());
        let kind = Kind::of(job);
        let outcome = standing::outcome(job).map(str::to_owned);
        Row { words: kind.words(job), kind, states: standing::states(job), outcome, strip, job: (*job).clone() }
    };
    shown.iter().map(row).collect()
}

fn is(job: &JobDetail, only: &str) -> bool {
    match only {
        "running" => job.status.running.is_some(),
        "late" => job.status.overdue || job.status.orphaned,
        "paused" => job.status.paused.is_some(),
        "failing" => standing::is_failing(job),
        "held" => standing::held(job).is_some(),
        _ => true,
    }
}

fn figures(jobs: &[JobDetail]) -> Vec<Figure> {
    let kinds = [
        ("running", "running", "busy"),
        ("overdue", "late", "late"),
        ("failing", "failing", "bad"),
        ("paused", "paused", "held"),
        ("held by strangers", "held", "late"),
    ];
    let count = |only: &str| jobs.iter().filter(|job| is(job, only)).count();
    let figures = kinds.map(|(word, only, class)| Figure { count: count(only), word, only, class });
    figures.into_iter().filter(|figure| figure.only != "held" || figure.count > 0).collect()
}

async fn concerns(app: &App, ctx: &Ctx, jobs: &[JobDetail]) -> Result<Vec<Concern>, Fail> {
    let concerned: Vec<&JobDetail> =
        jobs.iter().filter(|job| standing::needs_attention(job)).take(CONCERNS_MAX).collect();
    let failing: Vec<&JobDetail> = concerned.iter().copied().filter(|job| standing::is_failing(job)).collect();
    let newest = newest(app, &failing, SKIPS_MAX).await?;
    let concern = |job: &JobDetail| {
        let mut states = standing::states(job);
        if standing::is_failing(job) {
            states.push(markup::badge(job.status.last_outcome.as_deref().unwrap_or_default()));
        }
        let due_since = standing::due_since(job).filter(|_| job.status.overdue);
        let mine = newest.iter().filter(|entry| entry.job == job.status.job);
        let failed =
            mine.filter(|entry| entry.epoch.is_some()).take(1).find_map(|entry| standing::failed(ctx, job, entry));
        Concern { name: job.status.job.clone(), states, troubles: standing::troubles(job), failed, due_since }
    };
    Ok(concerned.into_iter().map(concern).collect())
}
