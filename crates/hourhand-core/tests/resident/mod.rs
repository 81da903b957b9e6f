//! The settings of the node whose steps are counted: it keeps its session, so that no connecting is among them.

use std::time::Duration;

use hourhand_core::node::{Exclusion, Settings};

pub(crate) fn settings() -> Settings {
    Settings {
        ttl: Duration::from_secs(15),
        start_delay: Duration::ZERO,
        linger: Duration::from_secs(60),
        resident: true,
        migrate: false,
        shutdown_grace: Duration::from_secs(20),
        runs_max: usize::MAX,
        exclusion: Exclusion::Session,
        rowless: false,
        prune_interval: Duration::MAX,
        seed: 1,
    }
}
