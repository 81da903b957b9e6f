//! The dashboard, below `/jobs`: what runs, what is late and why, and buttons to act on it.
//!
//! A service that knows its users would hand `hourhand_web::router` a closure that asks who it is. This one knows nobody: so whoever is
//! on the machine, or has the password.

use std::net::SocketAddr;

use anyhow::Context;
use axum::Router;
use hourhand::{Operator, Scheduler};
use hourhand_web::Standalone;
use tokio_util::sync::CancellationToken;

use crate::options::ServeOptions;

/// Its router; none, and said why, where anybody could enter.
///
/// # Errors
///
/// The user is not given as NAME:PASSWORD, or the database's URL is wrong.
pub fn router(
    options: &ServeOptions,
    (address, scheduler): (SocketAddr, Option<&Scheduler>),
    shutdown: CancellationToken,
) -> anyhow::Result<Option<Router>> {
    let mut door = Standalone::on(address);
    if let Some(user) = &options.dashboard_user {
        let (name, password) = user.split_once(':').context("the dashboard's user is given as NAME:PASSWORD")?;
        door = door.user(name, password);
    }
    if let Some(scheduler) = scheduler.cloned() {
        door = door.live_output(move |job, epoch| {
            let scheduler = scheduler.clone();
            async move { scheduler.output(&job, epoch).await }
        });
    }
    let operator = Operator::builder(&options.job.database.database_url).connect_lazily()?;
    match door.router_until(operator, shutdown.cancelled_owned()) {
        Ok(router) => Ok(Some(router)),
        Err(refused) => {
            tracing::info!("serving without the dashboard: {refused}");
            Ok(None)
        }
    }
}
