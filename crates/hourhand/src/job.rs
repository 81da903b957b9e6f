//! A job: its name, its schedule, its body, its policies.

mod sense;
mod told;

use std::fmt::Display;
use std::pin::Pin;
use std::sync::Arc;

use hourhand_core::backoff::Retry;
use hourhand_core::job::{CatchUp, Definition, Group, Overlap, Starts};
use hourhand_core::key::Key;
use hourhand_core::name::{JobName, Namespace};
use hourhand_core::schedule::Schedule;
use jiff::SignedDuration;

use crate::failure::Failure;
use crate::hooks::Hooks;
use crate::run::Run;

pub(crate) use sense::{still_there, taken};

pub(crate) type BodyFuture = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;
pub(crate) type Body = Arc<dyn Fn(Run) -> BodyFuture + Send + Sync>;

/// A named piece of periodic work.
///
/// ```
/// use hourhand::{Failure, Job, Schedule};
/// use jiff::ToSpan;
///
/// let job = Job::new("order-sync", Schedule::hourly(), async |run| {
///     println!("orders changed in {}", run.window());
///     Ok::<_, Failure>(())
/// })
/// .lookback(10.minutes())
/// .timeout(20.minutes());
/// ```
///
/// Lengths are anything that becomes a [`SignedDuration`]: a `Span` of jiff (`10.minutes()`), a `std::time::Duration`, …
/// Whatever is wrong with a job is said when the scheduler starts, all at once.
pub struct Job {
    name: String,
    schedule: Schedule,
    body: Body,
    starts: Starts,
    pub(crate) hooks: Hooks,
    renamed_from: Option<String>,
    policies: Policies,
    complaints: Vec<String>,
}

/// The policies that a job sets; the others keep their defaults.
#[derive(Default)]
struct Policies {
    jitter: Option<SignedDuration>,
    lookback: Option<SignedDuration>,
    initial_window: Option<SignedDuration>,
    timeout: Option<SignedDuration>,
    stop_grace: Option<SignedDuration>,
    warn_after: Option<SignedDuration>,
    abandon_after: Option<SignedDuration>,
    retry: Option<Retry>,
    catch_up: Option<CatchUp>,
    catch_up_window: Option<SignedDuration>,
    deadline: Option<SignedDuration>,
    group: Option<String>,
    overlap: Option<Overlap>,
    window_max: Option<SignedDuration>,
    retention: Option<SignedDuration>,
    completes: bool,
}

/// Whatever is longer is a mistake.
const LENGTH_MAX: SignedDuration = SignedDuration::from_hours(100 * 366 * 24);

/// A job in its parts: for the node, to run, and to tell.
type Defined = (Definition, Body, Option<Arc<Hooks>>);

/// Why something is no length. Of a span that speaks of days jiff says much, but not what to write instead.
pub(crate) fn no_length(what: &str, error: impl Display) -> String {
    let error = error.to_string();
    let advice = if error.contains("unit 'day'") || error.contains("unit 'week'") {
        "days are not all equally long: in hours, 24.hours() for one"
    } else {
        error.as_str()
    };
    format!("{what}: {advice}")
}

/// A length in words: jiff says of one below zero that it was so long ago.
pub(crate) fn length_shown(length: SignedDuration) -> String {
    let sign = if length.is_negative() { "-" } else { "" };
    format!("{sign}{:#}", SignedDuration::try_from(length.unsigned_abs()).unwrap_or(SignedDuration::MAX))
}

impl Job {
    /// A job that runs `body` whenever `schedule` is due, on exactly one node.
    ///
    /// `name`: 1-128 bytes of NFC text, not blank, without control characters and such as turn the direction of writing or are not
    /// seen; unique within the schema; it is the job's identity across
    /// processes and deploys. The body runs as a task of the runtime that [`start`](crate::SchedulerBuilder::start) was called
    /// on, with no lock of the database's and no transaction open on its behalf.
    pub fn new<F, Fut, E>(name: impl Into<String>, schedule: Schedule, body: F) -> Job
    where
        F: Fn(Run) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Failure>,
    {
        let body: Body = Arc::new(move |run| {
            let work = body(run);
            Box::pin(async move { work.await.map_err(Into::into) })
        });
        let starts = Starts::BySchedule;
        let (hooks, policies) = (Hooks::default(), Policies::default());
        let (renamed_from, complaints) = (None, Vec::new());
        Job { name: name.into(), schedule, body, starts, hooks, renamed_from, policies, complaints }
    }

    /// A job without a schedule, for [`run_once`](crate::SchedulerBuilder::run_once): it runs now, unless it runs anywhere, as a manual
    /// run. Whatever schedule another process has registered for it is left alone.
    pub fn on_demand<F, Fut, E>(name: impl Into<String>, body: F) -> Job
    where
        F: Fn(Run) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Failure>,
    {
        // The schedule of a job that only starts when asked is never asked for.
        Job { starts: Starts::WhenAsked, ..Job::new(name, Schedule::hourly(), body) }
    }

    /// Makes a job with a schedule one that runs when it is asked to and due.
    pub(crate) fn set_when_asked(&mut self) {
        if self.starts == Starts::BySchedule {
            self.starts = Starts::WhenAskedIfDue;
            // Whoever asks again wants it tried again.
            self.policies.retry.get_or_insert(Retry { attempts: u32::MAX, ..Retry::none() });
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn former_name(&self) -> Option<&str> {
        self.renamed_from.as_deref()
    }

    pub(crate) fn starts_when_asked(&self) -> bool {
        self.starts == Starts::WhenAsked
    }

    /// Spreads the jobs of a fleet: each job starts up to this long after its instants, always by the same share of it.
    /// Default 0. `scheduled_for` does not move. Not longer than a period of the schedule: a run would start after its successor is due.
    pub fn jitter<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.jitter = self.length("jitter", SignedDuration::ZERO, length);
        self
    }

    /// How far each window reaches back behind what is covered already, for data that appears late. Default 0.
    pub fn lookback<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.lookback = self.length("lookback", SignedDuration::ZERO, length);
        self
    }

    /// How far before the job's registration its very first window begins. Default 0.
    pub fn initial_window<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.initial_window = self.length("initial_window", SignedDuration::ZERO, length);
        self
    }

    /// What becomes of occurrences that nobody ran in time. Default: one run for the newest of them.
    pub fn catch_up(mut self, catch_up: CatchUp) -> Job {
        if catch_up == CatchUp::All(0) {
            self.complaints.push("catch_up: All(0) would never run anything missed; that is None".to_owned());
        }
        self.policies.catch_up = Some(catch_up);
        self
    }

    /// How old an occurrence may be to be caught up. Default: one period of the schedule, and at least a day. Not with
    /// [`CatchUp::None`], which leaves nothing to catch up.
    pub fn catch_up_window<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.catch_up_window = self.length("catch_up_window", SignedDuration::from_secs(1), length);
        self
    }

    /// How late an occurrence may still start, also as a retry. Default: no limit.
    pub fn deadline<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.deadline = self.length("deadline", SignedDuration::from_secs(1), length);
        self
    }

    /// Jobs of one group never overlap, anywhere in the fleet, whatever nodes know them. Default: none.
    ///
    /// The group is a lock of its own, tried before the job's and let go after it. Who waits longest for a turn goes first (by the
    /// jobs' newest starts), and while it waits its occurrences coalesce as during a run of its own; one that is kept waiting
    /// beyond its time is overdue. Needs session locks, and a job that ends: a continuous one would never let the group go.
    pub fn exclusive_group(mut self, name: impl Into<String>) -> Job {
        self.policies.group = Some(name.into());
        self
    }

    /// What becomes of occurrences that come due while a run is under way. Default: they are passed over, and counted. Not with
    /// [`CatchUp::All`], which catches them up.
    pub fn overlap(mut self, overlap: Overlap) -> Job {
        self.policies.overlap = Some(overlap);
        self
    }

    /// How long a window may be, more than the lookback. What is left is covered by runs that follow at once. Default: no limit.
    pub fn window_max<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.window_max = self.length("window_max", SignedDuration::from_secs(1), length);
        self
    }

    /// How long a run may take; then its body is told to stop, and the outcome is `timed_out`. Default 1 h; in
    /// [`run_once`](crate::SchedulerBuilder::run_once) no limit.
    pub fn timeout<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.timeout = self.length("timeout", SignedDuration::from_millis(1), length);
        self
    }

    /// A run that takes longer is worth a warning, once; shorter than the [`timeout`](Job::timeout), which ends the run. Default: none.
    pub fn warn_after<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.warn_after = self.length("warn_after", SignedDuration::from_millis(1), length);
        self
    }

    /// How long a body that was aborted and goes on, because it blocks its thread, keeps the job's lock. Then the run is recorded
    /// as `timed_out`, its writes are fenced out, and the job may run elsewhere; on this node not before the body has
    /// returned. Default 1 min.
    pub fn abandon_after<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.abandon_after = self.length("abandon_after", SignedDuration::from_secs(1), length);
        self
    }

    /// How long a body that was told to stop may take before its task is aborted. Default 10 s; on a lost lock at most a fifth
    /// of ttl.
    pub fn stop_grace<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.stop_grace = self.length("stop_grace", SignedDuration::ZERO, length);
        self
    }

    /// What becomes of an occurrence whose run failed. Default: it waits for its successor. That replaces one that still waits for a
    /// retry (but with [`CatchUp::All`], where each has its turn). Refused: no attempts, a factor of 0, a `backoff_max` below the backoff.
    pub fn retry(mut self, retry: Retry) -> Job {
        self.complaints.extend(sense::of_retry(&retry));
        self.policies.retry = Some(retry);
        self
    }

    /// How long ended runs and skips are kept in history; the newest run always is. Default 14 days.
    pub fn retention<L>(mut self, length: L) -> Job
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        self.policies.retention = self.length("retention", SignedDuration::from_secs(60), length);
        self
    }

    /// The job was called `name` before: it takes over what was handled and covered under that name, retries and pause included, so
    /// that nothing is repeated and no span is left out. History stays under the old name.
    ///
    /// Safe in a rolling deploy: the state goes over under the old name's lock, as soon as no run holds it, and from then on
    /// processes of the old version start nothing under the old name. If the deploy is rolled back, they take the job back once
    /// an occurrence has been overdue. No job of this scheduler may bear the old name any more, nor two have had it. Can stay in the code, and can be taken out once no process of the old version runs.
    pub fn renamed_from(mut self, name: impl Into<String>) -> Job {
        self.renamed_from = Some(name.into());
        self
    }

    /// The body records its own success, with [`Run::complete`](crate::Run::complete): a run that returns without having
    /// committed it has failed. Effects inside PostgreSQL are then exactly-once. Default: returning is success.
    pub fn completes(mut self, completes: bool) -> Job {
        self.policies.completes = completes;
        self
    }

    fn length<L>(&mut self, policy: &str, at_least: SignedDuration, length: L) -> Option<SignedDuration>
    where
        L: TryInto<SignedDuration, Error: Display>,
    {
        match length.try_into() {
            Ok(length) if length >= at_least && length <= LENGTH_MAX => return Some(length),
            Ok(length) => {
                let length = length_shown(length);
                self.complaints.push(format!("{policy}: {length} is not between {at_least:#} and 100 years"));
            }
            Err(error) => self.complaints.push(no_length(policy, error)),
        }
        None
    }

    /// Everything that is wrong with the job, each beginning with the policy's name: for a reader of configuration files, who
    /// knows the place.
    #[doc(hidden)]
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = self.complaints.clone();
        complaints.extend(JobName::parse(&self.name).err().map(|error| error.to_string()));
        let before = self.renamed_from.as_deref();
        complaints
            .extend(before.and_then(|name| JobName::parse(name).err()).map(|error| format!("renamed_from: {error}")));
        if before == Some(self.name.as_str()) {
            complaints.push("renamed_from: that is its name".to_owned());
        }
        let group = self.policies.group.as_deref();
        complaints
            .extend(group.and_then(|name| JobName::parse(name).err()).map(|error| format!("exclusive_group: {error}")));
        complaints.extend(self.schedule.complaints().map(|error| format!("schedule: {error}")));
        complaints.extend(self.senseless());
        let lookback = self.policies.lookback.unwrap_or(SignedDuration::ZERO);
        if self.policies.window_max.is_some_and(|most| most <= lookback) {
            complaints
                .push(format!("window_max: not longer than the lookback of {lookback:#}, so it would never get ahead"));
        }
        complaints
    }

    /// The definition and the body, or everything that is wrong.
    pub(crate) fn define(self, namespace: Option<&Namespace>) -> Result<Defined, Vec<String>> {
        let (complaints, name) = (self.complaints(), JobName::parse(&self.name).ok());
        let Some(name) = name.filter(|_| complaints.is_empty()) else {
            let job = format!("job {:?}", self.name);
            return Err(complaints.into_iter().map(|complaint| format!("{job}: {complaint}")).collect());
        };
        let key = Key::of(namespace, &name);
        let defaults = Definition::new(name, key, self.schedule);
        let policies = self.policies;
        let group = policies.group.as_deref().and_then(|name| JobName::parse(name).ok());
        let group = group.map(|name| Group { key: Key::of_group(namespace, &name), name });
        let full = hourhand_core::job::Policies {
            starts: self.starts,
            jitter: policies.jitter.unwrap_or(defaults.jitter),
            lookback: policies.lookback.unwrap_or(defaults.lookback),
            initial_window: policies.initial_window.unwrap_or(defaults.initial_window),
            // What runs for somebody who waits for it is stopped by them.
            timeout: policies.timeout.or(defaults.timeout.filter(|_| self.starts == Starts::BySchedule)),
            stop_grace: policies.stop_grace.unwrap_or(defaults.stop_grace),
            warn_after: policies.warn_after,
            abandon_after: policies.abandon_after.unwrap_or(defaults.abandon_after),
            renamed_from: self.renamed_from.as_deref().and_then(|name| JobName::parse(name).ok()),
            conditional: self.hooks.condition.is_some(),
            tells_late: self.hooks.late.is_some(),
            tells_success: self.hooks.success.is_some(),
            retry: policies.retry.unwrap_or(defaults.retry),
            completes: policies.completes,
            retention: policies.retention.unwrap_or(defaults.retention),
            catch_up: policies.catch_up.unwrap_or(defaults.catch_up),
            catch_up_window: policies.catch_up_window,
            group,
            deadline: policies.deadline,
            overlap: policies.overlap.unwrap_or(defaults.overlap),
            window_max: policies.window_max,
        };
        let definition = Definition { policies: Arc::new(full), ..defaults };
        let hooks = self.hooks.any().then(|| Arc::new(self.hooks));
        Ok((definition, self.body, hooks))
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("name", &self.name).field("schedule", &self.schedule.to_string()).finish()
    }
}
