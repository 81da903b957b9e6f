//! The service manager, if one has started us (systemd, `Type=notify`): told when we are ready, that we live, that we stop.
//!
//! *That we live* (`WatchdogSec=`) is said only after the scheduler's loop has answered: a process whose loop hangs is started anew. It
//! is asked for its health, which sends no statement. Bad health is no reason: a database that is away does not come back by
//! restarting us.

use std::time::Duration;

use hourhand::Scheduler;
use sd_notify::NotifyState;
use tokio::sync::watch;
use tracing::debug;

/// The first visit to the database is over.
pub(super) fn ready() {
    tell(&[NotifyState::Ready, NotifyState::Status("jobs run when they are due")]);
}

/// The file is read anew; [`ready`] follows.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => debug!(%error, "no monotonic clock"),
    }
}

/// Nothing starts any more.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("runs under way may finish")]);
}

fn tell(states: &[NotifyState<'_>]) {
    // Without a service manager this does nothing.
    if let Err(error) = sd_notify::notify(states) {
        debug!(%error, "the service manager was not told");
    }
}

/// Says that we live, for as long as the scheduler answers; never comes back.
pub(super) async fn say_that_we_live(current: watch::Receiver<Option<Scheduler>>) {
    let Some(patience) = sd_notify::watchdog_enabled().filter(|patience| *patience > Duration::ZERO) else {
        return std::future::pending().await;
    };
    loop {
        let scheduler = current.borrow().clone();
        if let Some(scheduler) = scheduler {
            scheduler.health().await;
        }
        tell(&[NotifyState::Watchdog]);
        // Half of it is what systemd asks for; a third leaves room for a slow machine.
        tokio::time::sleep(patience / 3).await;
    }
}
