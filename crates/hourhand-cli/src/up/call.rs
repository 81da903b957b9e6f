//! One HTTP call: sent, answered, judged.
//!
//! | answer | what it is |
//! | --- | --- |
//! | 2xx | success |
//! | 429, 503 | an outage that was to be expected; `Retry-After` is the wait before the next attempt, if attempts remain |
//! | 502, 504, no connection, a connection that breaks off | an outage that was to be expected |
//! | anything else, a redirection too | a failure |
//!
//! Redirections are not followed: a job that should have been called would be said to have run by a login page's 200.

use std::time::Duration;

use bytes::Bytes;
use hourhand::Failure;
use http::header::{DATE, HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use tokio_util::task::AbortOnDropHandle;

use super::connection;
use super::tail::Tail;
use crate::config::Endpoint;

/// How much of an answer's body is kept: its end.
pub(super) const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// How much of it stands in the message of a failure.
const EXCERPT_CHARS_MAX: usize = 200;
/// A longer wait is not asked for in earnest; the next occurrence comes.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// What came of a call.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) verdict: Result<(), Failure>,
    /// The end of the answer's body; empty if there was none.
    pub(super) output: String,
}

/// Calls, with these headers besides the endpoint's own. Dropped, it closes the connection: the service can see that.
pub(super) async fn call(endpoint: &Endpoint, facts: &[(HeaderName, HeaderValue)]) -> Answered {
    let mut tail = Tail::new(OUTPUT_BYTES_MAX);
    let verdict = exchange(endpoint, facts, &mut tail).await;
    let output = tail.text();
    let verdict = match verdict {
        Ok(head) => judge(&head, &output, Timestamp::now()).map_err(|failure| at(endpoint, failure)),
        Err(failure) => Err(at(endpoint, failure)),
    };
    Answered { verdict, output }
}

/// The failure with what was called in front; of the URL only the host.
fn at(endpoint: &Endpoint, failure: Judged) -> Failure {
    let text = format!("{} {}: {}", endpoint.method, endpoint.url, failure.why);
    let told = if failure.transient { Failure::transient(text) } else { Failure::unexpected(text) };
    match failure.retry_after {
        Some(wait) => told.retry_after(wait),
        None => told,
    }
}

/// Why a call is no success.
#[derive(Debug, PartialEq)]
struct Judged {
    why: String,
    transient: bool,
    retry_after: Option<Duration>,
}

impl Judged {
    fn transient(why: String) -> Judged {
        Judged { why, transient: true, retry_after: None }
    }
}

/// Status and headers of an answer.
struct Head {
    status: StatusCode,
    headers: HeaderMap,
}

async fn exchange(endpoint: &Endpoint, facts: &[(HeaderName, HeaderValue)], tail: &mut Tail) -> Result<Head, Judged> {
    let request = request(endpoint, facts).map_err(|error| Judged { transient: false, ..Judged::transient(error) })?;
    let stream = connection::open(endpoint.url.uri()).await;
    let stream = stream.map_err(|error| Judged { transient: error.transient, ..Judged::transient(error.why) })?;
    let broken = |error: hyper::Error| Judged::transient(format!("the connection broke off: {}", causes(&error)));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let _driven = AbortOnDropHandle::new(tokio::spawn(connection));
    let response: Response<Incoming> = sender.send_request(request).await.map_err(broken)?;
    let (head, mut body) = response.into_parts();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(broken)?.into_data() {
            tail.push(&data);
        }
    }
    Ok(Head { status: head.status, headers: head.headers })
}

fn request(endpoint: &Endpoint, facts: &[(HeaderName, HeaderValue)]) -> Result<Request<Full<Bytes>>, String> {
    let uri = endpoint.url.uri();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let body = endpoint.body.as_ref().map(|body| Bytes::copy_from_slice(body.reveal().as_bytes())).unwrap_or_default();
    let mut request = Request::builder()
        .method(endpoint.method.clone())
        .uri(path)
        .header(HOST, host)
        .header(USER_AGENT, concat!("hourhand/", env!("CARGO_PKG_VERSION")))
        .body(Full::new(body))
        .map_err(|error| error.to_string())?;
    // The file's own come last: they may say another User-Agent.
    for (name, value) in facts.iter().chain(&endpoint.headers) {
        request.headers_mut().insert(name, value.clone());
    }
    Ok(request)
}

fn judge(head: &Head, output: &str, now: Timestamp) -> Result<(), Judged> {
    let status = head.status;
    if status.is_success() {
        return Ok(());
    }
    let excerpt = output.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let excerpt: String = excerpt.chars().take(EXCERPT_CHARS_MAX).collect();
    let why = match (status.is_redirection(), excerpt.as_str()) {
        (true, _) => format!("answered {status}: redirections are not followed, give the URL that it leads to"),
        (false, "") => format!("answered {status}"),
        (false, excerpt) => format!("answered {status}: {excerpt}"),
    };
    let busy = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let away = matches!(status, StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT);
    let retry_after = if busy { retry_after(&head.headers, now) } else { None };
    Err(Judged { why, transient: busy || away, retry_after })
}

/// The wait that an answer asks for: in seconds, or as a date, which is taken by the service's own clock if it shows that.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let date = |text: &str| rfc2822::parse(text).ok().map(|zoned| zoned.timestamp());
            let theirs = headers.get(DATE).and_then(|text| date(text.to_str().ok()?));
            Duration::try_from(date(text)?.duration_since(theirs.unwrap_or(now))).unwrap_or(Duration::ZERO)
        }
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

/// An error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(found) = cause {
        text = format!("{text}: {found}");
        cause = found.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-30T12:00:00Z";

    fn judged(status: u16, headers: &[(HeaderName, &'static str)]) -> Result<(), Judged> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        let head = Head { status: StatusCode::from_u16(status).unwrap(), headers };
        judge(&head, "\n first line\nsecond", NOW.parse().unwrap())
    }

    #[test]
    fn only_2xx_is_success() {
        assert_eq!(judged(200, &[]), Ok(()));
        assert_eq!(judged(204, &[]), Ok(()));
        let failed = judged(500, &[]).unwrap_err();
        assert_eq!((failed.why.as_str(), failed.transient), ("answered 500 Internal Server Error: first line", false));
        assert!(judged(302, &[]).unwrap_err().why.contains("not followed"));
        assert!(judged(502, &[]).unwrap_err().transient && judged(504, &[]).unwrap_err().transient);
    }

    #[test]
    fn a_busy_service_is_an_outage_and_its_wait_is_kept_to() {
        let wait = |status, headers: &[_]| judged(status, headers).unwrap_err().retry_after;
        assert_eq!(wait(503, &[(RETRY_AFTER, "120")]), Some(Duration::from_secs(120)));
        assert_eq!(wait(429, &[(RETRY_AFTER, "Mon, 30 Nov 2026 12:01:30 GMT")]), Some(Duration::from_secs(90)));
        let by_its_own_clock =
            [(RETRY_AFTER, "Mon, 30 Nov 2026 13:01:30 GMT"), (DATE, "Mon, 30 Nov 2026 13:01:00 GMT")];
        assert_eq!(wait(429, &by_its_own_clock), Some(Duration::from_secs(30)));
        assert_eq!(wait(503, &[(RETRY_AFTER, "Mon, 30 Nov 2026 11:00:00 GMT")]), Some(Duration::ZERO));
        assert_eq!(wait(503, &[(RETRY_AFTER, "99999999999")]), Some(RETRY_AFTER_MAX));
        for none in ["soon", "-5", ""] {
            assert_eq!(wait(503, &[(RETRY_AFTER, none)]), None);
        }
        assert_eq!(wait(500, &[(RETRY_AFTER, "120")]), None, "it did not say that it is busy");
    }
}
