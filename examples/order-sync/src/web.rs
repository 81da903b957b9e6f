//! The service's pages, as JSON. They read the local copy only: the feed is never asked on behalf of a user.

use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use hourhand::{JobStatus, Scheduler, Triggered};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::job::NAME;
use crate::order::{Order, Status};
use crate::store::{Filter, Store};
use crate::telemetry::told;

const PAGE_SIZE: u32 = 50;
/// Deep pages cost the database what they skip.
const PAGE_MAX: u32 = 100_000;
const TEXT_CHARS_MAX: usize = 200;
/// Whoever asks for health waits no longer.
const HEALTH_MAX: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
struct App {
    store: Store,
    scheduler: Option<Scheduler>,
    node: String,
}

/// The service's routes.
pub fn router(store: Store, scheduler: Option<Scheduler>, node: String) -> Router {
    Router::new()
        .route("/orders", get(orders))
        .route("/sync", get(sync_status).post(sync_now))
        .route("/healthz", get(healthz))
        .with_state(App { store, scheduler, node })
}

/// What went wrong with a request, told in JSON.
enum Refusal {
    /// The caller's fault: what is wrong and what would be right.
    Asked(String),
    /// Not theirs; the log has it, they don't.
    Ours(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Ours(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            Self::Asked(problem) => (StatusCode::BAD_REQUEST, problem),
            Self::Ours(error) => {
                tracing::error!(error = told(&error), "a request could not be answered");
                (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer as it should; try again".to_owned())
            }
        };
        (status, Json(json!({ "error": error }))).into_response()
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OrdersQuery {
    status: Option<Status>,
    customer: Option<String>,
    search: Option<String>,
    page: Option<u32>,
}

#[derive(Debug, Serialize)]
struct Orders {
    page: u32,
    pages: i64,
    total: i64,
    orders: Vec<Order>,
}

async fn orders(
    State(app): State<App>,
    query: Result<Query<OrdersQuery>, QueryRejection>,
) -> Result<Json<Orders>, Refusal> {
    let filter = filter(query)?;
    let listed = app.store.list(&filter).await?;
    let pages = (listed.total + i64::from(PAGE_SIZE) - 1) / i64::from(PAGE_SIZE);
    Ok(Json(Orders { page: filter.page, pages, total: listed.total, orders: listed.orders.0 }))
}

fn filter(query: Result<Query<OrdersQuery>, QueryRejection>) -> Result<Filter, Refusal> {
    let Query(query) = query.map_err(|rejection| Refusal::Asked(rejection.body_text()))?;
    let page = query.page.unwrap_or(1);
    if !(1..=PAGE_MAX).contains(&page) {
        return Err(Refusal::Asked(format!("page is a number from 1 to {PAGE_MAX}, not {page}")));
    }
    Ok(Filter {
        status: query.status,
        customer: text("customer", query.customer)?,
        search: text("search", query.search)?,
        page,
        page_size: PAGE_SIZE,
    })
}

/// Bounded, and without the one character that PostgreSQL can't store; empty is none.
fn text(name: &str, value: Option<String>) -> Result<Option<String>, Refusal> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    if value.chars().any(char::is_control) {
        return Err(Refusal::Asked(format!("{name} must not contain control characters")));
    }
    if value.chars().count() > TEXT_CHARS_MAX {
        return Err(Refusal::Asked(format!("{name} is longer than {TEXT_CHARS_MAX} characters")));
    }
    Ok(Some(value))
}

/// `POST /sync`: answered at once, whatever the sync's length.
async fn sync_now(State(app): State<App>) -> Result<Response, Refusal> {
    let triggered = match &app.scheduler {
        Some(scheduler) => scheduler.trigger(NAME).await?,
        None => Triggered::Off,
    };
    let (status, answer) = match triggered {
        Triggered::Started { epoch } => {
            let since = jiff::Timestamp::now();
            (StatusCode::ACCEPTED, json!({ "sync": "started", "node": app.node, "since": since, "epoch": epoch }))
        }
        Triggered::AlreadyRunning { node, since, epoch } => {
            let answer = json!({ "sync": "already_running", "node": node, "since": since, "epoch": epoch });
            (StatusCode::CONFLICT, answer)
        }
        Triggered::Paused => (StatusCode::CONFLICT, json!({ "sync": "paused" })),
        _ => (StatusCode::SERVICE_UNAVAILABLE, json!({ "sync": "off" })),
    };
    Ok((status, Json(answer)).into_response())
}

/// `GET /sync`: whichever process it is that runs it.
async fn sync_status(State(app): State<App>) -> Result<Json<Value>, Refusal> {
    let Some(scheduler) = &app.scheduler else { return Ok(Json(json!({ "scheduler": "off" }))) };
    let jobs = scheduler.status().await?;
    let Some(job) = jobs.into_iter().find(|job| job.job == NAME) else {
        return Ok(Json(json!({ "scheduler": "on", "node": app.node })));
    };
    Ok(Json(status(&app.node, job)))
}

fn status(node: &str, job: JobStatus) -> Value {
    let running =
        job.running.map(|run| json!({ "node": run.node, "since": run.since, "epoch": run.epoch, "pid": run.pid }));
    json!({
        "scheduler": "on",
        "node": node,
        "running": running,
        "last_success_at": job.last_success_at,
        "last_outcome": job.last_outcome,
        "next_at": job.next_at,
        "overdue": job.overdue,
        "paused": job.paused,
    })
}

/// `GET /healthz`: fit to serve requests?
///
/// That is a question of the database alone. What troubles the scheduler is told besides, for an alert to look at: a
/// load balancer that took this process out for it would only make the service smaller, not the sync better.
async fn healthz(State(app): State<App>) -> Response {
    let scheduler = match &app.scheduler {
        Some(scheduler) => {
            let health = scheduler.health().await;
            json!({ "ok": health.ok(), "problems": health.problems })
        }
        None => json!("off"),
    };
    let database = timeout(HEALTH_MAX, app.store.answers()).await.is_ok_and(|answer| answer.is_ok());
    let status = if database { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "ok": database, "scheduler": scheduler }))).into_response()
}
