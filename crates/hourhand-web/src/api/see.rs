//! What can be seen.

use axum::Json;
use axum::extract::{Query, State};
use hourhand::{
    AdvisoryLock, AuditEntry, AuditQuery, ConnectedNode, Finding, HistoryEntry, HistoryQuery, JobStatus, NextWindow,
    Severity,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::actions::instant;
use crate::dashboard::App;
use crate::fail::Fail;

const NEXT: usize = 5;
const NEXT_MAX: usize = 1000;

/// The parameters of all that can be seen.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    job: Option<String>,
    outcome: Option<String>,
    since: Option<String>,
    epoch: Option<i64>,
    before: Option<i64>,
    limit: Option<u32>,
    n: Option<usize>,
    names: Option<String>,
}

type Answer<T> = Result<Json<T>, Fail>;

pub(crate) async fn status(State(app): State<App>, Query(asked): Query<Asked>) -> Answer<Vec<JobStatus>> {
    Ok(Json(app.operator().status(asked.job.as_deref()).await?))
}

pub(crate) async fn history(State(app): State<App>, Query(asked): Query<Asked>) -> Answer<Vec<HistoryEntry>> {
    let since = asked.since.as_deref().map(|since| instant("since", Some(since))).transpose()?;
    let query = HistoryQuery {
        job: asked.job,
        outcome: asked.outcome,
        since,
        epoch: asked.epoch,
        before: asked.before,
        limit: asked.limit,
    };
    Ok(Json(app.operator().history(&query).await?))
}

pub(crate) async fn audit(State(app): State<App>, Query(asked): Query<Asked>) -> Answer<Vec<AuditEntry>> {
    let query = AuditQuery { job: asked.job, before: asked.before, limit: asked.limit };
    Ok(Json(app.operator().audit(&query).await?))
}

/// As the command's `next`.
#[derive(Debug, Serialize)]
pub(crate) struct Next {
    schedule: String,
    time_zone: String,
    description: String,
    next: Vec<String>,
}

pub(crate) async fn next(State(app): State<App>, Query(asked): Query<Asked>) -> Answer<Next> {
    let jobs = app.operator().details(Some(&job(asked.job)?)).await?;
    let Some(job) = jobs.into_iter().next() else { unreachable!("no row is an unknown job") };
    let most = asked.n.unwrap_or(NEXT).min(NEXT_MAX);
    let told = |at: Timestamp| format!("{at:.6}");
    let occurrences = job.schedule.iter().flat_map(|schedule| schedule.occurrences_after(job.now).take(most));
    Ok(Json(Next {
        next: occurrences.map(told).collect(),
        schedule: job.status.schedule,
        time_zone: job.status.time_zone,
        description: job.description,
    }))
}

pub(crate) async fn locks(State(app): State<App>, Query(asked): Query<Asked>) -> Answer<Vec<AdvisoryLock>> {
    let names = asked.names.unwrap_or_default();
    let names: Vec<&str> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    Ok(Json(app.operator().locks(&names).await?))
}

/// As the command's `doctor`.
#[derive(Debug, Serialize)]
pub(crate) struct Diagnosis {
    ok: bool,
    findings: Vec<Finding>,
}

pub(crate) async fn doctor(State(app): State<App>) -> Answer<Diagnosis> {
    let findings = app.operator().examine().await?;
    let ok = findings.iter().all(|finding| finding.severity != Severity::Error);
    Ok(Json(Diagnosis { ok, findings }))
}

pub(crate) async fn nodes(State(app): State<App>) -> Answer<Vec<ConnectedNode>> {
    Ok(Json(app.operator().nodes().await?))
}

pub(crate) async fn window(State(app): State<App>, Query(asked): Query<Asked>) -> Answer<NextWindow> {
    Ok(Json(app.operator().window(&job(asked.job)?).await?))
}

pub(crate) fn job(job: Option<String>) -> Result<String, Fail> {
    job.ok_or_else(|| Fail::Asked("say which job: ?job=…".to_owned()))
}
