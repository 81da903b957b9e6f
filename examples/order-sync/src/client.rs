//! The outside order service as order-sync calls it.

use std::error::Error as _;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url, redirect, retry};
use thiserror::Error;

use crate::order::OrderPage;
use crate::terms::Terms;
use crate::walk::Ask;

/// The feed's one endpoint, at the pace it allows.
///
/// The limiter is in here so that nobody in this process can call without it. What it can't know, since it is made anew
/// with each process (what another process called a moment ago, and how large the last answer was), is
/// kept in the database: see [`crate::store`].
#[derive(Debug)]
pub struct FeedClient {
    http: Client,
    orders: Url,
    limiter: DefaultDirectRateLimiter,
    call_max: Duration,
}

/// No header of theirs silences us for longer.
const REST_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Why there is no page.
#[derive(Debug, Error)]
pub enum FeedError {
    /// It wants to be left alone for so long.
    #[error("the feed asks for {0:?} of rest")]
    Busy(Duration),
    /// It can't be reached, is too slow or has trouble of its own: nothing that anybody here could mend.
    #[error("the feed is out of order: {what}")]
    Outage {
        /// What it looked like.
        what: String,
        /// When it says it will be back.
        retry_after: Option<Duration>,
    },
    /// It answered what it never should: a bug, there or here.
    #[error("the feed answered unexpectedly: {0}")]
    Unexpected(String),
}

impl FeedClient {
    /// A client of the feed at `base`, whose calls take at most `call_max`.
    ///
    /// # Errors
    ///
    /// `base` is no address to call.
    pub fn new(base: &str, terms: &Terms, call_max: Duration) -> anyhow::Result<Self> {
        let mut orders = Url::parse(base).context("FEED_URL is no URL")?;
        ensure!(orders.scheme() == "http", "FEED_URL begins with {}://, not http://", orders.scheme());
        orders.path_segments_mut().map_err(|()| anyhow!("FEED_URL has no path"))?.pop_if_empty().push("orders");
        // One call is one call: no redirect, no retry and no stale connection of the minute before makes it two.
        let http = Client::builder()
            .timeout(call_max)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .pool_max_idle_per_host(0)
            .build()?;
        let quota = Quota::with_period(terms.interval).context("the feed's interval is zero")?;
        let limiter = RateLimiter::direct(quota);
        Ok(Self { http, orders, limiter, call_max })
    }

    /// The longest that [`FeedClient::orders`] takes from its call on.
    pub fn call_max(&self) -> Duration {
        self.call_max
    }

    /// Calls once, after waiting for the limiter. Dropped, it leaves no call under way: its connection closes.
    ///
    /// # Errors
    ///
    /// See [`FeedError`].
    pub async fn orders(&self, ask: Ask) -> Result<OrderPage, FeedError> {
        self.limiter.until_ready().await;
        let (from, until, page) = (ask.from.to_string(), ask.until.to_string(), ask.page.to_string());
        let query = [("updated_from", from), ("updated_until", until), ("page", page)];
        let response = self.http.get(self.orders.clone()).query(&query).send().await.map_err(outage)?;
        match response.status() {
            StatusCode::OK => {
                let body = response.bytes().await.map_err(outage)?;
                serde_json::from_slice(&body).map_err(|e| FeedError::Unexpected(format!("not a page of orders: {e}")))
            }
            status => Err(refused(status, response).await),
        }
    }
}

/// No answer, or half of one.
fn outage(error: reqwest::Error) -> FeedError {
    let error = error.without_url();
    let mut what = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        what = format!("{what}: {inner}");
        cause = inner.source();
    }
    FeedError::Outage { what, retry_after: None }
}

async fn refused(status: StatusCode, response: Response) -> FeedError {
    let retry_after = retry_after(response.headers(), Timestamp::now());
    if status == StatusCode::TOO_MANY_REQUESTS {
        // Without a Retry-After a second is a guess; being wrong is answered by the next 429.
        FeedError::Busy(retry_after.unwrap_or(Duration::from_secs(1)))
    } else if status.is_server_error() {
        FeedError::Outage { what: status.to_string(), retry_after }
    } else {
        let body = response.text().await.unwrap_or_default();
        FeedError::Unexpected(format!("{status} {}", body.chars().take(200).collect::<String>()))
    }
}

/// Retry-After is a number of seconds or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let rest = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let at = DateTimeParser::new().parse_timestamp(text).ok()?;
            Duration::try_from(at.duration_since(now)).unwrap_or_default()
        }
    };
    Some(rest.min(REST_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms {
        Terms { interval: Duration::from_secs(1), large_rows: 50, rest: Duration::from_secs(5) }
    }

    fn client(base: &str) -> anyhow::Result<FeedClient> {
        FeedClient::new(base, &terms(), Duration::from_secs(10))
    }

    #[test]
    fn the_endpoint_is_found_below_any_base() {
        for (base, expected) in [
            ("http://feed:7070", "http://feed:7070/orders"),
            ("http://feed:7070/", "http://feed:7070/orders"),
            ("http://feed/api/v1/", "http://feed/api/v1/orders"),
        ] {
            assert_eq!(client(base).unwrap().orders.as_str(), expected);
        }
    }

    #[test]
    fn an_address_that_can_not_be_called_is_refused_at_once() {
        for (base, expected) in [
            ("feed:7070", "FEED_URL begins with feed://, not http://"),
            ("", "FEED_URL is no URL: relative URL without a base"),
            ("http://user:secret@", "FEED_URL is no URL: empty host"),
            ("https://feed", "FEED_URL begins with https://, not http://"),
        ] {
            let error = client(base).unwrap_err();
            assert_eq!(format!("{error:#}"), expected);
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_a_date_in_the_past_is_no_wait() {
        let now = Timestamp::constant(784_111_777, 0);
        for (text, expected) in [
            ("7", Some(7)),
            ("0", Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("99999999999999", Some(24 * 60 * 60)),
            ("-1", None),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
            assert_eq!(retry_after(&headers, now), expected.map(Duration::from_secs), "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
