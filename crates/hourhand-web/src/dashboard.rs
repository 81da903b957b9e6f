//! The router: what stands where, and what every request passes through.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use futures_util::FutureExt;
use hourhand::Operator;

use crate::access::{Access, Doorkeeper, Visitor};
use crate::app::{App, PAGE_BOUND};
use crate::ctx::{Ctx, prefix};
use crate::fail::{Fail, refusal};
use crate::hub::{Hub, Shutdown};
use crate::live_output::LiveOutput;
use crate::{actions, api, assets, hub, origin, pages};

/// Nothing inline, nothing from elsewhere, in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The dashboard, to be mounted in any axum service. `access` is asked with the head of every request what its visitor may do; what
/// it does not allow is not served.
///
/// Mount it with `nest_service("/any/path", …)`, or serve it as it is. See [`Dashboard`] for what else can be said.
pub fn router<V: Into<Visitor>>(operator: Operator, access: impl Fn(&Parts) -> V + Send + Sync + 'static) -> Router {
    Dashboard::new(operator, access).into_router()
}

/// A dashboard to be, where [`router`] leaves something to say.
#[must_use = "it is served by its router"]
pub struct Dashboard {
    operator: Operator,
    doorkeeper: Doorkeeper,
    public_path: Option<String>,
    live_output: LiveOutput,
    shutdown: Shutdown,
}

impl Dashboard {
    /// As [`router`].
    pub fn new<V: Into<Visitor>>(
        operator: Operator,
        access: impl Fn(&Parts) -> V + Send + Sync + 'static,
    ) -> Dashboard {
        let doorkeeper = Arc::new(move |request: &Parts| access(request).into());
        let operator = operator.answering_within(PAGE_BOUND);
        Dashboard { operator, doorkeeper, public_path: None, live_output: LiveOutput::default(), shutdown: None }
    }

    /// The path under which browsers see it, where a proxy in front takes part of the path away. What axum takes away is found out.
    pub fn public_path(mut self, path: impl Into<String>) -> Dashboard {
        self.public_path = Some(path.into().trim_end_matches('/').to_owned());
        self
    }

    /// Shows what runs under way in this process have written so far, from whoever has them: asked with a job and an epoch, of which
    /// most are not here (`None`). Runs elsewhere show their output once they have ended.
    ///
    /// ```no_run
    /// # fn example(operator: hourhand::Operator, scheduler: hourhand::Scheduler) -> axum::Router {
    /// use hourhand_web::{Access, Dashboard};
    ///
    /// Dashboard::new(operator, |_| Access::ReadOnly)
    ///     .live_output(move |job, epoch| {
    ///         let scheduler = scheduler.clone();
    ///         async move { scheduler.output(&job, epoch).await }
    ///     })
    ///     .into_router()
    /// # }
    /// ```
    pub fn live_output<F, Fut>(self, ask: F) -> Dashboard
    where
        F: Fn(String, i64) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<String>> + Send + 'static,
    {
        self.with(LiveOutput::of(ask))
    }

    pub(crate) fn with(mut self, live_output: LiveOutput) -> Dashboard {
        self.live_output = live_output;
        self
    }

    /// Ends open streams when this comes true, so that a graceful shutdown does not wait for viewers. Without it no stream lasts
    /// longer than 15 seconds, and browsers open another.
    pub fn shutdown_on(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Dashboard {
        self.shutdown = Some(signal.boxed().shared());
        self
    }

    /// The router.
    pub fn into_router(self) -> Router {
        let hub = Hub::new(self.operator.clone(), self.shutdown);
        let app = App::new((self.operator, hub), self.doorkeeper, self.public_path, self.live_output);
        let routes = Router::new()
            .route("/", get(pages::overview::show))
            .route("/job", get(pages::job::show))
            .route("/run", get(pages::run::show))
            .route("/output", get(pages::run::output))
            .route("/history", get(pages::history::show))
            .route("/locks", get(pages::locks::show))
            .route("/health", get(pages::health::show))
            .route("/nodes", get(pages::nodes::show))
            .route("/audit", get(pages::audit::show))
            .route("/events", get(hub::events))
            .route("/static/{name}", get(assets::show))
            .nest("/do", actions::routes())
            .nest("/api", api::routes())
            .fallback(get(pages::nothing))
            .method_not_allowed_fallback(api::not_this_way);
        routes.layer(from_fn_with_state(app.clone(), enter)).with_state(app)
    }
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operator, path) = (&self.operator, &self.public_path);
        f.debug_struct("Dashboard").field("operator", operator).field("public_path", path).finish_non_exhaustive()
    }
}

/// Who is it, may they, and what all answers carry. Everything served passes here.
async fn enter(State(app): State<App>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut response = match admitted(&app, &parts) {
        Ok(ctx) if parts.uri.query().is_some_and(|query| query.contains("%00")) => ctx.answer(&parts.uri, Fail::nul()),
        Ok(ctx) => {
            parts.extensions.insert(ctx);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(why) => refusal(&parts.uri, StatusCode::FORBIDDEN, why),
    };
    guard(&mut response);
    response
}

/// What all answers carry.
pub(crate) fn guard(response: &mut Response) {
    let headers = response.headers_mut();
    let mut say = |name, value| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    say(CONTENT_SECURITY_POLICY, POLICY);
    say(X_CONTENT_TYPE_OPTIONS, "nosniff");
    // Not `no-referrer`: with it a form's `Origin` would be `null`, and could not be told from another site's.
    say(REFERRER_POLICY, "same-origin");
    say(CACHE_CONTROL, "no-store");
}

fn admitted(app: &App, request: &Parts) -> Result<Ctx, &'static str> {
    let visitor = app.visitor(request);
    if visitor.access == Access::Denied {
        return Err("you may not see this");
    }
    if !matches!(request.method, Method::GET | Method::HEAD) {
        if !origin::is_own(request) {
            return Err("this came from another site, and was not done");
        }
        if visitor.access != Access::Full {
            return Err("you may look, but not act");
        }
    }
    let ours = request.uri.path();
    let original = request.extensions.get::<OriginalUri>().map_or(ours, |original| original.0.path());
    let prefix = app.public_path().map_or_else(|| prefix(original, ours), str::to_owned);
    let said = request.uri.query().and_then(actions::said);
    Ok(Ctx { prefix, visitor, said })
}
