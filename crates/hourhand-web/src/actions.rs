//! What buttons do: each a form with a real address, answered by a redirect to a page that says what came of it.
//!
//! A redirect, because a page that answers a POST itself does it again when it is loaded again; and because without a script a browser
//! can do nothing but send a form and follow where it is led, and all buttons work without one. Whether the form was sent from our own
//! page, and whether its sender may act at all, was asked before any of this runs (`origin`, `access`).
//!
//! What is said travels as a word of ours and a number, never as text: a link can't put words into the page's mouth.
//!
//! A person presses a button for what the page showed some seconds ago. So a cancel names the run it was shown for, and is void
//! for any other; and an answer like *already running* or *not running any more* is no failure, but what became of it.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hourhand::{Asked, Backfill, Eviction, Forgetting};
use hourhand_core::instant;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::app::App;
use crate::asked::Form;
use crate::ctx::Ctx;
use crate::fail::Fail;

/// All forms, with what each of them may have.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Order {
    job: String,
    epoch: Option<i64>,
    reason: Option<String>,
    /// Seconds from now; empty: until it is resumed.
    length: Option<String>,
    /// In UTC, as a browser's field gives it.
    from: Option<String>,
    until: Option<String>,
    catch_up: Option<String>,
}

/// `do/…`
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/trigger", post(trigger))
        .route("/backfill", post(backfill))
        .route("/pause", post(pause))
        .route("/resume", post(resume))
        .route("/cancel", post(cancel))
        .route("/window", post(window))
        .route("/evict", post(evict))
        .route("/forget", post(forget))
}

/// What came of it: a word, perhaps a run, and where to go on.
struct Done(&'static str, Option<i64>, String);

async fn trigger(State(app): State<App>, ctx: Ctx, Form(order): Form<Order>) -> Response {
    let asked = async {
        let page = ctx.job(&order.job);
        Ok(match app.operator_of(&ctx).trigger(&order.job, None).await? {
            Asked::Started { epoch, .. } => Done("started", Some(epoch), page),
            Asked::AlreadyRunning { epoch, .. } => Done("already_running", epoch, page),
            Asked::Paused => Done("is_paused", None, page),
            Asked::Nobody => Done("nobody", None, page),
            Asked::Withdrawn => Done("withdrawn", None, page),
            _ => Done("requested", None, page),
        })
    };
    answer(&app, &ctx, asked.await)
}

async fn backfill(State(app): State<App>, ctx: Ctx, Form(order): Form<Order>) -> Response {
    let asked = async {
        let from = at("from", order.from.as_deref())?;
        let until = at("until", order.until.as_deref())?;
        let page = ctx.job(&order.job);
        Ok(match app.operator_of(&ctx).backfill(&order.job, from, until).await? {
            Backfill::Accepted { runs } => Done("backfill", i64::try_from(runs).ok(), page),
            _ => Done("backfill_under_way", None, page),
        })
    };
    answer(&app, &ctx, asked.await)
}

async fn pause(State(app): State<App>, ctx: Ctx, Form(order): Form<Order>) -> Response {
    let paused = async {
        let until = until(&app, &order).await?;
        let reason = order.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let running = app.operator_of(&ctx).pause(&order.job, until, reason).await?;
        let word = if running.is_some() { "paused_running" } else { "paused" };
        Ok(Done(word, running, ctx.job(&order.job)))
    };
    answer(&app, &ctx, paused.await)
}

async fn resume(State(app): State<App>, ctx: Ctx, Form(order): Form<Order>) -> Response {
    let resumed = async {
        let was_paused = app.operator_of(&ctx).resume(&order.job, order.catch_up.is_some()).await?;
        Ok(Done(if was_paused { "resumed" } else { "not_paused" }, None, ctx.job(&order.job)))
    };
    answer(&app, &ctx, resumed.await)
}

async fn cancel(State(app): State<App>, ctx: Ctx, Form(order): Form<Order>) -> Response {
    let cancelled = async {
        let cancelled = app.operator_of(&ctx).cancel(&order.job, order.epoch).await?;
        let word = match (cancelled.told, cancelled.lost, cancelled.withdrawn) {
            (Some(_), ..) => "cancelled",
            (None, Some(_), _) => "lost_already",
            (None, None, 0) => "not_running",
            (None, None, _) => "taken_back",
        };
        Ok(Done(word, cancelled.told.or(cancelled.lost), ctx.job(&order.job)))
    };
    answer(&app, &ctx, cancelled.await)
}

async fn window(State(app): State<App>, ctx: Ctx, Form(order): Form<Order>) -> Response {
    let moved = async {
        let from = at("from", order.from.as_deref())?;
        app.operator_of(&ctx).set_window(&order.job, from).await?;
        Ok(Done("window", None, ctx.job(&order.job)))
    };
    answer(&app, &ctx, moved.await)
}

async fn evict(State(app): State<App>, ctx: Ctx, Form(order): Form<Order>) -> Response {
    let evicted = async {
        let word = match app.operator_of(&ctx).evict(&order.job).await? {
            Eviction::Ended(_) => "evicted",
            Eviction::Leased { .. } => "leased",
            _ => "not_held",
        };
        Ok(Done(word, None, ctx.job(&order.job)))
    };
    answer(&app, &ctx, evicted.await)
}

async fn forget(State(app): State<App>, ctx: Ctx, Form(order): Form<Order>) -> Response {
    let forgotten = async {
        match app.operator_of(&ctx).forget(&order.job).await? {
            Forgetting::Forgotten => Ok(Done("forgotten", None, ctx.to(""))),
            Forgetting::Refused(reason) => Err(Fail::Conflict(format!("job {:?} stays: {reason}", order.job))),
            other => Err(Fail::Conflict(format!("job {:?} stays: {other:?}", order.job))),
        }
    };
    answer(&app, &ctx, forgotten.await)
}

/// To the page that shows what has become of it; or why it was not done.
fn answer(app: &App, ctx: &Ctx, done: Result<Done, Fail>) -> Response {
    app.hub().stir();
    match done {
        Ok(Done(word, run, page)) => {
            let sign = if page.contains('?') { '&' } else { '?' };
            let run = run.map(|run| format!("&of={run}")).unwrap_or_default();
            (StatusCode::SEE_OTHER, [(LOCATION, format!("{page}{sign}said={word}{run}"))]).into_response()
        }
        Err(fail) => ctx.refuse(fail),
    }
}

/// When a pause ends, by the server's clock; none: when the job is resumed. Not by ours: it is the database that will ask whether it
/// is over, and an hour's pause is to last an hour.
async fn until(app: &App, order: &Order) -> Result<Option<Timestamp>, Fail> {
    let Some(length) = length(order)? else { return Ok(None) };
    let jobs = app.operator().details(Some(&order.job)).await?;
    let now = jobs.first().map_or_else(Timestamp::now, |job| job.now);
    now.checked_add(length).map(Some).map_err(|error| Fail::Asked(format!("until when: {error}")))
}

fn length(order: &Order) -> Result<Option<SignedDuration>, Fail> {
    let Some(text) = order.length.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong = || Fail::Asked(format!("{text:?} is no length: a number of seconds, more than 0"));
    let seconds = text.parse().ok().filter(|seconds: &i64| (1..=31_622_400).contains(seconds)).ok_or_else(wrong)?;
    Ok(Some(SignedDuration::from_secs(seconds)))
}

/// An instant as programs write it, or as the field of a form does, which means UTC.
fn at(name: &str, text: Option<&str>) -> Result<Timestamp, Fail> {
    let read = instant::read(text.unwrap_or_default(), &TimeZone::UTC, Timestamp::now());
    read.map_err(|why| Fail::Asked(format!("{name}: {why} (in UTC)")))
}

/// What the page before has to say: the word and the number of the query, in our own words.
pub(crate) fn said(query: &str) -> Option<String> {
    let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let run = value("of").and_then(|of| of.parse::<i64>().ok());
    let of_run = run.map(|run| format!("run {run}")).unwrap_or_else(|| "the run".to_owned());
    let text = match value("said")? {
        "started" => format!("Started: {of_run}."),
        "already_running" => "Already running.".to_owned(),
        "is_paused" => "Not started: the job is paused.".to_owned(),
        "requested" => "Recorded: no connected process took it yet; the next one that looks will.".to_owned(),
        "nobody" => "Not started: no process has run or registered this job for two of its periods.".to_owned(),
        "withdrawn" => "Not started: it was cancelled meanwhile.".to_owned(),
        "backfill" => format!("Accepted: {} occurrences run again, one after another.", run.unwrap_or(0)),
        "backfill_under_way" => "Not accepted: another backfill of this job is under way.".to_owned(),
        "paused" => "Paused: nothing starts until it is resumed.".to_owned(),
        "paused_running" => format!("Paused: nothing starts any more; {of_run} goes on to its end."),
        "resumed" => "Resumed.".to_owned(),
        "not_paused" => "It was not paused.".to_owned(),
        "cancelled" => format!("Asked to stop: {of_run}."),
        "lost_already" => {
            format!(
                "Nobody to tell: the process of {of_run} is gone. Its occurrence runs again, unless the job is paused."
            )
        }
        "taken_back" => "Taken back: what was asked for and had not begun.".to_owned(),
        "not_running" => "Nothing was running, or another run by now.".to_owned(),
        "window" => "The next window begins where you said.".to_owned(),
        "evicted" => "The session that held the lock was told to end.".to_owned(),
        "leased" => "The job runs under a lease, which no session holds: it runs out by itself.".to_owned(),
        "not_held" => "Nobody held the lock.".to_owned(),
        "forgotten" => "Forgotten, with its history.".to_owned(),
        _ => return None,
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_as_forms_and_programs_write_them() {
        let noon: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        for text in ["2026-11-30T12:00", "2026-11-30T12:00:00", "2026-11-30T12:00:00Z", "2026-11-30T13:00:00+01:00"] {
            assert_eq!(at("from", Some(text)).ok(), Some(noon), "{text}");
        }
        assert!(at("from", Some("noon")).is_err() && at("from", None).is_err());
    }

    #[test]
    fn a_link_cannot_put_words_into_the_pages_mouth() {
        assert_eq!(said("said=<b>hello</b>"), None);
        assert_eq!(said("name=x&said=started&of=<b>"), Some("Started: the run.".to_owned()));
        assert_eq!(said("said=started&of=12"), Some("Started: run 12.".to_owned()));
    }
}
