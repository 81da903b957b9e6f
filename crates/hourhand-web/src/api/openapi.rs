//! The description of the API, in the form of OpenAPI 3.1.

use serde_json::{Map, Value, json};

use super::endpoint::{Endpoint, Kind, Parameter};
use crate::ctx::Ctx;

/// Of the answers; a test holds them against real ones.
const SCHEMAS: &str = include_str!("schemas.json");

/// Of all endpoints.
pub(super) fn document(ctx: &Ctx, endpoints: &[Endpoint]) -> Value {
    let mut paths = Map::new();
    for endpoint in endpoints {
        let method = if endpoint.is_act { "post" } else { "get" };
        paths.entry(endpoint.path).or_insert_with(|| json!({}))[method] = operation(endpoint);
    }
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap_or_else(|error| unreachable!("tested: {error}"));
    json!({
        "openapi": "3.1.0",
        "info": { "title": "hourhand", "version": env!("CARGO_PKG_VERSION") },
        "servers": [{ "url": format!("{}/api", ctx.prefix) }],
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn operation(endpoint: &Endpoint) -> Value {
    let name = endpoint.path.trim_start_matches('/');
    let verb = if endpoint.is_act { "do" } else { "see" };
    let schema = match endpoint.answer.strip_prefix("[]") {
        Some(name) => json!({ "type": "array", "items": reference(name) }),
        None => reference(endpoint.answer),
    };
    json!({
        "operationId": format!("{verb}_{name}"),
        "summary": endpoint.summary,
        "parameters": endpoint.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "responses": responses(endpoint, &schema),
    })
}

/// By status.
fn responses(endpoint: &Endpoint, schema: &Value) -> Value {
    let failed = |text: &str| json!({ "description": text, "content": content(&reference("Error")) });
    let mut responses = json!({
        "200": { "description": "the answer", "content": content(schema) },
        "400": failed("what was asked for makes no sense: the parameter is said, and what would be right"),
        "401": failed("the door of a dashboard by itself: no credentials, or wrong ones"),
        "403": failed("the visitor may not"),
        "405": failed("not by this method"),
        "503": failed("the database does not answer, or not in time"),
    });
    if endpoint.parameters.iter().any(|parameter| parameter.name == "job") {
        responses["404"] = failed("no such job; the near names are said");
    }
    if endpoint.is_act {
        responses["409"] =
            failed("not done, because of how things stand: the answer is the word for it, the error says it");
    }
    responses
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn content(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::OneOf(words) => json!({ "type": "string", "enum": words }),
        Kind::Number(i64::MIN, i64::MAX) => json!({ "type": "integer", "format": "int64" }),
        Kind::Number(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Instant => {
            json!({ "type": "string", "examples": ["2026-11-30T18:00:00Z", "2026-11-30", "now", "2h ago"] })
        }
        Kind::Flag => json!({ "type": "boolean" }),
    };
    json!({
        "name": parameter.name,
        "in": "query",
        "required": parameter.is_required,
        "description": parameter.what,
        "schema": schema,
    })
}
