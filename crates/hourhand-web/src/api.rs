//! The JSON API: what the command prints with `--json`, over HTTP, with the same fields.
//!
//! One table says what there is and what it takes. The router is made from it, the check of what is asked, and the OpenAPI document: what
//! is not described does not exist. Whatever goes wrong is said in JSON: `error` in words, and `answer` where there is a word for it.

mod does;
mod endpoint;
mod given;
mod openapi;
mod show;

use axum::extract::Request;
use axum::http::{StatusCode, Uri};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use hourhand_core::outcome::IN_HISTORY;

use self::endpoint::{Endpoint, Kind, Parameter, act, may, must, see};
use crate::app::App;
use crate::ctx::Ctx;
use crate::fail::{Fail, refusal};

const JOB: Parameter = must("job", Kind::Text, "the job");
const ANY_JOB: Parameter = may("job", Kind::Text, "this job only");
const ANY: Kind = Kind::Number(i64::MIN, i64::MAX);
const BEFORE: Parameter = may("before", ANY, "the page after the entry with this id");
const LIMIT: Parameter = may("limit", Kind::Number(1, 1000), "how many at most; 50 if it is not said");

const HISTORY: [Parameter; 6] = [
    ANY_JOB,
    may("outcome", Kind::OneOf(&IN_HISTORY), "only those that ended so"),
    may("since", Kind::Instant, "only those that ended then or later"),
    may("epoch", ANY, "this run only, with its output"),
    BEFORE,
    LIMIT,
];
const AUDIT: [Parameter; 3] = [ANY_JOB, BEFORE, LIMIT];
const NEXT: [Parameter; 2] = [JOB, may("n", Kind::Number(1, 1000), "how many; 5 if it is not said")];
const NAMES: [Parameter; 1] = [may("names", Kind::Text, "guesses at names of locks, by commas")];
const TRIGGER: [Parameter; 2] =
    [JOB, may("expires", Kind::Number(1, u32::MAX as i64), "seconds after which it is void")];
const BACKFILL: [Parameter; 3] = [
    JOB,
    must("from", Kind::Instant, "the first instant of the span"),
    must("until", Kind::Instant, "where the span ends; no later than now"),
];
const PAUSE: [Parameter; 3] = [
    JOB,
    may("until", Kind::Instant, "when the pause ends by itself"),
    may("reason", Kind::Text, "why, for whoever looks"),
];
const RESUME: [Parameter; 2] = [JOB, may("catch_up", Kind::Flag, "run what came due meanwhile")];
const CANCEL: [Parameter; 2] = [JOB, may("epoch", ANY, "this run and no other")];
const WINDOW: [Parameter; 2] = [JOB, must("from", Kind::Instant, "where the next window begins")];

/// All there is.
pub(crate) static ENDPOINTS: [Endpoint; 16] = [
    see("/status", "How jobs stand", || get(show::status)).with(&[ANY_JOB]).answers("[]JobStatus"),
    see("/history", "Ended runs and skips, newest first", || get(show::history))
        .with(&HISTORY)
        .answers("[]HistoryEntry"),
    see("/audit", "Who did what, newest first", || get(show::audit)).with(&AUDIT).answers("[]AuditEntry"),
    see("/next", "A job's next occurrences", || get(show::next)).with(&NEXT).answers("Next"),
    see("/locks", "Every advisory lock of the database", || get(show::locks)).with(&NAMES).answers("[]AdvisoryLock"),
    see("/doctor", "What is wrong, and what to do about it", || get(show::doctor)).answers("Diagnosis"),
    see("/nodes", "hourhand's sessions that are connected now", || get(show::nodes)).answers("[]ConnectedNode"),
    see("/window", "Where a job's next window begins", || get(show::window)).with(&[JOB]).answers("NextWindow"),
    act("/trigger", "Asks for a run now", || post(does::trigger)).with(&TRIGGER),
    act("/backfill", "Runs the occurrences of a span again", || post(does::backfill)).with(&BACKFILL),
    act("/pause", "Pauses a job on the whole fleet", || post(does::pause)).with(&PAUSE),
    act("/resume", "Resumes a paused job", || post(does::resume)).with(&RESUME),
    act("/cancel", "Asks a run to stop", || post(does::cancel)).with(&CANCEL),
    act("/window", "Has a job's next window begin there", || post(does::window)).with(&WINDOW).answers("NextWindow"),
    act("/evict", "Ends the session that holds a job's lock", || post(does::evict)).with(&[JOB]),
    act("/forget", "Removes an orphaned job", || post(does::forget)).with(&[JOB]),
];

/// `api/…`
pub(crate) fn routes() -> Router<App> {
    let router = Router::new().route("/openapi.json", get(async |ctx: Ctx| Json(openapi::document(&ctx, &ENDPOINTS))));
    let router = ENDPOINTS.iter().fold(router, |router, endpoint| {
        let checked = from_fn(move |request: Request, next: Next| given::check(endpoint, request, next));
        router.route(endpoint.path, (endpoint.handler)().layer(checked))
    });
    router.fallback(async |ctx: Ctx| Fail::NotFound(format!("no such endpoint: see {}", ctx.to("api/openapi.json"))))
}

/// What is there, but not by this method; which ones it has stands in a header.
pub(crate) async fn not_this_way(uri: Uri) -> Response {
    refusal(&uri, StatusCode::METHOD_NOT_ALLOWED, "what only shows something is asked for by GET, what acts by POST")
}
