//! What is wrong, why it matters, and what to do about it, word for word: what `hourhand doctor` says.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use hourhand::{Finding, Severity};

use crate::app::App;
use crate::ctx::Ctx;
use crate::fail::Fail;
use crate::frame::Frame;

#[derive(Template)]
#[template(path = "health.html")]
struct Page {
    frame: Frame,
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
    Ok(Page { frame: Frame::new(ctx, "health", version), findings, errors, warnings })
}
