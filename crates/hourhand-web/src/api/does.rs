//! What can be done. What was not done, because of how things stand, is a conflict: exactly what the command ends with 1 for.
//!
//! A conflict is an answer, not an error: asked again later the same call may succeed, and the word in `answer` says why it did not
//! now. *Already running* is none, for whoever wanted a run has one. What is wrong with the question itself is told apart (400), and so is
//! a database that can't be asked (503): only that is worth trying again blindly.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use hourhand::{Asked, Backfill, Eviction, Forgetting};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::given::Given;
use crate::app::App;
use crate::ctx::Ctx;
use crate::fail::{Fail, for_programs};

/// Done, or why not.
type Answer = Result<Response, Fail>;

pub(crate) async fn trigger(State(app): State<App>, ctx: Ctx, given: Given) -> Answer {
    let expires = given.number("expires").map(Duration::from_secs);
    let asked = app.operator_of(&ctx).trigger(given.job(), expires).await?;
    match &asked {
        Asked::Paused => refused(&app, "paused", "it is paused: resume it first"),
        Asked::Nobody => refused(&app, "nobody", "no process has registered, started or run it for two of its periods"),
        Asked::Withdrawn => refused(&app, "withdrawn", "somebody has cancelled it meanwhile"),
        _ => done(&app, &asked),
    }
}

pub(crate) async fn backfill(State(app): State<App>, ctx: Ctx, given: Given) -> Answer {
    let (from, until) = (required(&given, "from")?, required(&given, "until")?);
    match app.operator_of(&ctx).backfill(given.job(), from, until).await? {
        Backfill::Accepted { runs } => done(&app, &json!({ "answer": "accepted", "runs": runs })),
        _ => refused(&app, "under_way", "an earlier backfill of the job is not done yet: wait for it, or cancel it"),
    }
}

pub(crate) async fn pause(State(app): State<App>, ctx: Ctx, given: Given) -> Answer {
    let until = given.instant("until");
    if let Some(past) = until.filter(|until| *until <= Timestamp::now()) {
        return Err(Fail::Asked(format!("until: {past:.0} is over: a pause ends ahead")));
    }
    let running = app.operator_of(&ctx).pause(given.job(), until, given.text("reason")).await?;
    done(&app, &json!({ "answer": "paused", "running": running }))
}

pub(crate) async fn resume(State(app): State<App>, ctx: Ctx, given: Given) -> Answer {
    let was_paused = app.operator_of(&ctx).resume(given.job(), given.is_set("catch_up")).await?;
    done(&app, &json!({ "answer": if was_paused { "resumed" } else { "not_paused" } }))
}

pub(crate) async fn cancel(State(app): State<App>, ctx: Ctx, given: Given) -> Answer {
    let meant = given.number("epoch");
    let cancelled = app.operator_of(&ctx).cancel(given.job(), meant).await?;
    let withdrawn = cancelled.withdrawn;
    match (cancelled.told, cancelled.lost, meant) {
        (Some(epoch), ..) => done(&app, &json!({ "answer": "cancelling", "epoch": epoch, "withdrawn": withdrawn })),
        (None, lost, _) if withdrawn > 0 => {
            done(&app, &json!({ "answer": "withdrawn", "lost": lost, "withdrawn": withdrawn }))
        }
        (None, Some(lost), _) => refused(&app, "not_running", &format!("run {lost} is lost: its process is gone")),
        (None, None, Some(epoch)) => refused(&app, "not_running", &format!("run {epoch} is not under way")),
        (None, None, None) => refused(&app, "not_running", "nothing of it runs, and nothing was asked for"),
    }
}

pub(crate) async fn window(State(app): State<App>, ctx: Ctx, given: Given) -> Answer {
    let window = app.operator_of(&ctx).set_window(given.job(), required(&given, "from")?).await?;
    done(&app, &window)
}

pub(crate) async fn evict(State(app): State<App>, ctx: Ctx, given: Given) -> Answer {
    match app.operator_of(&ctx).evict(given.job()).await? {
        Eviction::Ended(holder) => done(&app, &json!({ "answer": "ended", "holder": holder })),
        Eviction::Leased { holder, until } => {
            let end = until.map_or_else(|| "soon".to_owned(), |until| format!("at {until:.0}"));
            let why =
                format!("it runs under a lease of {holder}, which no session holds: unless renewed it runs out {end}");
            refused(&app, "leased", &why)
        }
        _ => done(&app, &json!({ "answer": "not_held" })),
    }
}

pub(crate) async fn forget(State(app): State<App>, ctx: Ctx, given: Given) -> Answer {
    match app.operator_of(&ctx).forget(given.job()).await? {
        Forgetting::Forgotten => done(&app, &json!({ "answer": "forgotten" })),
        Forgetting::Refused(reason) => refused(&app, "refused", &reason),
        other => refused(&app, "refused", &format!("{other:?}")),
    }
}

fn done<T: Serialize>(app: &App, answer: &T) -> Answer {
    app.hub().stir();
    Ok(for_programs(StatusCode::OK, answer))
}

fn refused(app: &App, answer: &str, why: &str) -> Answer {
    app.hub().stir();
    Ok(for_programs(StatusCode::CONFLICT, &json!({ "answer": answer, "error": why })))
}

/// What the check has found to be there.
fn required(given: &Given, name: &str) -> Result<Timestamp, Fail> {
    given.instant(name).ok_or_else(|| Fail::Asked(format!("{name} is missing")))
}
