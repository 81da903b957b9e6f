//! What a page or a form is asked with; what cannot be read is answered by a page that says why, as everything else is.

use axum::extract::{Form as AxumForm, FromRequest, FromRequestParts, Query as AxumQuery, Request};
use axum::http::request::Parts;
use axum::response::Response;
use serde::de::DeserializeOwned;

use crate::ctx::Ctx;
use crate::fail::Fail;

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
        let ctx = request.extensions().get().cloned().unwrap_or_default();
        let read = AxumForm::from_request(request, state).await;
        read.map(|form| Form(form.0)).map_err(|error| Ctx::refuse(&ctx, unread("form", &error)))
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
