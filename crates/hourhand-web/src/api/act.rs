//! What can be done.

use std::time::Duration;

use axum::Json;
use axum::extract::{Query, State};
use hourhand::{Asked, Backfill, Eviction, Forgetting, NextWindow};
use serde::Deserialize;
use serde_json::{Value, json};

use super::see::job;
use crate::actions::instant;
use crate::ctx::Ctx;
use crate::dashboard::App;
use crate::fail::Fail;

/// The parameters of all that can be done.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Order {
    job: Option<String>,
    epoch: Option<i64>,
    until: Option<String>,
    from: Option<String>,
    reason: Option<String>,
    catch_up: Option<bool>,
    expires: Option<u32>,
}

type Answer = Result<Json<Value>, Fail>;

pub(crate) async fn trigger(State(app): State<App>, ctx: Ctx, Query(order): Query<Order>) -> Result<Json<Asked>, Fail> {
    let expires = order.expires.map(|seconds| Duration::from_secs(seconds.into()));
    let asked = app.operator_of(&ctx).trigger(&job(order.job)?, expires).await?;
    app.hub().stir();
    Ok(Json(asked))
}

pub(crate) async fn backfill(State(app): State<App>, ctx: Ctx, Query(order): Query<Order>) -> Answer {
    let (from, until) = (instant("from", order.from.as_deref())?, instant("until", order.until.as_deref())?);
    let answer = match app.operator_of(&ctx).backfill(&job(order.job)?, from, until).await? {
        Backfill::Accepted { runs } => json!({ "answer": "accepted", "runs": runs }),
        _ => json!({ "answer": "under_way" }),
    };
    done(&app, answer)
}

pub(crate) async fn pause(State(app): State<App>, ctx: Ctx, Query(order): Query<Order>) -> Answer {
    let until = order.until.as_deref().map(|until| instant("until", Some(until))).transpose()?;
    let running = app.operator_of(&ctx).pause(&job(order.job)?, until, order.reason.as_deref()).await?;
    done(&app, json!({ "answer": "paused", "running": running }))
}

pub(crate) async fn resume(State(app): State<App>, ctx: Ctx, Query(order): Query<Order>) -> Answer {
    let was_paused = app.operator_of(&ctx).resume(&job(order.job)?, order.catch_up == Some(true)).await?;
    done(&app, json!({ "answer": if was_paused { "resumed" } else { "not_paused" } }))
}

pub(crate) async fn cancel(State(app): State<App>, ctx: Ctx, Query(order): Query<Order>) -> Answer {
    let run = app.operator_of(&ctx).cancel(&job(order.job)?, order.epoch).await?;
    done(&app, json!({ "answer": if run.is_some() { "cancelling" } else { "not_running" }, "epoch": run }))
}

pub(crate) async fn window(
    State(app): State<App>,
    ctx: Ctx,
    Query(order): Query<Order>,
) -> Result<Json<NextWindow>, Fail> {
    let from = instant("from", order.from.as_deref())?;
    let window = app.operator_of(&ctx).set_window(&job(order.job)?, from).await?;
    app.hub().stir();
    Ok(Json(window))
}

pub(crate) async fn evict(State(app): State<App>, ctx: Ctx, Query(order): Query<Order>) -> Answer {
    let answer = match app.operator_of(&ctx).evict(&job(order.job)?).await? {
        Eviction::Ended(holder) => json!({ "answer": "ended", "holder": holder }),
        Eviction::Leased { holder, until } => {
            json!({ "answer": "leased", "holder": holder, "until": until.map(|until| format!("{until:.6}")) })
        }
        _ => json!({ "answer": "not_held" }),
    };
    done(&app, answer)
}

pub(crate) async fn forget(State(app): State<App>, ctx: Ctx, Query(order): Query<Order>) -> Answer {
    let answer = match app.operator_of(&ctx).forget(&job(order.job)?).await? {
        Forgetting::Refused(reason) => json!({ "answer": "refused", "reason": reason }),
        _ => json!({ "answer": "forgotten" }),
    };
    done(&app, answer)
}

fn done(app: &App, answer: Value) -> Answer {
    app.hub().stir();
    Ok(Json(answer))
}
