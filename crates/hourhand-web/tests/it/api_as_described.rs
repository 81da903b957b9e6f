//! The OpenAPI document describes the router: every endpoint of it answers, with the fields it says.

use axum::http::{Method, StatusCode};
use hourhand::Triggered;
use serde_json::Value;

use crate::site::{JOB, Site, ask, endless_job};

/// Whether the value is as the schema says, and has nothing that it does not say.
pub fn fits(value: &Value, schema: &Value, document: &Value) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let schema = document.pointer(&name[1..]).ok_or(format!("{name} is not described"))?;
        return fits(value, schema, document).map_err(|error| format!("{name}: {error}"));
    }
    if let Some(kinds) = schema["oneOf"].as_array() {
        let misfits: Vec<_> = kinds.iter().map(|kind| fits(value, kind, document)).filter_map(Result::err).collect();
        return if misfits.len() < kinds.len() { Ok(()) } else { Err(misfits.join("; ")) };
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let may_be = |word: &str| match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(|kind| kind == word),
        kind => kind == word,
    };
    let is_number = kind == "integer" && may_be("number");
    if !(may_be(kind) || is_number) {
        return Err(format!("{value} is not {}", schema["type"]));
    }
    if schema["format"] == "date-time"
        && let Some(text) = value.as_str()
    {
        let (time, zone) = (text.parse::<jiff::Timestamp>(), text.ends_with('Z'));
        return if time.is_ok() && zone { Ok(()) } else { Err(format!("{text} is no instant in UTC")) };
    }
    for item in value.as_array().into_iter().flatten() {
        fits(item, &schema["items"], document)?;
    }
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        value.get(name).ok_or(format!("{name} is missing"))?;
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        match properties.get(name) {
            Some(schema) => fits(inner, schema, document).map_err(|error| format!("{name}: {error}"))?,
            None if schema["additionalProperties"] == true => {}
            None => return Err(format!("{name} is not described")),
        }
    }
    Ok(())
}

/// The address of an endpoint with all that it requires.
pub fn address(path: &str, operation: &Value) -> String {
    let required =
        operation["parameters"].as_array().into_iter().flatten().filter(|parameter| parameter["required"] == true);
    let given = required.map(|parameter| match parameter["name"].as_str().unwrap() {
        "job" => "job=order-sync".to_owned(),
        "from" => "from=2025-12-31T12:00:00Z".to_owned(),
        name => format!("{name}=2026-01-01T12:00:00Z"),
    });
    format!("/api{path}?{}", given.collect::<Vec<_>>().join("&"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_endpoint_answers_with_the_fields_that_the_document_says() {
    let site = Site::new().await;
    let node = site.node("web-1").job(endless_job(JOB)).start().await.unwrap();
    let Triggered::Started { .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    let ended = "insert into hourhand.history (job, epoch, trigger, started_at, outcome, attempt, takeover, window_from, window_until) \
                 values ('order-sync', 1, 'manual', now(), 'succeeded', 1, 0, now(), now())";
    site.eye.batch_execute(ended).await.unwrap();
    let document = site.get("/api/openapi.json").await.json();
    let mut asked = 0;
    // What acts comes last, and forgetting at the very end: it is refused, because the job runs.
    for (verb, method) in [("get", Method::GET), ("post", Method::POST)] {
        for (path, operations) in document["paths"].as_object().unwrap() {
            let Some(operation) = operations.get(verb) else { continue };
            let address = address(path, operation);
            let own = [("sec-fetch-site", "same-origin")];
            let answer = ask(&site.router, method.clone(), &address, &own).await;
            let expected = if path == "/forget" { StatusCode::CONFLICT } else { StatusCode::OK };
            assert_eq!(answer.status, expected, "{verb} {address}: {}", answer.text);
            let schema = &operation["responses"][expected.as_str()]["content"]["application/json"]["schema"];
            fits(&answer.json(), schema, &document)
                .unwrap_or_else(|error| panic!("{verb} {address}: {error}\n{}", answer.text));
            let is_empty = answer.json().as_array().is_some_and(Vec::is_empty);
            assert!(!is_empty || path == "/audit", "{address}: an empty list shows nothing");
            asked += 1;
        }
    }
    assert!(asked >= 13, "{asked} endpoints");
    assert!(!site.get("/api/audit").await.json().as_array().unwrap().is_empty());
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_document_does_not_describe_is_not_there_and_says_where_to_look() {
    let site = Site::new().await;
    let answer = site.get("/api/nothing").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(answer.json()["error"].as_str().unwrap().contains("/api/openapi.json"));
    assert_eq!(site.get("/api/next").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(site.get("/api/status?job=nobody").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_next_have_the_fields_of_the_command() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let status = site.get("/api/status").await.json();
    for field in
        ["job", "schedule", "time_zone", "next_at", "last_success_at", "last_outcome", "running", "paused", "overdue"]
    {
        assert!(status[0].get(field).is_some(), "{field}: {status}");
    }
    let next = site.get("/api/next?job=order-sync&n=3").await.json();
    assert_eq!((next["next"].as_array().unwrap().len(), &next["schedule"]), (3, &Value::from("0 0 1 1 *")));
}
