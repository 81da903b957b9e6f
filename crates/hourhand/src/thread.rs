//! The thread named `hourhand`, and the one scheduler that a process has for a database, schema and namespace.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{mpsc, watch};

use crate::drive::{Brief, Command, Reports, Roster, drive, panic_text};
use crate::error::Error;

/// What runs in this process. Two schedulers would be two nodes that know nothing of each other's runs.
static RUNNING: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// A claim on being the process's only scheduler for something; given back when dropped.
pub(crate) struct Identity(String);

impl Identity {
    pub(crate) fn claim(identity: String) -> Result<Identity, Error> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if running.get_or_insert_default().insert(identity.clone()) {
            Ok(Identity(identity))
        } else {
            let complaint = format!("a scheduler runs already in this process for {identity}: keep and clone that one");
            Err(Error::config(vec![complaint]))
        }
    }
}

impl Drop for Identity {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.get_or_insert_default().remove(&self.0);
    }
}

/// Starts the thread. It holds the identity for as long as it runs, and tells when it has ended.
pub(crate) fn spawn(
    (brief, roster): (Brief, Roster),
    orders: mpsc::UnboundedReceiver<Command>,
    reports: Reports,
    (ending, identity): (watch::Sender<bool>, Option<Identity>),
) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Error::config(vec![format!("no runtime for the scheduler's thread: {error}")]))?;
    let work = move || {
        runtime.block_on(keep_driving((Arc::new(brief), roster), orders, reports));
        drop(runtime);
        drop(identity);
        // Whoever asked for the shutdown may have gone.
        let _ = ending.send(true);
    };
    let thread = std::thread::Builder::new().name("hourhand".to_owned()).spawn(work);
    thread.map(drop).map_err(|error| Error::config(vec![format!("no thread for the scheduler: {error}")]))
}

/// A started scheduler does not fail. If the loop panics (a bug of ours), its bodies are ended with it, and it begins again.
async fn keep_driving(
    (brief, mut roster): (Arc<Brief>, Roster),
    mut orders: mpsc::UnboundedReceiver<Command>,
    mut reports: Reports,
) {
    loop {
        let driven =
            AssertUnwindSafe(drive((brief.clone(), &mut roster), &mut orders, &mut reports)).catch_unwind().await;
        let Err(payload) = driven else { return };
        tracing::error!("the scheduler's loop panicked, beginning again: {}", panic_text(&*payload));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
