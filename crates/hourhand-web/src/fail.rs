//! What a visitor is told when there is nothing to show: what is wrong, and what would be right.

use askama::Template;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use hourhand::Error;
use hourhand_core::plain;
use serde::Serialize;

use crate::app::PAGE_BOUND;
use crate::ctx::Ctx;
use crate::frame::Frame;
use crate::markup::visible;

/// Why there is nothing to show.
#[derive(Debug)]
pub(crate) enum Fail {
    /// No such job, run or page.
    NotFound(String),
    /// What was asked for makes no sense.
    Asked(String),
    /// It could be done, but not as things stand.
    Conflict(String),
    /// The database does not answer, or not as it should.
    Database(Error),
}

impl From<Error> for Fail {
    fn from(error: Error) -> Fail {
        if error.is_unknown_job() {
            Fail::NotFound(error.to_string())
        } else if error.is_config() {
            Fail::Asked(error.to_string())
        } else {
            Fail::Database(error)
        }
    }
}

impl Fail {
    /// A text with the one character that PostgreSQL has none for: nothing is called so, and nothing can be said so.
    pub(crate) fn nul() -> Fail {
        Fail::Asked("there is a NUL in what was asked for, which no text in PostgreSQL can have".to_owned())
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Fail::NotFound(_) => StatusCode::NOT_FOUND,
            Fail::Asked(_) => StatusCode::BAD_REQUEST,
            Fail::Conflict(_) => StatusCode::CONFLICT,
            Fail::Database(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn title(&self) -> &'static str {
        match self {
            Fail::NotFound(_) => "Not found",
            Fail::Asked(_) => "That makes no sense",
            Fail::Conflict(_) => "Not done",
            Fail::Database(error) if error.is_not_migrated() => "hourhand's tables are not there",
            Fail::Database(error) if error.is_forbidden() => "The database does not allow it",
            Fail::Database(error) if error.is_too_slow() => "The database takes too long",
            Fail::Database(_) => "The database does not answer",
        }
    }

    fn text(&self) -> String {
        match self {
            Fail::NotFound(text) | Fail::Asked(text) | Fail::Conflict(text) => text.clone(),
            Fail::Database(error) if error.is_too_slow() => format!(
                "{error}\n\nWhat a page asks is given up after {PAGE_BOUND:?}, so that looking does not become load. The database is busy, or \
                 somebody holds a lock on a table of hourhand's (a migration, a dump, VACUUM FULL); after a bulk load it may need ANALYZE. \
                 Fewer entries are found sooner: name the job."
            ),
            Fail::Database(error) => error.to_string(),
        }
    }

    /// Whether it may be over soon: then the page looks again by itself.
    fn may_pass(&self) -> bool {
        matches!(self, Fail::Database(error) if !error.is_forbidden())
    }
}

/// For programs.
impl IntoResponse for Fail {
    fn into_response(self) -> Response {
        for_programs(self.status(), &serde_json::json!({ "error": self.text() }))
    }
}

/// JSON in which nothing steers a terminal: it is looked at with `curl`.
pub(crate) fn for_programs<T: Serialize>(status: StatusCode, answer: &T) -> Response {
    let kind = HeaderValue::from_static("application/json");
    match serde_json::to_string(answer) {
        Ok(text) => (status, [(CONTENT_TYPE, kind)], plain::json(&text).into_owned()).into_response(),
        Err(error) => {
            tracing::error!("an answer of the dashboard's API could not be written: {error}");
            (StatusCode::INTERNAL_SERVER_ERROR, [(CONTENT_TYPE, kind)], r#"{"error":"not to be written"}"#)
                .into_response()
        }
    }
}

/// Who is turned away at the door is told so in a line; a program in JSON, by the address it asked for.
pub(crate) fn refusal(uri: &Uri, status: StatusCode, why: &str) -> Response {
    if is_for_programs(uri) {
        return for_programs(status, &serde_json::json!({ "error": why }));
    }
    (status, format!("{why}\n")).into_response()
}

/// Whether it is the API that was asked.
pub(crate) fn is_for_programs(uri: &Uri) -> bool {
    uri.path() == "/api" || uri.path().starts_with("/api/")
}

#[derive(Template)]
#[template(path = "fail.html")]
struct Page {
    frame: Frame,
    title: String,
    text: String,
    may_pass: bool,
}

impl Ctx {
    /// The page, or why there is none.
    pub(crate) fn show<T: Template>(&self, page: Result<T, Fail>) -> Response {
        match page {
            Ok(page) => html(StatusCode::OK, &page),
            Err(fail) => self.refuse(fail),
        }
    }

    /// As whoever asked at this address reads it.
    pub(crate) fn answer(&self, uri: &Uri, fail: Fail) -> Response {
        if is_for_programs(uri) { fail.into_response() } else { self.refuse(fail) }
    }

    /// The page that says why there is none.
    pub(crate) fn refuse(&self, fail: Fail) -> Response {
        let status = fail.status();
        let page = Page {
            frame: Frame::new(self, "", String::new()),
            title: fail.title().to_owned(),
            text: fail.text(),
            may_pass: fail.may_pass(),
        };
        html(status, &page)
    }
}

fn html<T: Template>(status: StatusCode, page: &T) -> Response {
    match page.render() {
        Ok(html) => {
            let kind = HeaderValue::from_static("text/html; charset=utf-8");
            (status, [(CONTENT_TYPE, kind)], visible(&html).into_owned()).into_response()
        }
        Err(error) => {
            tracing::error!("a page of the dashboard could not be rendered: {error}");
            (StatusCode::INTERNAL_SERVER_ERROR, "this page could not be rendered\n").into_response()
        }
    }
}
