//! The signals of a process that serves.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// What comes so soon after the first signal is the same wish said twice: `timeout` and shells signal both a process and its group, a
/// supervisor's stop reaches us through its own handler and ours. A person needs longer to lose patience.
const SAME_WISH: Duration = Duration::from_secs(1);

/// Listens from its making on.
pub(super) struct Signals {
    hangup: Signal,
    stops: JoinHandle<()>,
}

impl Signals {
    /// The first SIGTERM or SIGINT cancels the token; the second, more than a moment later, ends the process.
    pub(super) fn listen(stopping: CancellationToken) -> io::Result<Signals> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let stops = tokio::spawn(stops(terminate, interrupt, stopping));
        Ok(Signals { hangup: signal(SignalKind::hangup())?, stops })
    }

    /// The next SIGHUP.
    pub(super) async fn hangup(&mut self) {
        if self.hangup.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.stops.abort();
    }
}

async fn stops(mut terminate: Signal, mut interrupt: Signal, stopping: CancellationToken) {
    let first = either(&mut terminate, &mut interrupt).await;
    info!("{}: runs under way may finish, nothing starts any more; once more stops at once", first.0);
    stopping.cancel();
    let told = Instant::now();
    let second = loop {
        let again = either(&mut terminate, &mut interrupt).await;
        if told.elapsed() >= SAME_WISH {
            break again;
        }
    };
    warn!("{} once more: stopped at once", second.0);
    // Whatever is under way ends with the process: sessions, calls, and commands by their guardians.
    std::process::exit(128 + second.1);
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) -> (&'static str, i32) {
    tokio::select! {
        _ = terminate.recv() => ("SIGTERM", SignalKind::terminate().as_raw_value()),
        _ = interrupt.recv() => ("SIGINT", SignalKind::interrupt().as_raw_value()),
    }
}
