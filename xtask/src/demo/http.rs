//! JSON over HTTP with the processes of the demo, all of which are on this machine.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::sync::LazyLock;
use std::time::Duration;
use ureq::Agent;

/// Longer than any answer takes on a machine that is busy with other things.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// No proxy: what a person's environment says of the world outside must not come between us and this machine.
static AGENT: LazyLock<Agent> = LazyLock::new(|| {
    let config = Agent::config_builder().proxy(None).http_status_as_error(false).timeout_global(Some(ANSWER_WITHIN));
    config.build().into()
});

/// The body of the answer to a GET, which has to be 200.
pub(crate) fn get(url: &str) -> Result<Value> {
    let mut answer = AGENT.get(url).call().with_context(|| format!("GET {url}"))?;
    ensure!(answer.status() == 200, "GET {url} was answered {}", answer.status());
    let body = answer.body_mut().read_to_string().with_context(|| format!("GET {url}"))?;
    serde_json::from_str(&body).with_context(|| format!("GET {url} was not answered with JSON"))
}

/// Number and body of the answer to a POST, whatever they are.
pub(crate) fn post(url: &str, body: &Value) -> Result<(u16, Value)> {
    let request = AGENT.post(url).content_type("application/json");
    let mut answer = request.send(body.to_string()).with_context(|| format!("POST {url}"))?;
    let body = answer.body_mut().read_to_string().with_context(|| format!("POST {url}"))?;
    Ok((answer.status().as_u16(), serde_json::from_str(&body).unwrap_or(Value::String(body))))
}
