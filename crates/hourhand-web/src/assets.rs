//! The style sheet and the script, both ours and both in the binary.

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/script.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// Changes with each version, so that a browser keeps the files until they change.
pub(crate) fn version() -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (STYLE, SCRIPT, ICON).hash(&mut hasher);
    hasher.finish()
}

/// `static/…`
pub(crate) async fn show(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let (kind, text) = match name.as_str() {
        "style.css" => ("text/css; charset=utf-8", STYLE),
        "script.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return (StatusCode::NOT_FOUND, "no such file\n").into_response(),
    };
    let tag = format!("\"{:x}\"", version());
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let kept = "private, max-age=3600";
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, kept), (header::ETAG, &tag)], text).into_response()
}
