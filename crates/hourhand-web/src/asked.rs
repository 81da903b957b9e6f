//! What a page or a form is asked with; what cannot be read is answered by a page that says why, as everything else is.

use axum::body::{Body, to_bytes};
use axum::extract::{Form as AxumForm, FromRequest, FromRequestParts, Query as AxumQuery, Request};
use axum::http::request::Parts;
use axum::response::Response;
use serde::de::DeserializeOwned;

use crate::ctx::Ctx;
use crate::fail::Fail;

/// No form of ours is longer.
const FORM_BYTES_MAX: usize = 64 * 1024;

/// The query of a page.
pub(crate) struct Query<T>(pub(crate) T);

/// What a form says.
pub(crate) struct Form<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query<T>, Response> {
        let unreadable = |error: &dyn std::error::Error| Ctx::of(parts).refuse(unread("address", error));
        AxumQuery::try_from_uri(&parts.uri).map(|query| Query(query.0)).map_err(|error| unreadable(&error))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Form<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Form<T>, Response> {
        let (parts, body) = request.into_parts();
        let ctx = Ctx::of(&parts);
        let bytes = to_bytes(body, FORM_BYTES_MAX).await.map_err(|error| ctx.refuse(unread("form", &error)))?;
        if bytes.contains(&0) || bytes.windows(3).any(|three| three == b"%00") {
            return Err(ctx.refuse(Fail::nul()));
        }
        let read = AxumForm::from_request(Request::from_parts(parts, Body::from(bytes)), state).await;
        read.map(|form| Form(form.0)).map_err(|error| ctx.refuse(unread("form", &error)))
    }
}

/// In the words of whoever could not read it: the innermost say what is missing.
fn unread(what: &str, error: &dyn std::error::Error) -> Fail {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    Fail::Asked(format!("this {what} cannot be read: {innermost}"))
}
