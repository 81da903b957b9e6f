//! The sidecar: the jobs of a file, in a process of their own beside a service of any language.
//!
//! One process, two threads: the library's, which owns the session and the clock, and this one, on which calls are made and
//! commands are watched. The file is read at the start and at SIGHUP ([`reload`]); what runs is always one whole file, never a
//! part of a refused one.
//!
//! | signal | what happens |
//! | --- | --- |
//! | SIGHUP | the file is read anew; a bad one is refused and the old one stays |
//! | SIGTERM, SIGINT | nothing starts any more; runs under way may finish within the grace, then they are told to stop |
//! | a second one | the end, at once: commands end with us, and other nodes take over |

mod body;
mod call;
mod connection;
mod hooks;
mod listen;
mod manager;
mod metrics;
mod reload;
mod settings;
mod signals;
mod tail;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use hourhand::Scheduler;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::globals::Globals;
use crate::refusal::Refusal;
use crate::runtime;
use reload::Sidecar;
use settings::Settings;
use signals::Signals;

/// What the command line says.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    pub(crate) config: PathBuf,
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) migrate: bool,
    pub(crate) globals: Globals,
}

/// Where whoever listens finds the scheduler: none while one is started.
type Current = watch::Sender<Option<Scheduler>>;

/// Runs until it is told to stop.
///
/// # Errors
///
/// The configuration is wrong, the database can never serve, or the address to listen on is taken.
pub(crate) fn run(orders: &Orders) -> Result<ExitCode, Refusal> {
    let config = Config::load(&orders.config).map_err(|refused| Refusal::wrong(refused.to_string()))?;
    let settings = Settings::of(orders, &config.top)?;
    runtime::block_on(until_told_to_stop(orders, config, settings))
}

async fn until_told_to_stop(orders: &Orders, config: Config, settings: Settings) -> Result<ExitCode, Refusal> {
    if let Some(lacks) = crate::guardian::LACKS {
        tracing::warn!("{lacks}");
    }
    let stopping = CancellationToken::new();
    let mut signals = Signals::listen(stopping.clone())
        .map_err(|error| Refusal::failed(format!("could not listen for signals: {error}")))?;
    let current = Current::new(None);
    let gone = CancellationToken::new();
    let listening = match settings.listen {
        Some(address) => Some(
            listen::start((address, settings.operator()?), (current.subscribe(), stopping.clone(), gone.clone()))
                .await?,
        ),
        None => None,
    };
    let living = manager::say_that_we_live(current.subscribe());
    let mut sidecar = Sidecar::start(orders.clone(), (config, settings), current, stopping.clone()).await?;
    manager::ready();
    let living = tokio::spawn(living);
    loop {
        tokio::select! {
            () = stopping.cancelled() => break,
            () = signals.hangup() => {
                manager::reloading();
                sidecar.reload(listening.as_ref()).await;
                manager::ready();
            }
        }
    }
    manager::stopping();
    sidecar.shut_down().await;
    living.abort();
    // What commands have written last; but whoever does not read it does not hold us up.
    let _ = tokio::time::timeout(Duration::from_secs(1), crate::child::flush()).await;
    gone.cancel();
    if let Some(listening) = listening {
        listening.ended().await;
    }
    Ok(ExitCode::SUCCESS)
}
