//! A job's own page: what it did, what it will do, and buttons.
//!
//! What it did comes from history, what it will do is computed here from the registered schedule, and what lies between (due, and not
//! run) from both: occurrences after the last one handled. That one is a column of the job's row, so it is right also where history was
//! pruned. All is read in one go and shared with whoever looks at the same job; bounded, so that a job of every second costs
//! no more than one of every day: where the pictures are cut by that, the page says so.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use hourhand::{HistoryEntry, JobDetail, NextWindow, OpenRun};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::standing::{self, Kind};
use super::words::{COUNT_MAX, capped};
use crate::app::App;
use crate::asked::Query;
use crate::chart::{Moments, Timeline, Trend};
use crate::ctx::Ctx;
use crate::fail::Fail;
use crate::frame::Frame;
use crate::markup::{self, Markup};

/// What the pictures are drawn from: no more is read, however long the history is.
const ENTRIES_MAX: u32 = 1000;
/// Rows of history on this page; the rest is a page of its own.
const ROWS: usize = 15;
const UPCOMING: usize = 10;
/// Marks on the axis, at most.
const MOMENTS_MAX: usize = 200;
const DAY: SignedDuration = SignedDuration::from_hours(24);
const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    job: String,
    /// `day` or `week`.
    span: Option<String>,
}

/// What is read, shared by all who look at the job.
struct Read {
    job: JobDetail,
    window: NextWindow,
    entries: Vec<HistoryEntry>,
    open: Option<OpenRun>,
    count: u32,
}

#[derive(Template)]
#[template(path = "job.html")]
struct Page {
    frame: Frame,
    kind: Kind,
    job: JobDetail,
    open: Option<OpenRun>,
    window: NextWindow,
    states: Vec<Markup>,
    troubles: Vec<String>,
    /// The run that failed last, if nothing has gone well since: its address, and what it said.
    failed: Option<(String, String)>,
    due_since: Option<Timestamp>,
    is_week: bool,
    timeline: Markup,
    in_span: String,
    /// The pictures may begin later than the axis.
    is_cut: bool,
    trend: Option<Trend>,
    upcoming: Vec<Timestamp>,
    policies: Vec<(String, String)>,
    rows: Vec<HistoryEntry>,
    count: String,
    has_more: bool,
}

/// `job?job=…`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx, Query(asked): Query<Asked>) -> Response {
    ctx.show(page(&app, &ctx, &asked).await)
}

async fn page(app: &App, ctx: &Ctx, asked: &Asked) -> Result<Page, Fail> {
    let version = app.hub().version();
    let read = read(app, &asked.job).await?;
    let (job, now) = (read.job.clone(), read.job.now);
    let is_week = asked.span.as_deref() == Some("week");
    let span = if is_week { WEEK } else { DAY };
    let since = now.checked_sub(span).unwrap_or(Timestamp::MIN);
    let all: Vec<&HistoryEntry> = read.entries.iter().collect();
    let in_span: Vec<&HistoryEntry> = all.iter().copied().take_while(|entry| entry.ended_at >= since).collect();
    let is_running = job.status.running.is_some();
    let open = read.open.clone().filter(|_| is_running);
    let timeline = Timeline {
        ctx,
        entries: &in_span,
        moments: moments(&job, is_running),
        running_since: open.as_ref().and_then(|open| open.started_at),
        now,
        span,
    };
    Ok(Page {
        frame: Frame::new(ctx, "jobs", version).at(now),
        kind: Kind::of(&job),
        states: standing::states(&job),
        failed: all.iter().find_map(|entry| standing::failed(ctx, &job, entry)),
        troubles: standing::troubles(&job),
        due_since: standing::due_since(&job).filter(|_| job.status.overdue),
        timeline: timeline.draw(),
        in_span: crate::chart::summary(&in_span),
        is_cut: in_span.len() == ENTRIES_MAX as usize,
        trend: Trend::of(ctx, &all),
        upcoming: upcoming(&job, UPCOMING),
        policies: policies(&job.definition),
        rows: read.entries.iter().take(ROWS).cloned().collect(),
        count: capped(read.count),
        has_more: read.entries.len() > ROWS,
        window: read.window,
        is_week,
        open,
        job,
    })
}

async fn read(app: &App, name: &str) -> Result<Arc<Read>, Fail> {
    let operator = app.operator();
    let read = async {
        let mut jobs = operator.details(Some(name)).await?;
        let Some(job) = jobs.pop() else { unreachable!("no row is an unknown job") };
        Ok(Read {
            window: operator.window(name).await?,
            entries: operator.recent(&[name], ENTRIES_MAX).await?,
            open: operator.open_run(name).await?,
            count: operator.history_count(name, COUNT_MAX + 1).await?,
            job,
        })
    };
    Ok(app.hub().shared(format!("job {name}"), read).await?)
}

/// Occurrences that have no entry in history: due and not run, or still to come.
fn moments(job: &JobDetail, is_running: bool) -> Moments {
    let Some(schedule) = &job.schedule else { return Moments::default() };
    let waiting = schedule.occurrences_after(job.handled_until).take_while(|at| *at <= job.now).take(MOMENTS_MAX);
    let waiting = if is_running || job.status.paused.is_some() { Vec::new() } else { waiting.collect() };
    Moments { waiting, upcoming: upcoming(job, MOMENTS_MAX) }
}

fn upcoming(job: &JobDetail, most: usize) -> Vec<Timestamp> {
    job.schedule.iter().flat_map(|schedule| schedule.occurrences_after(job.now).take(most)).collect()
}

/// What the definition says besides the schedule, in words. Lengths stand there in seconds.
fn policies(definition: &Value) -> Vec<(String, String)> {
    let known = definition.as_object().into_iter().flatten();
    let others = known.filter(|(name, _)| !matches!(name.as_str(), "schedule" | "time_zone"));
    others.map(|(name, value)| (name.replace('_', " "), said(value))).collect()
}

fn said(value: &Value) -> String {
    match value {
        Value::Number(number) => number.as_f64().map_or_else(
            || number.to_string(),
            |seconds| match seconds {
                0.0 => "none".to_owned(),
                seconds => markup::length(SignedDuration::try_from_secs_f64(seconds).unwrap_or_default()),
            },
        ),
        Value::Object(parts) => {
            let number = |name: &str| parts.get(name).and_then(Value::as_f64).unwrap_or(0.0);
            let mut text = format!("{} attempts, {} s apart", number("attempts"), number("backoff"));
            if number("factor") > 1.0 {
                text += &format!(", × {} each time up to {} s", number("factor"), number("backoff_max"));
            }
            text
        }
        Value::String(text) => text.replace('_', " "),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}
