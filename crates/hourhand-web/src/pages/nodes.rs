//! The processes that are connected now.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use hourhand::ConnectedNode;

use crate::app::App;
use crate::ctx::Ctx;
use crate::fail::Fail;
use crate::frame::Frame;

#[derive(Template)]
#[template(path = "nodes.html")]
struct Page {
    frame: Frame,
    nodes: Arc<Vec<ConnectedNode>>,
}

/// `nodes`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx) -> Response {
    ctx.show(page(&app, &ctx).await)
}

async fn page(app: &App, ctx: &Ctx) -> Result<Page, Fail> {
    let version = app.hub().version();
    let nodes = app.hub().shared("nodes".to_owned(), app.operator().nodes()).await?;
    Ok(Page { frame: Frame::new(ctx, "nodes", version), nodes })
}
