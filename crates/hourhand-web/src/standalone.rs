//! The dashboard as a process of its own, which has nobody to ask who a visitor is.
//!
//! On a loopback address whoever reaches it is on this machine; but a page of any site can reach it too, through the browser of
//! somebody who is: by a form (refused like any other site's), or by a name of its own that it lets point here. So there the host that
//! is asked for has to be one of ours. On any other address nobody is served without credentials.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hourhand::Operator;
use subtle::{Choice, ConstantTimeEq};

use crate::access::{Access, Visitor};
use crate::dashboard::{Dashboard, guard};
use crate::fail::refusal;
use crate::live_output::LiveOutput;
use crate::origin;

/// Why a dashboard is not served this way.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Anybody could see it, and act.
    #[error(
        "{0} is not a loopback address, and there are no credentials: anybody who reaches it could see and change everything. \
         Give a user and password or a token, or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// A password or token that is none.
    #[error("{0} is empty")]
    Empty(&'static str),
}

/// Who may enter a dashboard that is served by itself: whoever is on this machine, or whoever has credentials.
///
/// ```no_run
/// use hourhand::Operator;
/// use hourhand_web::Standalone;
///
/// # fn example(operator: Operator) -> Result<axum::Router, hourhand_web::Refused> {
/// let router = Standalone::on("10.0.0.5:8080".parse().unwrap()).user("ann", "a long password").router(operator)?;
/// # Ok(router) }
/// ```
#[derive(Clone)]
#[must_use = "it is served by its router"]
pub struct Standalone {
    address: SocketAddr,
    users: Vec<(String, String)>,
    tokens: Vec<String>,
    hosts: Vec<String>,
    is_read_only: bool,
    live_output: LiveOutput,
}

impl Standalone {
    /// To be served on this address.
    pub fn on(address: SocketAddr) -> Standalone {
        Standalone {
            address,
            users: Vec::new(),
            tokens: Vec::new(),
            hosts: Vec::new(),
            is_read_only: false,
            live_output: LiveOutput::default(),
        }
    }

    /// Lets in who gives this name and password (HTTP basic). What they do is on record under the name.
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Standalone {
        self.users.push((name.into(), password.into()));
        self
    }

    /// Lets in who gives this token (HTTP bearer).
    pub fn token(mut self, token: impl Into<String>) -> Standalone {
        self.tokens.push(token.into());
        self
    }

    /// Also answers to this host name, without port: where a proxy on this machine, or a name in its hosts file, leads here.
    pub fn host(mut self, name: impl Into<String>) -> Standalone {
        self.hosts.push(name.into());
        self
    }

    /// Shows everything and lets nobody act.
    pub fn read_only(mut self, is_read_only: bool) -> Standalone {
        self.is_read_only = is_read_only;
        self
    }

    /// As [`Dashboard::live_output`].
    pub fn live_output<F, Fut>(mut self, ask: F) -> Standalone
    where
        F: Fn(String, i64) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<String>> + Send + 'static,
    {
        self.live_output = LiveOutput::of(ask);
        self
    }

    /// The router.
    ///
    /// # Errors
    ///
    /// Everybody could enter, or a password or token is empty.
    pub fn router(self, operator: Operator) -> Result<Router, Refused> {
        self.guard(Dashboard::new(operator, known))
    }

    /// The dashboard behind the door.
    fn guard(self, dashboard: Dashboard) -> Result<Router, Refused> {
        self.check()?;
        let dashboard = dashboard.with(self.live_output.clone());
        Ok(dashboard.into_router().layer(from_fn_with_state(Arc::new(self), enter)))
    }

    /// As [`Standalone::router`], whose streams end when this comes true.
    ///
    /// # Errors
    ///
    /// As [`Standalone::router`].
    pub fn router_until(
        self,
        operator: Operator,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Router, Refused> {
        self.guard(Dashboard::new(operator, known).shutdown_on(shutdown))
    }

    fn check(&self) -> Result<(), Refused> {
        if self.users.iter().any(|(_, password)| password.is_empty()) {
            return Err(Refused::Empty("the password"));
        }
        if self.tokens.iter().any(String::is_empty) {
            return Err(Refused::Empty("the token"));
        }
        if self.is_open() && !self.address.ip().is_loopback() {
            return Err(Refused::Open(self.address));
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.users.is_empty() && self.tokens.is_empty()
    }

    /// Whether it answers to the name that was asked for.
    fn answers_to(&self, host: &str) -> bool {
        let name = host.parse::<Authority>().map(|authority| authority.host().to_owned()).unwrap_or_default();
        let is_named = self.hosts.iter().any(|known| known.eq_ignore_ascii_case(&name));
        if !self.address.ip().is_loopback() {
            return is_named || self.hosts.is_empty();
        }
        let own = ["localhost", "127.0.0.1", "[::1]"].iter().any(|known| known.eq_ignore_ascii_case(&name));
        own || is_named || name == self.address.ip().to_string()
    }

    /// Who it is; none: nobody we know.
    fn visitor(&self, headers: &HeaderMap) -> Option<Visitor> {
        let access = if self.is_read_only { Access::ReadOnly } else { Access::Full };
        if self.is_open() {
            return Some(access.into());
        }
        let given = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, secret) = given.split_once(' ')?;
        if scheme.eq_ignore_ascii_case("bearer") {
            return matches(self.tokens.iter().map(String::as_str), secret).then(|| access.into());
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let pair = String::from_utf8(BASE64_STANDARD.decode(secret.trim()).ok()?).ok()?;
        let known: Vec<String> = self.users.iter().map(|(name, password)| format!("{name}:{password}")).collect();
        let name = pair.split_once(':')?.0;
        matches(known.iter().map(String::as_str), &pair).then(|| access.named(name))
    }
}

impl std::fmt::Debug for Standalone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let users: Vec<&str> = self.users.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Standalone").field("address", &self.address).field("users", &users).finish_non_exhaustive()
    }
}

/// Whether it is one of these, in a time that says nothing of which, or of how much of it is right.
fn matches<'a>(known: impl Iterator<Item = &'a str>, given: &str) -> bool {
    let found = known.fold(Choice::from(0), |found, one| found | one.as_bytes().ct_eq(given.as_bytes()));
    found.into()
}

/// Whom the door let in.
fn known(request: &axum::http::request::Parts) -> Visitor {
    request.extensions.get::<Visitor>().cloned().unwrap_or_default()
}

async fn enter(State(door): State<Arc<Standalone>>, mut request: Request, next: Next) -> Response {
    match admitted(&door, &request) {
        Ok(visitor) => {
            request.extensions_mut().insert(visitor);
            next.run(request).await
        }
        Err(mut refused) => {
            guard(&mut refused);
            *refused
        }
    }
}

fn admitted(door: &Standalone, request: &Request) -> Result<Visitor, Box<Response>> {
    let refused = |status, why| Box::new(refusal(request.uri(), status, why));
    let Some(host) = origin::host(request.headers(), request.uri()) else {
        return Err(refused(StatusCode::BAD_REQUEST, "a request has one host, and says it once"));
    };
    if !door.answers_to(host) {
        let why = "this host name is not one of this dashboard's: name it with --allow-host";
        return Err(refused(StatusCode::MISDIRECTED_REQUEST, why));
    }
    door.visitor(request.headers()).ok_or_else(|| {
        let mut answer = refused(StatusCode::UNAUTHORIZED, "who are you?");
        let realm = HeaderValue::from_static("Basic realm=\"hourhand\", charset=\"UTF-8\"");
        answer.headers_mut().insert(WWW_AUTHENTICATE, realm);
        answer
    })
}
