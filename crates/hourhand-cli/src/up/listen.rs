//! What the sidecar answers over HTTP: is it alive, is all well, and what happened so far.
//!
//! | path | answer |
//! | --- | --- |
//! | `/livez` | 200 while the process answers: a restart mends nothing else |
//! | `/healthz` | 200, or 503 and what is wrong, as JSON: readiness and alerts |
//! | `/metrics` | Prometheus' text |
//! | `/` | the dashboard |
//!
//! The three may be asked from anywhere. The dashboard shows and does more: on an address that others reach, it is served to those
//! with credentials only, and not at all where there are none.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hourhand::{Operator, Scheduler};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use tracing::{info, warn};

use super::metrics;
use crate::door::Door;
use crate::refusal::Refusal;

/// The scheduler's thread answers within milliseconds, unless it has frozen.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// What the answers are made of.
#[derive(Clone)]
struct Seen {
    current: watch::Receiver<Option<Scheduler>>,
    stopping: CancellationToken,
    metrics: PrometheusHandle,
}

/// The dashboard, as long as the file says this database.
#[derive(Default)]
struct Shown {
    /// None: it is not served on this address.
    router: Option<Router>,
    /// Ends its streams.
    gone: CancellationToken,
}

/// The server.
pub(super) struct Listening {
    server: JoinHandle<()>,
    bound: SocketAddr,
    shown: watch::Sender<Shown>,
    gone: CancellationToken,
}

impl Listening {
    /// The file leads to another database, or schema: from now on the dashboard shows that.
    pub(super) fn show(&self, operator: Operator) {
        let before = self.shown.send_replace(shown(self.bound, operator, &self.gone));
        before.gone.cancel();
    }

    /// Waits until it has ended; a client that never hangs up is left.
    pub(super) async fn ended(self) {
        let abort = self.server.abort_handle();
        if tokio::time::timeout(Duration::from_secs(1), self.server).await.is_err() {
            abort.abort();
        }
    }
}

/// The scheduler, the token of the first signal, and the token that ends the server.
type Told = (watch::Receiver<Option<Scheduler>>, CancellationToken, CancellationToken);

/// Where to listen, and what the dashboard sees.
pub(super) type Served = (SocketAddr, Operator);

/// Listens. The address is taken before anything else starts: that it is in use is said at once.
pub(super) async fn start((address, operator): Served, (current, stopping, gone): Told) -> Result<Listening, Refusal> {
    let refused = |error: std::io::Error| Refusal::failed(format!("could not listen on {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    let metrics = metrics::install()?;
    let keeping = tokio::spawn(metrics::keep(metrics.clone()));
    let shown = watch::Sender::new(shown(bound, operator, &gone));
    let app = router(Seen { current, stopping, metrics }, shown.subscribe());
    let serving = axum::serve(listener, app).with_graceful_shutdown(gone.clone().cancelled_owned());
    let server = tokio::spawn(async move {
        if let Err(error) = serving.await {
            warn!("health and metrics are not served any more: {error}");
        }
        keeping.abort();
    });
    Ok(Listening { server, bound, shown, gone })
}

/// The dashboard of a database, if it may be served on this address.
fn shown(bound: SocketAddr, operator: Operator, all_gone: &CancellationToken) -> Shown {
    let gone = all_gone.child_token();
    match Door::default().dashboard(bound, operator, gone.clone()) {
        Ok(router) => {
            info!("listening on http://{bound}: dashboard, /healthz, /livez, /metrics");
            Shown { router: Some(router), gone }
        }
        Err(refusal) => {
            info!("listening on http://{bound}: /healthz, /livez, /metrics; no {}", refusal.text());
            Shown { router: None, gone }
        }
    }
}

/// The three paths, and the dashboard where it is served.
fn router(seen: Seen, shown: watch::Receiver<Shown>) -> Router {
    let open = Router::new()
        .route("/livez", get(async || "alive\n"))
        .route("/healthz", get(healthz))
        .route("/metrics", get(async |State(seen): State<Seen>| seen.metrics.render()))
        .with_state(seen);
    open.fallback(async move |request: Request| {
        let dashboard = shown.borrow().router.clone();
        let Some(dashboard) = dashboard else {
            return (StatusCode::FORBIDDEN, "the dashboard is served to those with credentials only\n").into_response();
        };
        dashboard.oneshot(request).await.into_response()
    })
}

async fn healthz(State(seen): State<Seen>) -> Response {
    let scheduler = seen.current.borrow().clone();
    let asked = async {
        match &scheduler {
            Some(scheduler) => scheduler.health().await.problems,
            None => vec!["the scheduler is starting".to_owned()],
        }
    };
    let silent = |_| vec![format!("the scheduler has not answered within {ANSWER_MAX:?}")];
    let mut problems = tokio::time::timeout(ANSWER_MAX, asked).await.unwrap_or_else(silent);
    if seen.stopping.is_cancelled() {
        problems.push("the process shuts down".to_owned());
    }
    let status = if problems.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = serde_json::json!({ "ok": problems.is_empty(), "problems": problems });
    (status, [(CONTENT_TYPE, "application/json")], format!("{body}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    /// The status of a path, as a listener would answer it that is bound to this address.
    async fn status(bound: &str, path: &str) -> u16 {
        let (_, current) = watch::channel(None);
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let seen = Seen { current, stopping: CancellationToken::new(), metrics };
        let operator = Operator::builder("postgres://127.0.0.1:1/x").connect_lazily().unwrap();
        let shown = watch::Sender::new(shown(bound.parse().unwrap(), operator, &CancellationToken::new()));
        let app = router(seen, shown.subscribe());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    #[tokio::test]
    async fn what_shows_more_than_health_and_metrics_is_served_on_a_loopback_address_only() {
        assert_eq!(status("127.0.0.1:9090", "/static/style.css").await, 200);
        assert_eq!(status("[::1]:9090", "/static/style.css").await, 200);
        for everywhere in ["0.0.0.0:9090", "192.0.2.1:9090", "[::]:9090"] {
            assert_eq!(status(everywhere, "/static/style.css").await, 403, "{everywhere}");
            assert_eq!(status(everywhere, "/livez").await, 200, "{everywhere}");
            assert_eq!(status(everywhere, "/metrics").await, 200, "{everywhere}");
            assert_eq!(status(everywhere, "/healthz").await, 503, "no scheduler yet");
        }
    }
}
