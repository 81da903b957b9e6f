//! The dashboard of hourhand: what runs, what is late and why, and buttons to act on it. It exists to keep HTML and HTTP out of the
//! library.
//!
//! [`router`] mounts in any axum service in one line; who may see it is the service's to say:
//!
//! ```no_run
//! use axum::Router;
//! use hourhand::Operator;
//! use hourhand_web::Access;
//!
//! # async fn example(url: String) -> Result<Router, hourhand::Error> {
//! let operator = Operator::builder(url).connect_lazily()?;
//! let dashboard = hourhand_web::router(operator, |request| match request.extensions.get::<Admin>() {
//!     Some(admin) => Access::Full.named(&admin.name),
//!     None => Access::Denied.into(),
//! });
//! let app: Router = Router::new().nest_service("/admin/jobs", dashboard);
//! # Ok(app) }
//! # #[derive(Clone)] struct Admin { name: String }
//! ```
//!
//! Pages are rendered on the server and work without script; with it they are live. Nothing comes from another host, and the
//! content security policy allows nothing inline. All that is shown is read by an [`Operator`](hourhand::Operator): one connection,
//! bounded statements, no effect on scheduling.
//!
//! Under the same mount stands a JSON API with the fields of the command's `--json`: `api/openapi.json` describes it.
//!
//! A process that serves nothing but the dashboard has nobody to ask who a visitor is: [`Standalone`] does, by loopback or by
//! credentials.

mod access;
mod actions;
mod api;
mod app;
mod asked;
mod assets;
mod chart;
mod ctx;
mod dashboard;
mod fail;
mod frame;
mod hub;
mod live_output;
mod markup;
mod origin;
mod pages;
mod standalone;

pub use access::{Access, Visitor};
pub use dashboard::{Dashboard, router};
pub use standalone::{Refused, Standalone};
