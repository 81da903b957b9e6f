//! The bodies under way: tasks on the service's runtime, watched from here.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hourhand_core::claim::Spans;
use hourhand_core::outcome::{BodyEnd, Trigger};
use hourhand_core::protocol::{Event, Slot, Started};
use hourhand_core::time::Mono;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use tracing::Instrument;

use super::Brief;
use crate::clock::{Clock, machine};
use crate::failure::Failure;
use crate::member::Member;
use crate::run::{Beginning, Run, Trust};

type Watched = std::pin::Pin<Box<dyn Future<Output = (Slot, i64, BodyEnd)> + Send>>;

pub(super) struct Bodies {
    brief: Arc<Brief>,
    watched: FuturesUnordered<Watched>,
    /// Kept from the start of a run until its end is durable: its output goes with the record.
    runs: HashMap<(Slot, i64), (Run, AbortHandle)>,
    trust: Belief,
}

/// What the runs of one claim are told of its trust. A claim that has ended tells its runs so, and is forgotten: a later one's
/// trust is none of theirs.
struct Belief {
    stop_within: Duration,
    told: Option<(Mono, watch::Sender<Trust>)>,
}

impl Belief {
    fn tell(&mut self, until: Option<Mono>, clock: &Clock) {
        let trust = |until| Trust { until, stop_within: self.stop_within };
        match (&mut self.told, until) {
            (Some((told, _)), Some(until)) if *told == until => {}
            (Some((told, sender)), Some(until)) => {
                *told = until;
                sender.send_replace(trust(clock.on_the_machine(until)));
            }
            (told @ None, Some(until)) => {
                *told = Some((until, watch::Sender::new(trust(clock.on_the_machine(until)))));
            }
            (Some(_), None) => self.end(),
            (None, None) => {}
        }
    }

    fn end(&mut self) {
        if let Some((_, sender)) = self.told.take() {
            sender.send_replace(Trust { until: machine(), stop_within: self.stop_within });
        }
    }

    fn receiver(&self) -> watch::Receiver<Trust> {
        match &self.told {
            Some((_, sender)) => sender.subscribe(),
            // A run starts under a claim only; without one nothing may be believed.
            None => watch::Sender::new(Trust { until: Duration::ZERO, stop_within: self.stop_within }).subscribe(),
        }
    }
}

/// If the loop ends before its bodies (it does only by a bug), nothing may go on without a lock.
impl Drop for Bodies {
    fn drop(&mut self) {
        self.trust.end();
        for (run, task) in self.runs.values() {
            run.stop();
            task.abort();
        }
    }
}

impl Bodies {
    pub(super) fn new(brief: Arc<Brief>) -> Bodies {
        let trust = Belief { stop_within: Spans::of(brief.settings.ttl).stop_max, told: None };
        Bodies { brief, watched: FuturesUnordered::new(), runs: HashMap::new(), trust }
    }

    /// Tells the runs until when their locks are believed in.
    pub(super) fn trust(&mut self, until: Option<Mono>, clock: &Clock) {
        self.trust.tell(until, clock);
    }

    pub(super) fn start(
        &mut self,
        (slot, member): (Slot, &Member),
        occurrence: Option<Timestamp>,
        trigger: Trigger,
        started: Started,
    ) {
        let (epoch, name) = (started.epoch, member.name().to_owned());
        let span = tracing::info_span!("run", job = %name, epoch);
        let beginning = Beginning { scheduled_for: occurrence, trigger, started };
        let run = Run::new(name, self.brief.session.schema.clone(), beginning, self.trust.receiver());
        let (body, given) = (member.body.clone(), run.clone());
        // The body is called inside the task: it may panic before its first await.
        let task = self.brief.runtime.spawn(async move { body(given).await }.instrument(span));
        self.runs.insert((slot, epoch), (run.clone(), task.abort_handle()));
        self.watched.push(Box::pin(async move { (slot, epoch, end_of(task, &run).await) }));
    }

    pub(super) fn stop(&self, slot: Slot, epoch: i64) {
        if let Some((run, _)) = self.runs.get(&(slot, epoch)) {
            run.stop();
        }
    }

    pub(super) fn abort(&self, slot: Slot, epoch: i64) {
        if let Some((_, task)) = self.runs.get(&(slot, epoch)) {
            task.abort();
        }
    }

    pub(super) fn output(&self, slot: Slot, epoch: i64) -> Option<String> {
        self.runs.get(&(slot, epoch)).and_then(|(run, _)| run.written())
    }

    /// What a run under way has written so far, if only nothing.
    pub(super) fn so_far(&self, slot: Slot, epoch: i64) -> Option<String> {
        self.runs.get(&(slot, epoch)).map(|(run, _)| run.written().unwrap_or_default())
    }

    /// The run's end is durable, or superseded.
    pub(super) fn forget(&mut self, slot: Slot, epoch: i64) {
        self.runs.remove(&(slot, epoch));
    }

    /// The next body to end; for ever pending while none is under way.
    pub(super) async fn next_event(&mut self) -> Event {
        match self.watched.next().await {
            Some((slot, epoch, end)) => Event::BodyEnded { slot, epoch, end },
            None => std::future::pending().await,
        }
    }
}

async fn end_of(task: JoinHandle<Result<(), Failure>>, run: &Run) -> BodyEnd {
    match task.await {
        Ok(Ok(())) => BodyEnd::Returned { completing: run.is_completing() },
        Ok(Err(failure)) => failure.into_end(),
        Err(error) if error.is_panic() => BodyEnd::Panicked(panic_text(&*error.into_panic())),
        Err(_) => BodyEnd::Aborted,
    }
}

/// The message of a panic; its payload is a `&str` even for some formatted messages.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
