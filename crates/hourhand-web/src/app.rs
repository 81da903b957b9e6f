//! What all requests share.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use axum::http::request::Parts;
use hourhand::Operator;

use crate::access::{Doorkeeper, Visitor};
use crate::ctx::Ctx;
use crate::hub::Hub;
use crate::live_output::LiveOutput;

/// A question of a page that takes longer is given up, so that looking at a slow database does not make it slower.
pub(crate) const PAGE_BOUND: Duration = Duration::from_secs(4);

/// One of a dashboard.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    operator: Operator,
    doorkeeper: Doorkeeper,
    public_path: Option<String>,
    live_output: LiveOutput,
    hub: Hub,
}

impl App {
    pub(crate) fn new(
        (operator, hub): (Operator, Hub),
        doorkeeper: Doorkeeper,
        public_path: Option<String>,
        live_output: LiveOutput,
    ) -> App {
        App(Arc::new(Inner { operator, doorkeeper, public_path, live_output, hub }))
    }

    pub(crate) fn operator(&self) -> &Operator {
        &self.0.operator
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    /// The operator in the visitor's name.
    pub(crate) fn operator_of(&self, ctx: &Ctx) -> Operator {
        match &ctx.visitor.name {
            Some(name) => self.0.operator.acting_as(name),
            None => self.0.operator.clone(),
        }
    }

    /// Who it is, by the host's word.
    pub(crate) fn visitor(&self, request: &Parts) -> Visitor {
        (self.0.doorkeeper)(request)
    }

    pub(crate) fn live_output(&self) -> &LiveOutput {
        &self.0.live_output
    }

    /// The path that browsers see it under, where that was said.
    pub(crate) fn public_path(&self) -> Option<&str> {
        self.0.public_path.as_deref()
    }
}

impl FromRef<App> for Hub {
    fn from_ref(app: &App) -> Hub {
        app.hub().clone()
    }
}
