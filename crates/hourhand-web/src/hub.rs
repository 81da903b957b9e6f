//! Live pages for any number of viewers at the price of one.
//!
//! While anybody looks, one task listens on the channel on which nodes say that they have started or ended something, and reads how all
//! jobs stand: once for each change, and now and then without a hint, because a process that dies gives none. What has
//! changed is told to all viewers as server-sent events. Their pages then ask for themselves anew, and what they are rendered from
//! is read once and shared ([`Hub::shared`]) until the next change. With the last viewer the task ends.
//!
//! Where nothing can be heard (a transaction pooler stands between), the task looks every second instead.

use std::any::Any;
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::future::{BoxFuture, Shared};
use futures_util::{FutureExt, Stream, stream};
use hourhand::{Changes, Error, JobDetail, Operator};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::sync::{Notify, OnceCell, broadcast};
use tokio::time::{Instant, sleep, sleep_until};

/// Without a hint it is looked after this long.
const LOOK_LISTENING: Duration = Duration::from_secs(5);
/// The same where nothing can be heard.
const LOOK_DEAF: Duration = Duration::from_secs(1);
/// Hints come in bunches: one look for all that come within this time.
const BUNCH: Duration = Duration::from_millis(40);
/// Whoever goes from page to page leaves a gap; the task outlives it.
const LINGER: Duration = Duration::from_secs(10);
/// The ear is opened anew no sooner than this.
const LISTEN_AGAIN: Duration = Duration::from_secs(30);
/// Without a word of when to end, a stream ends by itself, or a graceful shutdown would wait for it.
const STREAM_MAX: Duration = Duration::from_secs(15);
/// A viewer that has fallen behind by more is told that everything has changed.
const EVENTS_MAX: usize = 64;
/// So many answers are shared at a time.
const SHARED_MAX: usize = 1000;

/// Comes true when streams have to end; none: nobody says.
pub(crate) type Shutdown = Option<Shared<BoxFuture<'static, ()>>>;

/// What has changed.
#[derive(Clone, Debug)]
struct Change {
    version: u64,
    jobs: Arc<[String]>,
}

type Cell = Arc<OnceCell<Arc<dyn Any + Send + Sync>>>;

#[derive(Default)]
struct Live {
    is_watching: bool,
    version: u64,
    shared: HashMap<String, Cell>,
}

/// One for all viewers.
#[derive(Clone)]
pub(crate) struct Hub(Arc<Inner>);

struct Inner {
    operator: Operator,
    shutdown: Shutdown,
    /// Tells the versions of this process from those of the one before.
    boot: i64,
    live: Mutex<Live>,
    changes: broadcast::Sender<Change>,
    stirred: Notify,
}

impl Hub {
    pub(crate) fn new(operator: Operator, shutdown: Shutdown) -> Hub {
        let (changes, _) = broadcast::channel(EVENTS_MAX);
        let boot = Timestamp::now().as_millisecond();
        Hub(Arc::new(Inner { operator, shutdown, boot, live: Mutex::default(), changes, stirred: Notify::new() }))
    }

    /// What pages know of, to be told what has changed since.
    pub(crate) fn version(&self) -> String {
        format!("{}-{}", self.0.boot, self.live().version)
    }

    /// What is read for one page of one viewer serves all who ask for the same until something changes. While nobody looks live,
    /// everybody reads for themselves.
    pub(crate) async fn shared<T: Send + Sync + 'static>(
        &self,
        key: String,
        read: impl Future<Output = Result<T, Error>>,
    ) -> Result<Arc<T>, Error> {
        let cell = {
            let mut live = self.live();
            let has_room = live.is_watching && live.shared.len() < SHARED_MAX;
            has_room.then(|| live.shared.entry(key).or_default().clone())
        };
        let Some(cell) = cell else { return read.await.map(Arc::new) };
        let read = async { read.await.map(|value| Arc::new(value) as Arc<dyn Any + Send + Sync>) };
        let kept = cell.get_or_try_init(|| read).await?.clone();
        match kept.downcast() {
            Ok(kept) => Ok(kept),
            Err(_) => unreachable!("a key is of one type"),
        }
    }

    /// Something was done here: nobody shall be shown what was before.
    pub(crate) fn stir(&self) {
        self.live().shared.clear();
        self.0.stirred.notify_one();
    }

    /// A new viewer; the first one starts the task.
    fn subscribe(&self) -> broadcast::Receiver<Change> {
        let receiver = self.0.changes.subscribe();
        let mut live = self.live();
        if !live.is_watching {
            live.is_watching = true;
            let watch = Watch { hub: self.clone(), ear: None, listen_at: Instant::now(), seen: None };
            tokio::spawn(watch.run());
        }
        receiver
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, jobs: Vec<String>) {
        let mut live = self.live();
        live.version += 1;
        live.shared.clear();
        // Nobody may be there to hear it.
        let _ = self.0.changes.send(Change { version: live.version, jobs: jobs.into() });
    }
}

/// The task.
struct Watch {
    hub: Hub,
    ear: Option<Changes>,
    /// Not before then.
    listen_at: Instant,
    /// How all jobs stood at the last look; none: not known, or not to be had.
    seen: Option<Vec<JobDetail>>,
}

impl Watch {
    async fn run(mut self) {
        let mut alone_since = None;
        loop {
            self.look().await;
            if self.hub.0.changes.receiver_count() > 0 {
                alone_since = None;
            } else if alone_since.get_or_insert_with(Instant::now).elapsed() >= LINGER && self.ends() {
                return;
            }
            self.listen().await;
            self.wait().await;
        }
    }

    /// Whether there is still nobody, under the lock that a new viewer takes.
    fn ends(&self) -> bool {
        let mut live = self.hub.live();
        let ends = self.hub.0.changes.receiver_count() == 0;
        if ends {
            *live = Live { version: live.version, ..Live::default() };
        }
        ends
    }

    async fn look(&mut self) {
        let seen = self.hub.0.operator.details(None).await.ok().map(|mut jobs| {
            // Always different, and no change.
            jobs.iter_mut().for_each(|job| job.now = Timestamp::UNIX_EPOCH);
            jobs
        });
        match (&self.seen, &seen) {
            (Some(before), Some(now)) if before == now => self.hub.live().shared.clear(),
            (None, None) => self.hub.live().shared.clear(),
            (Some(before), Some(now)) => self.hub.publish(changed(before, now)),
            (None, Some(_)) | (Some(_), None) => self.hub.publish(Vec::new()),
        }
        self.seen = seen;
    }

    async fn listen(&mut self) {
        if self.ear.is_some() || Instant::now() < self.listen_at {
            return;
        }
        self.listen_at = Instant::now() + LISTEN_AGAIN;
        // A database that is away is shown by the pages.
        self.ear = self.hub.0.operator.listen().await.ok().flatten();
        if self.ear.is_some() {
            // What was said before is found by a look.
            self.hub.0.stirred.notify_one();
        }
    }

    async fn wait(&mut self) {
        let pause = if self.ear.is_some() { LOOK_LISTENING } else { LOOK_DEAF };
        let heard = async {
            match &mut self.ear {
                Some(ear) => ear.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            heard = heard => match heard {
                Ok(()) => sleep(BUNCH).await,
                Err(_) => self.ear = None,
            },
            () = self.hub.0.stirred.notified() => {}
            () = sleep(pause) => {}
        }
    }
}

/// The names of jobs that stand otherwise, came or went.
fn changed(before: &[JobDetail], now: &[JobDetail]) -> Vec<String> {
    let by_name = |jobs: &[JobDetail]| -> HashMap<String, JobDetail> {
        jobs.iter().map(|job| (job.status.job.clone(), job.clone())).collect()
    };
    let (mut before, now) = (by_name(before), by_name(now));
    let mut names: Vec<String> =
        now.into_iter().filter(|(name, job)| before.remove(name).as_ref() != Some(job)).map(|(name, _)| name).collect();
    names.extend(before.into_keys());
    names.sort();
    names
}

#[derive(Debug, Deserialize)]
pub(crate) struct Since {
    /// What the page was rendered from.
    seen: Option<String>,
}

/// One viewer's stream.
struct Viewer {
    hub: Hub,
    changes: broadcast::Receiver<Change>,
    /// Everything may have changed since the page was rendered.
    is_behind: bool,
    ends: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// `events`: what has changed, as it changes. An event's data is a list of job names; an empty one means all.
pub(crate) async fn events(
    State(hub): State<Hub>,
    Query(since): Query<Since>,
    headers: HeaderMap,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let changes = hub.subscribe();
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let is_behind = last.or(since.seen) != Some(hub.version());
    let ends: Pin<Box<dyn Future<Output = ()> + Send>> = match hub.0.shutdown.clone() {
        Some(shutdown) => shutdown.boxed(),
        None => sleep_until(Instant::now() + STREAM_MAX).boxed(),
    };
    let viewer = Viewer { hub, changes, is_behind, ends };
    Sse::new(stream::unfold(viewer, next)).keep_alive(KeepAlive::default())
}

async fn next(mut viewer: Viewer) -> Option<(Result<Event, Infallible>, Viewer)> {
    let change = if std::mem::take(&mut viewer.is_behind) {
        Change { version: viewer.hub.live().version, jobs: Arc::new([]) }
    } else {
        let change = tokio::select! {
            change = viewer.changes.recv() => change,
            () = &mut viewer.ends => return None,
        };
        match change {
            Ok(change) => change,
            Err(broadcast::error::RecvError::Lagged(_)) => {
                Change { version: viewer.hub.live().version, jobs: Arc::new([]) }
            }
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    };
    let id = format!("{}-{}", viewer.hub.0.boot, change.version);
    let jobs = serde_json::json!({ "jobs": &change.jobs[..] }).to_string();
    Some((Ok(Event::default().event("change").id(id).retry(Duration::from_secs(1)).data(jobs)), viewer))
}
