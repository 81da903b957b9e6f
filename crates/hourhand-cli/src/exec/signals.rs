//! Signals to this process are meant for the command.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::body::Wrapped;

/// Those that people and supervisors send.
const KINDS: [fn() -> SignalKind; 6] = [
    SignalKind::hangup,
    SignalKind::interrupt,
    SignalKind::quit,
    SignalKind::terminate,
    SignalKind::user_defined1,
    SignalKind::user_defined2,
];

/// Signals as they come.
pub(super) struct Signals(mpsc::Receiver<i32>);

impl Signals {
    /// Catches them from now on; not those that whoever started us wants ignored.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub(super) fn catch() -> io::Result<Signals> {
        let (told, signals) = mpsc::channel(16);
        let ignored = crate::guardian::signals_ignored();
        for kind in KINDS.map(|kind| kind()).into_iter().filter(|kind| !ignored.contains(&kind.as_raw_value())) {
            let (mut caught, told) = (signal(kind)?, told.clone());
            tokio::spawn(async move {
                while caught.recv().await.is_some() && told.send(kind.as_raw_value()).await.is_ok() {}
            });
        }
        Ok(Signals(signals))
    }

    /// Passes signals on to the command. One that comes before there is any, ends us: the answer is its number.
    pub(super) async fn pass_on(&mut self, wrapped: &Wrapped) -> i32 {
        while let Some(signal) = self.0.recv().await {
            if !wrapped.pass_on(signal).await {
                return signal;
            }
        }
        std::future::pending().await
    }
}
