//! Does a request that changes something come from our own page?
//!
//! A browser sends cookies and basic credentials along with a form that another site posts to us. What tells such a request apart
//! are headers that no page can set: `Sec-Fetch-Site` where the browser sends it, else `Origin`, which must name the host that was
//! asked. A request with neither is no browser's: nobody's credentials have been borrowed.

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};

/// Whether the request may act.
pub(crate) fn is_own(request: &Parts) -> bool {
    let header = |name: &str| request.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if let Some(site) = header("sec-fetch-site") {
        return matches!(site, "same-origin" | "none");
    }
    let Some(origin) = header(ORIGIN.as_str()) else { return true };
    let origin = origin.split_once("://").map(|(_, authority)| authority);
    origin.zip(host(&request.headers, &request.uri)).is_some_and(|(origin, asked)| origin.eq_ignore_ascii_case(asked))
}

/// The host that was asked; none: it is not said, or twice and not the same. Of two a proxy in front may believe the one and we the
/// other.
pub(crate) fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let mut said = headers.get_all(HOST).iter();
    let (first, second) = (said.next(), said.next());
    let named = uri.authority().map(Authority::as_str);
    match (first.map(|host| host.to_str()), named) {
        _ if second.is_some() => None,
        (Some(Err(_)), _) | (None, None) => None,
        (Some(Ok(host)), Some(named)) => host.eq_ignore_ascii_case(named).then_some(host),
        (Some(Ok(host)), None) => Some(host),
        (None, Some(named)) => Some(named),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn own(headers: &[(&str, &str)]) -> bool {
        let mut request = Request::post("/do/pause");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        is_own(&request.body(()).expect("a request").into_parts().0)
    }

    #[test]
    fn a_form_of_another_site_is_told_from_our_own() {
        assert!(own(&[("sec-fetch-site", "same-origin")]));
        assert!(own(&[("sec-fetch-site", "none")]));
        assert!(!own(&[("sec-fetch-site", "cross-site"), ("host", "h"), ("origin", "http://h")]));
        assert!(!own(&[("sec-fetch-site", "same-site")]));
        assert!(own(&[("host", "h:8"), ("origin", "http://h:8")]));
        assert!(own(&[("host", "H:8"), ("origin", "https://h:8")]));
        assert!(!own(&[("host", "h:8"), ("origin", "http://h:9")]));
        assert!(!own(&[("host", "h"), ("origin", "null")]));
        assert!(!own(&[("origin", "http://h")]));
    }

    #[test]
    fn what_is_no_browser_passes() {
        assert!(own(&[("host", "h")]));
    }
}
