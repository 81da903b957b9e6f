//! History by pages: ended runs and skips, newest first, of one job or of all.
//!
//! The next page begins after the last id of this one, not at a number of rows: what is recorded meanwhile moves nothing, and the
//! thousandth page costs what the first does. One row more than is shown is read, to know whether there is a next page; nobody is
//! told how many there are, which would be a count of the whole table.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use hourhand::{HistoryEntry, HistoryQuery};
use hourhand_core::outcome::IN_HISTORY;
use serde::Deserialize;

use super::words::page_of;
use crate::app::App;
use crate::asked::Query;
use crate::ctx::Ctx;
use crate::fail::Fail;
use crate::frame::Frame;

const ROWS: u32 = 50;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    job: Option<String>,
    outcome: Option<String>,
    before: Option<i64>,
}

#[derive(Template)]
#[template(path = "history.html")]
struct Page {
    frame: Frame,
    job: String,
    outcome: String,
    outcomes: [&'static str; 7],
    is_first: bool,
    rows: Vec<HistoryEntry>,
    next: Option<String>,
}

/// `history`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx, Query(asked): Query<Asked>) -> Response {
    ctx.show(page(&app, &ctx, asked).await)
}

async fn page(app: &App, ctx: &Ctx, asked: Asked) -> Result<Page, Fail> {
    let version = app.hub().version();
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let query = HistoryQuery {
        job: filled(asked.job),
        outcome: filled(asked.outcome),
        before: asked.before,
        limit: Some(ROWS + 1),
        ..HistoryQuery::default()
    };
    let key = format!("history {query:?}");
    let entries = app.hub().shared(key, app.operator().history(&query)).await?;
    let (rows, last) = page_of(entries.to_vec(), ROWS, |entry| entry.id);
    let (job, outcome) = (query.job.unwrap_or_default(), query.outcome.unwrap_or_default());
    let next = last.map(|id| ctx.with("history", &[("job", &job), ("outcome", &outcome), ("before", &id)]));
    Ok(Page {
        frame: Frame::new(ctx, "history", version),
        is_first: query.before.is_none(),
        outcomes: IN_HISTORY,
        job,
        outcome,
        rows,
        next,
    })
}
