//! Why a command runs, what it is told of that, and for how long it may.

use std::time::Duration;

use hourhand::{Run, Trust};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::environment::{facts, facts_without_record};
use crate::guardian::machine_clock;

/// A run, or a hook.
pub(crate) struct Cause {
    /// `HOURHAND_…`, for its environment.
    pub(super) facts: Vec<(&'static str, String)>,
    /// It is to stop, with its grace.
    pub(super) stopped: CancellationToken,
    /// Why what it leaves running is ended.
    pub(super) why_nothing_is_left: &'static str,
    bound: Bound,
}

enum Bound {
    /// The trust in the run's lock.
    Trust(watch::Receiver<Trust>),
    /// An instant on the machine's clock; past it there is no grace.
    Until(Duration),
}

impl Cause {
    /// A run, with its lock. What is on no record has no epoch and no window.
    pub(crate) fn run(run: &Run, on_record: bool) -> Cause {
        Cause {
            facts: if on_record { facts(run) } else { facts_without_record(run) }.into(),
            stopped: run.cancellation_token(),
            why_nothing_is_left: "nothing of a run may go on without its lock",
            bound: Bound::Trust(run.trust()),
        }
    }

    /// A hook, which has no lock, and may not take longer than this.
    pub(crate) fn hook(facts: Vec<(&'static str, String)>, within: Duration) -> Cause {
        Cause {
            facts,
            stopped: CancellationToken::new(),
            why_nothing_is_left: "a hook is over when its command is",
            bound: Bound::Until(machine_clock() + within),
        }
    }

    /// Until when it may go on, on the machine's clock, as far as is known now.
    pub(super) fn until(&mut self) -> Duration {
        match &mut self.bound {
            Bound::Trust(trust) => trust.borrow_and_update().until,
            Bound::Until(until) => *until,
        }
    }

    /// How soon after that it must have ended.
    pub(super) fn stop_within(&self) -> Duration {
        match &self.bound {
            Bound::Trust(trust) => trust.borrow().stop_within,
            Bound::Until(_) => Duration::ZERO,
        }
    }

    /// Waits until that instant is another one. False: it never will be.
    pub(super) async fn moved(&mut self) -> bool {
        match &mut self.bound {
            Bound::Trust(trust) => trust.changed().await.is_ok(),
            Bound::Until(_) => false,
        }
    }
}
