//! Who did what.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use hourhand::{AuditEntry, AuditQuery};
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
    before: Option<i64>,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct Page {
    frame: Frame,
    job: String,
    rows: Vec<AuditEntry>,
    next: Option<String>,
}

impl Page {
    /// The particulars, a word and a value each.
    fn detail(&self, act: &AuditEntry) -> String {
        let parts = act.detail.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let told = parts.map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}: {text}"),
            None => format!("{name}: {value}"),
        });
        told.collect::<Vec<_>>().join(", ")
    }
}

/// `audit`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx, Query(asked): Query<Asked>) -> Response {
    ctx.show(page(&app, &ctx, asked).await)
}

async fn page(app: &App, ctx: &Ctx, asked: Asked) -> Result<Page, Fail> {
    let version = app.hub().version();
    let job = asked.job.filter(|job| !job.is_empty());
    let query = AuditQuery { job: job.clone(), before: asked.before, limit: Some(ROWS + 1) };
    let (rows, last) = page_of(app.operator().audit(&query).await?, ROWS, |act| act.id);
    let job = job.unwrap_or_default();
    let next = last.map(|id| ctx.with("audit", &[("job", &job), ("before", &id)]));
    Ok(Page { frame: Frame::new(ctx, "audit", version), job, rows, next })
}
