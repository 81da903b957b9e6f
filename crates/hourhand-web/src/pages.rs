//! The pages. Each reads what it shows, as far as it can shared with all who look at the same, and hands it to its template.

pub(crate) mod audit;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod job;
pub(crate) mod locks;
pub(crate) mod nodes;
pub(crate) mod overview;
pub(crate) mod run;
mod standing;
pub(crate) mod words;

use axum::http::Uri;
use axum::response::Response;

use crate::ctx::Ctx;
use crate::fail::Fail;

/// Nothing is at this address.
pub(crate) async fn nothing(ctx: Ctx, uri: Uri) -> Response {
    ctx.answer(&uri, Fail::NotFound("there is nothing at this address".to_owned()))
}
