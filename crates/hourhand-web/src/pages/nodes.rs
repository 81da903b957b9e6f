//! The processes that are connected now.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use hourhand::ConnectedNode;
use jiff::Timestamp;

use crate::app::App;
use crate::ctx::Ctx;
use crate::fail::Fail;

#[derive(Template)]
#[template(path = "nodes.html")]
struct Page {
    ctx: Ctx,
    here: &'static str,
    version: String,
    now: Timestamp,
    nodes: Arc<Vec<ConnectedNode>>,
}

/// `nodes`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx) -> Response {
    ctx.show(page(&app, &ctx).await)
}

async fn page(app: &App, ctx: &Ctx) -> Result<Page, Fail> {
    let version = app.hub().version();
    let nodes = app.hub().shared("nodes".to_owned(), app.operator().nodes()).await?;
    Ok(Page { ctx: ctx.clone(), here: "nodes", version, now: Timestamp::now(), nodes })
}
