//! When a process is asked to end.

use tokio::signal::unix::{SignalKind, signal};

/// Ready at the first SIGTERM or Ctrl-C.
///
/// # Panics
///
/// Outside a tokio runtime.
pub async fn shutdown() {
    let terminate = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => _ = terminate.recv().await,
            // Without the handler the signal keeps its default, which ends the process as well.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminate => {}
    }
}
