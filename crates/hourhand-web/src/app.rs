//! What all requests share.

use std::sync::Arc;

use axum::extract::FromRef;
use axum::http::request::Parts;
use hourhand::Operator;

use crate::access::{Doorkeeper, Visitor};
use crate::ctx::Ctx;
use crate::hub::Hub;

/// One of a dashboard.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    operator: Operator,
    doorkeeper: Doorkeeper,
    public_path: Option<String>,
    hub: Hub,
}

impl App {
    pub(crate) fn new(operator: Operator, doorkeeper: Doorkeeper, public_path: Option<String>, hub: Hub) -> App {
        App(Arc::new(Inner { operator, doorkeeper, public_path, hub }))
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
