//! Every advisory lock of the database, whoever's it is.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use hourhand::AdvisoryLock;
use jiff::SignedDuration;
use serde::Deserialize;

use crate::app::App;
use crate::asked::Query;
use crate::ctx::Ctx;
use crate::fail::Fail;
use crate::frame::Frame;
use crate::markup;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    /// Guesses at names, by commas.
    names: Option<String>,
}

#[derive(Template)]
#[template(path = "locks.html")]
struct Page {
    frame: Frame,
    names: String,
    locks: Arc<Vec<AdvisoryLock>>,
}

impl Page {
    fn idle(&self, lock: &AdvisoryLock) -> String {
        let seconds = lock.idle_seconds.and_then(|seconds| SignedDuration::try_from_secs_f64(seconds).ok());
        seconds.map(markup::length).unwrap_or_default()
    }
}

/// `locks`
pub(crate) async fn show(State(app): State<App>, ctx: Ctx, Query(asked): Query<Asked>) -> Response {
    ctx.show(page(&app, &ctx, asked).await)
}

async fn page(app: &App, ctx: &Ctx, asked: Asked) -> Result<Page, Fail> {
    let version = app.hub().version();
    let names = asked.names.unwrap_or_default();
    let guesses: Vec<&str> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let locks = app.hub().shared(format!("locks {names}"), app.operator().locks(&guesses)).await?;
    Ok(Page { frame: Frame::new(ctx, "locks", version), names, locks })
}
