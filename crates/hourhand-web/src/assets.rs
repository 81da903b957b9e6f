//! The style sheet and the script, both ours and both in the binary.
//!
//! Nothing is loaded from elsewhere: a dashboard is looked at on the day when the way out does not work, and the policy that pages are
//! sent with forbids it. Pages name these files with their version, so a browser may keep them without asking, and has the new
//! ones at once after a deploy.

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a colour in the light scheme or the dark one.
    fn colour(name: &str, scheme: usize) -> [f64; 3] {
        let values: Vec<&str> = STYLE.split(&format!("--{name}: #")).skip(1).map(|rest| &rest[..6]).collect();
        let part =
            |at: usize| f64::from(u8::from_str_radix(&values[scheme][at..at + 2], 16).expect("hexadecimal")) / 255.0;
        [part(0), part(2), part(4)]
    }

    /// As WCAG has it.
    fn luminance(colour: [f64; 3]) -> f64 {
        let linear = colour.map(|part| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    #[test]
    fn every_text_stands_out_from_its_ground_in_both_schemes() {
        let plain = ["text", "quiet", "link"].into_iter().flat_map(|text| [(text, "ground"), (text, "card")]);
        let good = [("good", "card"), ("bad", "card"), ("busy", "card"), ("off", "card")];
        let badges = [
            ("bad", "bad-soft"),
            ("late", "late-soft"),
            ("busy", "busy-soft"),
            ("held", "held-soft"),
            ("off", "off-soft"),
            ("link", "busy-soft"),
            ("text", "late-soft"),
            ("link", "late-soft"),
            ("text", "off-soft"),
        ];
        for (scheme, word) in ["light", "dark"].into_iter().enumerate() {
            for (text, ground) in plain.clone().chain(good).chain(badges) {
                let (one, other) = (luminance(colour(text, scheme)), luminance(colour(ground, scheme)));
                let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                assert!(contrast >= 4.5, "{text} on {ground}, {word}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn what_moves_does_so_only_for_those_who_like_it() {
        let (before, after) = STYLE.split_once("@media (prefers-reduced-motion: no-preference) {").expect("said");
        let end = after.find("\n}").expect("closed");
        let elsewhere = format!("{before}{}", &after[end..]);
        assert!(!elsewhere.contains("animation") && !elsewhere.contains("transition"));
    }
}
