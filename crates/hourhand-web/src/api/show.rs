//! What can be seen.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use hourhand::{AuditQuery, HistoryQuery, Severity};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::given::Given;
use crate::app::App;
use crate::fail::{Fail, for_programs};

const NEXT: usize = 5;

type Answer = Result<Response, Fail>;

pub(crate) async fn status(State(app): State<App>, given: Given) -> Answer {
    shown(&app.operator().status(given.text("job")).await?)
}

pub(crate) async fn history(State(app): State<App>, given: Given) -> Answer {
    let query = HistoryQuery {
        job: given.text("job").map(str::to_owned),
        outcome: given.text("outcome").map(str::to_owned),
        since: given.instant("since"),
        epoch: given.number("epoch"),
        before: given.number("before"),
        limit: given.number("limit"),
    };
    shown(&app.operator().history(&query).await?)
}

pub(crate) async fn audit(State(app): State<App>, given: Given) -> Answer {
    let job = given.text("job").map(str::to_owned);
    let query = AuditQuery { job, before: given.number("before"), limit: given.number("limit") };
    shown(&app.operator().audit(&query).await?)
}

/// As the command's `next`.
#[derive(Debug, Serialize)]
struct Next {
    schedule: String,
    time_zone: String,
    description: String,
    next: Vec<String>,
}

pub(crate) async fn next(State(app): State<App>, given: Given) -> Answer {
    let jobs = app.operator().details(Some(given.job())).await?;
    let Some(job) = jobs.into_iter().next() else { unreachable!("no row is an unknown job") };
    let most = given.number("n").unwrap_or(NEXT);
    let told = |at: Timestamp| format!("{at:.6}");
    let occurrences = job.schedule.iter().flat_map(|schedule| schedule.occurrences_after(job.now).take(most));
    shown(&Next {
        next: occurrences.map(told).collect(),
        schedule: job.status.schedule,
        time_zone: job.status.time_zone,
        description: job.description,
    })
}

pub(crate) async fn locks(State(app): State<App>, given: Given) -> Answer {
    let names = given.text("names").unwrap_or_default();
    let names: Vec<&str> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    shown(&app.operator().locks(&names).await?)
}

/// As the command's `doctor`.
pub(crate) async fn doctor(State(app): State<App>) -> Answer {
    let findings = app.operator().examine().await?;
    let ok = findings.iter().all(|finding| finding.severity != Severity::Error);
    shown(&json!({ "ok": ok, "findings": findings }))
}

pub(crate) async fn nodes(State(app): State<App>) -> Answer {
    shown(&app.operator().nodes().await?)
}

pub(crate) async fn window(State(app): State<App>, given: Given) -> Answer {
    shown(&app.operator().window(given.job()).await?)
}

fn shown<T: Serialize>(answer: &T) -> Answer {
    Ok(for_programs(StatusCode::OK, answer))
}
