//! What a job is: its name, its schedule, its policies.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use jiff::SignedDuration;

use crate::backoff::Retry;
use crate::key::Key;
use crate::name::JobName;
use crate::schedule::Schedule;

/// What becomes of occurrences that nobody ran in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatchUp {
    /// One run for the newest of them; the others are passed over.
    #[default]
    Latest,
    /// A run for each of the newest so many, oldest first, each for its own share of the window; older ones are passed over.
    All(u32),
    /// None: an occurrence that could not start within a minute is passed over.
    None,
}

/// What becomes of occurrences that come due while a run is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// They are passed over.
    #[default]
    Skip,
    /// The newest of them runs next; the others are passed over.
    BufferOne,
}

/// What lets a run of a job start, on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// Its schedule, which the node registers; and whoever asks.
    #[default]
    BySchedule,
    /// Only whoever asks. Nothing but the job's row is registered: its definition, if it has one, is another node's.
    WhenAsked,
    /// Whoever asks, if the current occurrence of the schedule is not handled. Nothing is registered, nothing counts as missed: whoever
    /// asks at whatever times has promised none.
    WhenAskedIfDue,
}

/// Jobs of one group never overlap, anywhere in the fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What it is called.
    pub name: JobName,
    /// The key of its lock.
    pub key: Key,
}

/// The definition of a job, as a node holds it. What its body does is not known here.
///
/// Its policies read like fields of its own. Jobs share the defaults, and others if they are told to ([`Definition::share`]): a program
/// with ten thousand jobs has few kinds of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Unique within a schema.
    pub name: JobName,
    /// The lock's key.
    pub key: Key,
    /// When it is due.
    pub schedule: Schedule,
    /// All else.
    pub policies: Arc<Policies>,
}

/// What a job is beyond its name and its schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Policies {
    /// What lets a run start.
    pub starts: Starts,
    /// What becomes of occurrences that nobody ran in time.
    pub catch_up: CatchUp,
    /// How old an occurrence may be to be caught up; `None`: one period of the schedule, and at least a day.
    pub catch_up_window: Option<SignedDuration>,
    /// The group of jobs that it never overlaps with.
    pub group: Option<Group>,
    /// How late an occurrence may still start; `None`: no limit.
    pub deadline: Option<SignedDuration>,
    /// What becomes of occurrences that come due while a run is under way.
    pub overlap: Overlap,
    /// How late after its instant an occurrence starts at most, the same for every occurrence of the job; `scheduled_for` stays.
    pub jitter: SignedDuration,
    /// How far a window reaches back behind what is covered.
    pub lookback: SignedDuration,
    /// How far before its registration the first window begins.
    pub initial_window: SignedDuration,
    /// How long a window may be; what is left is covered by runs that follow at once. `None`: no limit.
    pub window_max: Option<SignedDuration>,
    /// How long a body may run; `None` for no limit. A continuous one has none.
    pub timeout: Option<SignedDuration>,
    /// A run that takes longer is worth a warning, once.
    pub warn_after: Option<SignedDuration>,
    /// How long a body that was aborted and goes on (it blocks) keeps its lock.
    pub abandon_after: SignedDuration,
    /// How long a body that was told to stop may take.
    pub stop_grace: SignedDuration,
    /// What becomes of an occurrence whose run failed.
    pub retry: Retry,
    /// Only a committed `complete` counts as success.
    pub completes: bool,
    /// How long ended runs and skips are kept; the newest run always is.
    pub retention: SignedDuration,
    /// The name it had before. Not part of what is registered.
    pub renamed_from: Option<JobName>,
    /// The process has a condition of its own for running the job. Not part of what is registered.
    pub conditional: bool,
    /// The process wants to hear of occurrences that wait too long. Not part of what is registered.
    pub tells_late: bool,
    /// The process wants to hear of each success. Not part of what is registered.
    pub tells_success: bool,
}

impl Deref for Definition {
    type Target = Policies;
    fn deref(&self) -> &Policies {
        &self.policies
    }
}

/// Changes this job's policies alone, whoever shares them.
impl DerefMut for Definition {
    fn deref_mut(&mut self) -> &mut Policies {
        Arc::make_mut(&mut self.policies)
    }
}

impl Definition {
    /// A job with every policy at its default.
    pub fn new(name: JobName, key: Key, schedule: Schedule) -> Definition {
        let policies = Policies::shared(&schedule);
        Definition { name, key, schedule, policies }
    }

    /// Shares the policies of another definition that has equal ones; false: it has others.
    pub fn share(&mut self, other: &Definition) -> bool {
        let equal = self.policies == other.policies;
        if equal {
            self.policies = other.policies.clone();
        }
        equal
    }

    /// How long after its instant each of the job's occurrences starts: a stable share of the jitter, by its key.
    pub fn delay(&self) -> SignedDuration {
        let share = crate::backoff::fraction(self.key.0 as u64);
        SignedDuration::try_from_secs_f64(self.jitter.as_secs_f64() * share).unwrap_or(SignedDuration::ZERO)
    }
}

/// The defaults of jobs with occurrences, and of those without.
static DEFAULTS: [OnceLock<Arc<Policies>>; 2] = [OnceLock::new(), OnceLock::new()];

impl Policies {
    /// All at their defaults.
    fn shared(schedule: &Schedule) -> Arc<Policies> {
        let defaults = &DEFAULTS[usize::from(schedule.is_continuous())];
        defaults.get_or_init(|| Arc::new(Policies::of(schedule))).clone()
    }

    fn of(schedule: &Schedule) -> Policies {
        Policies {
            starts: Starts::BySchedule,
            catch_up: CatchUp::Latest,
            catch_up_window: None,
            group: None,
            deadline: None,
            overlap: Overlap::Skip,
            jitter: SignedDuration::ZERO,
            lookback: SignedDuration::ZERO,
            initial_window: SignedDuration::ZERO,
            window_max: None,
            timeout: (!schedule.is_continuous()).then_some(SignedDuration::from_hours(1)),
            warn_after: None,
            abandon_after: SignedDuration::from_secs(60),
            stop_grace: SignedDuration::from_secs(10),
            retry: Retry::none(),
            completes: false,
            retention: SignedDuration::from_hours(14 * 24),
            renamed_from: None,
            conditional: false,
            tells_late: false,
            tells_success: false,
        }
    }
}
