//! Calls into the program: its hooks and conditions, on its runtime, in bounded time, never more than a call.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hourhand_core::protocol::{Event, Happened, Slot, What};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::hooks::JobEvent;
use crate::member::Member;

/// A hook that takes longer is dropped.
const HOOK_BOUND: Duration = Duration::from_secs(10);
/// A condition that takes longer does not hold.
const CONDITION_BOUND: Duration = Duration::from_secs(5);

/// What has been said to misbehave: a job's hook, or its condition.
type Said = Arc<Mutex<HashSet<(String, Option<What>)>>>;

pub(super) struct Calls {
    runtime: Handle,
    answers: mpsc::UnboundedReceiver<(Slot, bool)>,
    answer: mpsc::UnboundedSender<(Slot, bool)>,
    said: Said,
}

impl Calls {
    pub(super) fn new(runtime: Handle) -> Calls {
        let (answer, answers) = mpsc::unbounded_channel();
        Calls { runtime, answers, answer, said: Arc::default() }
    }

    /// Tells a job's hook, if it has one for this.
    pub(super) fn tell(&self, member: &Member, happened: Happened) {
        let what = happened.what;
        let Some(hook) = member.hooks.as_ref().and_then(|hooks| hooks.of(what)).cloned() else { return };
        let (job, said) = (member.name().to_owned(), self.said.clone());
        let event = JobEvent::new(job.clone(), happened);
        // Called inside the task: it may panic before its first await.
        let call = self.runtime.spawn(async move { tokio::time::timeout(HOOK_BOUND, hook(event)).await });
        self.runtime.spawn(async move {
            let why = match call.await {
                Ok(Ok(())) => return,
                Ok(Err(_)) => format!("took longer than {HOOK_BOUND:?}"),
                Err(error) if error.is_panic() => format!("panicked: {}", super::panic_text(&*error.into_panic())),
                Err(_) => return,
            };
            if first(&said, (job.clone(), Some(what))) {
                tracing::error!(job, hook = ?what, "a hook of the job {why}; said once");
            }
        });
    }

    /// Asks a job's condition; the answer is an event.
    pub(super) fn ask(&self, slot: Slot, member: &Member) {
        let answer = self.answer.clone();
        let Some(condition) = member.hooks.as_ref().and_then(|hooks| hooks.condition.clone()) else {
            // The loop itself holds the other end.
            let _ = answer.send((slot, true));
            return;
        };
        let (job, said) = (member.name().to_owned(), self.said.clone());
        let call = self.runtime.spawn(async move { tokio::time::timeout(CONDITION_BOUND, condition()).await });
        let bound = async move {
            // The service's runtime may be blocked, or gone: the node waits for an answer in any case.
            match tokio::time::timeout(2 * CONDITION_BOUND, call).await {
                Ok(Ok(Ok(holds))) => Ok(holds),
                Ok(Ok(Err(_))) | Err(_) => Err("does not answer".to_owned()),
                Ok(Err(error)) if error.is_panic() => {
                    Err(format!("panicked: {}", super::panic_text(&*error.into_panic())))
                }
                Ok(Err(_)) => Err("was cut off: its runtime has shut down".to_owned()),
            }
        };
        // On the scheduler's own runtime.
        tokio::spawn(async move {
            let holds = bound.await.unwrap_or_else(|why| {
                if first(&said, (job.clone(), None)) {
                    tracing::error!(job, "the condition of the job {why}, so it does not hold; said once");
                }
                false
            });
            let _ = answer.send((slot, holds));
        });
    }

    /// The next answer; for ever pending while there is none.
    pub(super) async fn next_event(&mut self) -> Event {
        match self.answers.recv().await {
            Some((slot, holds)) => Event::ConditionAnswered { slot, holds },
            None => std::future::pending().await,
        }
    }
}

/// Nobody has said so before.
fn first(said: &Mutex<HashSet<(String, Option<What>)>>, which: (String, Option<What>)) -> bool {
    said.lock().unwrap_or_else(PoisonError::into_inner).insert(which)
}
