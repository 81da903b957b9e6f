//! What is wrong, why it matters, and what to do about it.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;

use crate::ctx::Ctx;
use crate::dashboard::App;

#[derive(Template)]
#[template(path = "health.html")]
struct Page {
    ctx: Ctx,
    here: &'static str,
    version: String,
    now: Timestamp,
}

/// `health`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx) -> Response {
    let page = Page { ctx: ctx.clone(), here: "health", version: app.hub().version(), now: Timestamp::now() };
    ctx.show(Ok(page))
}
