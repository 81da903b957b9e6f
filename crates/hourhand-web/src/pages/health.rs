//! What is wrong, why it matters, and what to do about it, word for word: what `hourhand doctor` says.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use hourhand::{Finding, Severity};
use jiff::Timestamp;

use crate::app::App;
use crate::ctx::Ctx;
use crate::fail::Fail;

#[derive(Template)]
#[template(path = "health.html")]
struct Page {
    ctx: Ctx,
    here: &'static str,
    version: String,
    now: Timestamp,
    findings: Arc<Vec<Finding>>,
    errors: usize,
    warnings: usize,
}

/// `health`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx) -> Response {
    ctx.show(page(&app, &ctx).await)
}

async fn page(app: &App, ctx: &Ctx) -> Result<Page, Fail> {
    let version = app.hub().version();
    let findings = app.hub().shared("health".to_owned(), app.operator().examine()).await?;
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    Ok(Page { ctx: ctx.clone(), here: "health", version, now: Timestamp::now(), findings, errors, warnings })
}
