//! Where events go: to standard error, and errors to the error tracker.
//!
//! hourhand tells of a run that failed as expected ([`hourhand::Failure::transient`]) with a WARN, of any other
//! failure with an ERROR. Sentry's layer makes an issue of an ERROR and a breadcrumb of a WARN: nothing has to be
//! wired up for the job.

use std::io::IsTerminal;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt};

/// Keeps the error tracker alive; dropped, it sends what it still has.
#[must_use]
pub struct Telemetry {
    #[cfg(feature = "sentry")]
    _sentry: sentry::ClientInitGuard,
}

/// Starts it, before any thread and any runtime: they inherit it.
pub fn start() -> Telemetry {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let registry = tracing_subscriber::registry().with(filter).with(log);

    // SENTRY_DSN says where to; without it nothing is sent.
    #[cfg(feature = "sentry")]
    {
        let mut options = sentry::ClientOptions::default();
        options.release = sentry::release_name!();
        let _sentry = sentry::init(options);
        registry.with(sentry_tracing::layer()).init();
        Telemetry { _sentry }
    }
    #[cfg(not(feature = "sentry"))]
    {
        registry.init();
        Telemetry {}
    }
}

/// An error with its causes on one line, without those that it has quoted already: some repeat them, some do not.
pub fn told(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| match told.as_str() {
        "" => cause,
        quoted if quoted.ends_with(&cause) => told,
        _ => format!("{told}: {cause}"),
    })
}
