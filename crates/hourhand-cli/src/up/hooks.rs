//! What the file wants told of a job's ends: to a URL or to a command, in bounded time, and never to a run's harm.
//!
//! The library calls a hook once in the whole fleet, after the end is on record, and drops it after 10 s. What comes of it is only
//! said: history is the record. A command runs under a guardian, as that of a run does: nothing of it outlives its time, or us.

use std::sync::Arc;
use std::time::Duration;

use hourhand::{Job, JobEvent};
use http::header::{CONTENT_TYPE, HeaderValue};
use tracing::warn;

use super::{body, call};
use crate::child::{self, Cause};
use crate::config::{Endpoint, Hooks, Secret, Work};

/// The library drops a hook then. Its command's guardian knows it beforehand: we may be frozen, or gone.
const HOOK_MAX: Duration = Duration::from_secs(10);

/// The job, with the file's hooks.
pub(super) fn attach(mut job: Job, hooks: &Hooks) -> Job {
    if let Some(work) = &hooks.on_success {
        job = job.on_success(teller("on_success", work));
    }
    if let Some(work) = &hooks.on_failure {
        job = job.on_failure(teller("on_failure", work));
    }
    if let Some(work) = &hooks.on_recovery {
        job = job.on_recovery(teller("on_recovery", work));
    }
    match &hooks.on_late {
        Some(work) => job.on_late(teller("on_late", work)),
        None => job,
    }
}

fn teller(hook: &'static str, work: &Work) -> impl Fn(JobEvent) -> Told + Send + Sync + 'static {
    let work = Arc::new(work.clone());
    move |event| {
        let work = work.clone();
        Box::pin(async move {
            if let Err(why) = tell(hook, &work, &event).await {
                warn!(job = event.job, hook, "the hook failed: {why}");
            }
        })
    }
}

type Told = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

async fn tell(hook: &'static str, work: &Work, event: &JobEvent) -> Result<(), String> {
    match work {
        Work::Http(endpoint) => {
            let (endpoint, facts) = (with_event(endpoint, hook, event), facts(hook, event));
            let answered = call::call(&endpoint, &body::headers(facts)).await;
            answered.verdict.map_err(|failure| failure.to_string())
        }
        Work::Command(command) => {
            // No variable holds it.
            let error = event.error.clone().unwrap_or_default().replace('\0', "\u{fffd}");
            let facts = facts(hook, event).into_iter().chain([("HOURHAND_ERROR", error)]).collect();
            child::run_hook(&body::command(&event.job, command), hook, Cause::hook(facts, HOOK_MAX)).await
        }
    }
}

/// What a header or a variable can hold of an event.
fn facts(hook: &'static str, event: &JobEvent) -> Vec<(&'static str, String)> {
    vec![
        ("HOURHAND_JOB", event.job.clone()),
        ("HOURHAND_EVENT", hook.trim_start_matches("on_").to_owned()),
        ("HOURHAND_EPOCH", event.epoch.map(|epoch| epoch.to_string()).unwrap_or_default()),
        ("HOURHAND_OUTCOME", event.outcome.map(|outcome| outcome.to_string()).unwrap_or_default()),
        ("HOURHAND_SCHEDULED_FOR", event.scheduled_for.map(|at| format!("{at:.6}")).unwrap_or_default()),
        ("HOURHAND_FAILURES", event.failures.to_string()),
        ("HOURHAND_RETRIED", event.retried.to_string()),
    ]
}

/// A request without a body of its own carries the event as JSON.
fn with_event(endpoint: &Endpoint, hook: &'static str, event: &JobEvent) -> Endpoint {
    let mut endpoint = endpoint.clone();
    if endpoint.body.is_none() {
        let told = serde_json::json!({
            "job": event.job,
            "event": hook.trim_start_matches("on_"),
            "epoch": event.epoch,
            "outcome": event.outcome.map(|outcome| outcome.to_string()),
            "error": event.error,
            "transient": event.transient,
            "scheduled_for": event.scheduled_for.map(|at| format!("{at:.6}")),
            "failures": event.failures,
            "retried": event.retried,
        });
        endpoint.body = Some(Secret::new(told.to_string()));
        if endpoint.headers.iter().all(|(name, _)| name != CONTENT_TYPE) {
            endpoint.headers.push((CONTENT_TYPE, HeaderValue::from_static("application/json")));
        }
    }
    endpoint
}
