//! `hourhand dashboard`: the dashboard alone.

use std::net::SocketAddr;

use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::config;
use crate::door::Door;
use crate::globals::Globals;
use crate::operator;
use crate::refusal::Refusal;
use crate::runtime::block_on;

const EXAMPLES: &str = "\
Examples:
  hourhand dashboard   for whoever is on this machine
  hourhand dashboard --listen 127.0.0.1:8090 --read-only
  hourhand dashboard --listen 0.0.0.0:8090 --users-file /etc/hourhand/users

It starts with the database away, and says so on its pages. Only loopback addresses are served without credentials. It speaks \
plain HTTP: put a proxy with TLS in front where it leaves the machine.";

/// Serves the dashboard and its JSON API, and runs no job.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Dashboard {
    /// Where; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8090", value_parser = config::address)]
    listen: SocketAddr,

    #[command(flatten)]
    door: Door,
}

impl Dashboard {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Refusal> {
        let operator = operator::builder(globals)?.connect_lazily()?;
        block_on(async {
            let refused =
                |error: std::io::Error| Refusal::failed(format!("could not listen on {}: {error}", self.listen));
            let gone = CancellationToken::new();
            // Whether anybody could enter is said before the address is taken.
            drop(self.door.dashboard(self.listen, operator.clone(), gone.clone())?);
            let listener = TcpListener::bind(self.listen).await.map_err(refused)?;
            let bound = listener.local_addr().map_err(refused)?;
            let app = self.door.dashboard(bound, operator, gone.clone())?;
            let mut terminate = signal(SignalKind::terminate()).map_err(refused)?;
            let mut interrupt = signal(SignalKind::interrupt()).map_err(refused)?;
            info!("the dashboard is on http://{bound}/");
            let told = async move {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                gone.cancel();
            };
            axum::serve(listener, app).with_graceful_shutdown(told).await.map_err(refused)
        })
    }
}
