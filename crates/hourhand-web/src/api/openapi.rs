//! The description of the API, in the form of OpenAPI 3.1.

use axum::Json;
use serde_json::{Map, Value, json};

use super::{ENDPOINTS, Endpoint, Kind, Parameter};
use crate::ctx::Ctx;

/// Of the answers; a test holds them against real ones.
const SCHEMAS: &str = include_str!("schemas.json");

/// `api/openapi.json`
pub(crate) async fn show(ctx: Ctx) -> Json<Value> {
    Json(document(&ctx))
}

fn document(ctx: &Ctx) -> Value {
    let mut paths = Map::new();
    for endpoint in &ENDPOINTS {
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
    let failed = |text: &str| json!({ "description": text, "content": content(reference("Error")) });
    json!({
        "operationId": format!("{verb}_{name}"),
        "summary": endpoint.summary,
        "parameters": endpoint.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "responses": {
            "200": { "description": "the answer", "content": content(schema) },
            "400": failed("what was asked for makes no sense"),
            "403": { "description": "the visitor may not" },
            "404": failed("no such job; the near names are said"),
            "503": failed("the database does not answer"),
        },
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn content(schema: Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Number => json!({ "type": "integer", "format": "int64" }),
        Kind::Instant => json!({ "type": "string", "format": "date-time" }),
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
