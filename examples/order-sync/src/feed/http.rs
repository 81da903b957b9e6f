//! The feed over HTTP.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use axum::body::Body;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;

use super::books::{Arrival, Books, Control, Stats};
use super::generate::microseconds;
use crate::order::Order;

type Feed = Arc<Mutex<Books>>;

/// `GET /truth`: every order as it is now; final once `frozen`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Truth {
    /// Whether change has been ended.
    pub frozen: bool,
    /// The orders, by id.
    pub orders: Vec<Order>,
}

#[derive(Debug, Deserialize)]
struct WindowQuery {
    updated_from: Timestamp,
    updated_until: Timestamp,
    page: Option<u32>,
}

/// The feed's routes.
pub fn router(books: Books) -> Router {
    Router::new()
        .route("/orders", get(orders))
        .route("/stats", get(stats))
        .route("/truth", get(truth))
        .route("/control", post(control))
        .with_state(Arc::new(Mutex::new(books)))
}

/// Serves them until `shutdown`.
///
/// # Errors
///
/// The listener failed.
pub async fn serve(
    listener: TcpListener,
    books: Books,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(listener, router(books)).with_graceful_shutdown(shutdown).await
}

fn open(feed: &Feed) -> MutexGuard<'_, Books> {
    feed.lock().expect("nobody panics over the books")
}

fn now() -> (Timestamp, Instant) {
    (microseconds(Timestamp::now()), Instant::now())
}

/// A call, under way for as long as this lives: hyper drops the handler, and this with it, when the client has gone.
struct Call {
    feed: Feed,
    answered: bool,
}

impl Call {
    fn arrive(feed: Feed) -> (Self, Arrival) {
        let arrival = open(&feed).arrive(Instant::now());
        (Self { feed, answered: false }, arrival)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        open(&self.feed).ended(self.answered);
    }
}

async fn orders(State(feed): State<Feed>, query: Result<Query<WindowQuery>, QueryRejection>) -> Response {
    let (mut call, arrival) = Call::arrive(feed.clone());
    let answer = match arrival {
        Arrival::Cut => cut(),
        Arrival::TooSoon(left) => {
            let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
            (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds.to_string())]).into_response()
        }
        Arrival::Broken => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Arrival::Admitted(delay) => {
            tokio::time::sleep(delay).await;
            match query {
                Ok(Query(window)) => page(&feed, &window),
                Err(rejection) => refusal(&rejection.body_text()),
            }
        }
    };
    call.answered = true;
    answer
}

fn page(feed: &Feed, query: &WindowQuery) -> Response {
    match query.page.unwrap_or(1) {
        0 => refusal("pages are counted from 1"),
        page => Json(open(feed).page((query.updated_from, query.updated_until), page, now())).into_response(),
    }
}

/// An outage is not an answer with a number: the connection ends in the middle of nothing.
fn cut() -> Response {
    let broken = futures_util::stream::once(async { Err::<&str, _>(io::Error::other("out of order")) });
    Response::new(Body::from_stream(broken))
}

fn refusal(problem: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": problem }))).into_response()
}

async fn stats(State(feed): State<Feed>) -> Json<Stats> {
    Json(open(&feed).stats(now().0))
}

async fn truth(State(feed): State<Feed>) -> Json<Truth> {
    let mut books = open(&feed);
    let orders = books.truth(now().0);
    Json(Truth { frozen: books.stats(now().0).frozen, orders })
}

async fn control(State(feed): State<Feed>, control: Result<Json<Control>, JsonRejection>) -> Response {
    let done = match &control {
        Ok(Json(control)) => open(&feed).control(control, now()),
        Err(rejection) => Err(rejection.body_text()),
    };
    match done {
        Ok(()) => Json(open(&feed).stats(now().0)).into_response(),
        Err(problem) => refusal(&problem),
    }
}
