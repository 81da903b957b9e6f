//! Building and starting a scheduler: everything that can be wrong is found here, and said all at once.

use std::fmt::Display;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hourhand_core::claim::Spans;
use hourhand_core::name::Namespace;
use hourhand_core::node::{Exclusion, Settings};
use hourhand_core::protocol::TroubleKind;
use jiff::SignedDuration;
use tokio::runtime::Handle as Runtime;
use tokio::sync::{mpsc, oneshot, watch};

use crate::directory::Directory;
use crate::drive::{Brief, Command, FirstTrouble, Heard, Reports, Roster};
use crate::error::{Error, keep};
use crate::job::{Job, length_shown, no_length};
use crate::member::{Member, Terms, define};
use crate::pg::conninfo::{Conninfo, Environment};
use crate::pg::{Schema, SessionSettings, Signature, Statements};
use crate::scheduler::{Handle, Scheduler, other_key};
use crate::thread::{self, Identity};

const TTL_MIN: Duration = Duration::from_secs(5);
const TTL_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How the first visit to the database went.
pub(crate) type FirstVisit = oneshot::Receiver<Result<(), FirstTrouble>>;
/// Where the end of a run that is run once goes.
pub(crate) type Told = mpsc::UnboundedSender<Heard>;
type Signal = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A scheduler to be: see [`Scheduler::builder`].
#[must_use = "nothing runs before start()"]
pub struct SchedulerBuilder {
    database_url: String,
    session_url: Option<String>,
    schema: String,
    namespace: Option<String>,
    node: Option<String>,
    jobs: Vec<Job>,
    enabled: bool,
    shutdown: Option<Signal>,
    several_in_one_process: bool,
    prune_interval: Duration,
    ttl: Duration,
    evict_foreign_idle_after: Option<Duration>,
    start_delay: Duration,
    shutdown_grace: Duration,
    runs_max: usize,
    pub(crate) exclusion: Exclusion,
    resident: bool,
    migrate: bool,
    history: bool,
    told: Option<Told>,
    complaints: Vec<String>,
}

impl Scheduler {
    /// Begins a scheduler on the database at `database_url`: a URL (`postgres://…`) or `key=value` pairs, read as libpq reads
    /// them, with the `PG*` variables. It must lead to PostgreSQL itself or to a pooler in session mode.
    pub fn builder(database_url: impl Into<String>) -> SchedulerBuilder {
        SchedulerBuilder::new(database_url.into())
    }
}

impl SchedulerBuilder {
    fn new(database_url: String) -> SchedulerBuilder {
        SchedulerBuilder {
            database_url,
            session_url: None,
            schema: "hourhand".to_owned(),
            namespace: None,
            node: None,
            jobs: Vec::new(),
            enabled: true,
            shutdown: None,
            several_in_one_process: false,
            prune_interval: Duration::from_secs(60 * 60),
            ttl: Duration::from_secs(15),
            evict_foreign_idle_after: None,
            start_delay: Duration::ZERO,
            shutdown_grace: Duration::from_secs(20),
            runs_max: usize::MAX,
            exclusion: Exclusion::Session,
            resident: false,
            migrate: false,
            history: true,
            told: None,
            complaints: Vec::new(),
        }
    }

    /// Adds a job.
    pub fn job(mut self, job: Job) -> Self {
        self.jobs.push(job);
        self
    }

    /// Where the session connects to, if not to the database URL: past a transaction pooler, for example.
    pub fn session_url(mut self, url: impl Into<String>) -> Self {
        self.session_url = Some(url.into());
        self
    }

    /// The schema of hourhand's tables. Default `hourhand`.
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = name.into();
        self
    }

    /// Keeps the lock keys of several applications in one database apart. Two schemas in one database want two namespaces.
    pub fn namespace(mut self, name: impl Into<String>) -> Self {
        self.namespace = Some(name.into());
        self
    }

    /// What this node calls itself to people. Default: the host's name and the process id.
    pub fn node(mut self, name: impl Into<String>) -> Self {
        self.node = Some(name.into());
        self
    }

    /// The one knob of the protocol: about how long a holder that went silent keeps its lock. Default 15 s; at least 5 s, whole
    /// seconds. Shorter is quicker to take over and less patient with a slow database.
    pub fn ttl<L: TryInto<SignedDuration, Error: Display>>(mut self, length: L) -> Self {
        self.ttl = self.length("ttl", length).unwrap_or(self.ttl);
        if self.ttl.subsec_nanos() != 0 || !(TTL_MIN..=TTL_MAX).contains(&self.ttl) {
            self.complaints.push(format!("ttl: {:?} is not a whole number of seconds from 5 s to 1 day", self.ttl));
        }
        self
    }

    /// A session that is not hourhand's may hold a job's lock: leaked into somebody's pool, or on purpose. It is reported; with this,
    /// it is ended once it has been idle for so long. Default: never.
    pub fn evict_foreign_idle_after<L: TryInto<SignedDuration, Error: Display>>(mut self, length: L) -> Self {
        self.evict_foreign_idle_after = self.length("evict_foreign_idle_after", length);
        self
    }

    /// No occurrence starts before the process is this old: it keeps clear of health checks and of a deploy's first moments.
    /// Manual runs do not wait. Default 0.
    pub fn start_delay<L: TryInto<SignedDuration, Error: Display>>(mut self, length: L) -> Self {
        self.start_delay = self.length("start_delay", length).unwrap_or(self.start_delay);
        self
    }

    /// How long a shutdown may take. Runs under way may finish for as long as leaves them their `stop_grace`; then they are told
    /// to stop. Default 20 s.
    pub fn shutdown_grace<L: TryInto<SignedDuration, Error: Display>>(mut self, length: L) -> Self {
        self.shutdown_grace = self.length("shutdown_grace", length).unwrap_or(self.shutdown_grace);
        self
    }

    /// Bodies at once in this process. Default: no limit.
    pub fn runs_max(mut self, runs: usize) -> Self {
        if runs == 0 {
            self.complaints.push("runs_max: 0 would never run anything; use enabled(false) to switch off".to_owned());
        }
        self.runs_max = runs;
        self
    }

    /// How runs exclude each other. Default: session locks, which need a connection of their own; behind nothing but a transaction
    /// pooler, [`Exclusion::Lease`].
    pub fn exclusion(mut self, exclusion: Exclusion) -> Self {
        self.exclusion = exclusion;
        self
    }

    /// Keeps the session between runs: one connection that listens and sends nothing, so that triggers, cancels and backfills from
    /// elsewhere arrive at once ([`Operator::trigger`](crate::Operator::trigger)). Default false: nothing at rest; they arrive at the
    /// next visit, which is made for the next occurrence of any of this node's jobs. With [`Exclusion::Lease`] nobody can listen (behind
    /// a transaction pooler a LISTEN would be somebody else's): they arrive at the next visit in any case.
    pub fn resident(mut self, resident: bool) -> Self {
        self.resident = resident;
        self
    }

    /// Makes or upgrades the schema at the first visit. Default false: a scheduler changes no schema.
    pub fn migrate(mut self, migrate: bool) -> Self {
        self.migrate = migrate;
        self
    }

    /// False: the lock alone, for [`run_once`](Self::run_once). No row is read or written, so no schema is needed, nothing is on record,
    /// there is no window, and no fence knows the run. Default true.
    pub fn history(mut self, history: bool) -> Self {
        self.history = history;
        self
    }

    /// The switch: false, and [`start`](Self::start) says so once and starts nothing. For processes that do not serve
    /// (migrations, shells, tests) and for services that are not fully configured. Default true.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Shuts the scheduler down when this future is done: the service's own signal.
    pub fn shutdown_on(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.shutdown = Some(Box::pin(signal));
        self
    }

    /// Lets this process have several nodes on one database: for tests, which then see what several processes would do.
    #[doc(hidden)]
    pub fn several_in_one_process(mut self) -> Self {
        self.several_in_one_process = true;
        self
    }

    /// How often old history is removed; default an hour, the first time after a minute. For tests.
    #[doc(hidden)]
    pub fn prune_interval(mut self, length: Duration) -> Self {
        self.prune_interval = length;
        self
    }

    fn length<L: TryInto<SignedDuration, Error: Display>>(&mut self, what: &str, length: L) -> Option<Duration> {
        let found = match length.try_into() {
            Ok(length) => {
                Duration::try_from(length).map_err(|_| format!("{what}: {} is less than 0", length_shown(length)))
            }
            Err(error) => Err(no_length(what, error)),
        };
        found.map_err(|complaint| self.complaints.push(complaint)).ok()
    }

    /// Starts the scheduler, and waits for its first visit to the database (some seconds at most).
    ///
    /// With the database away, or its schema not migrated, it starts all the same, says so once, and goes on trying: a service
    /// must come up without its scheduler. Whoever drops the future before it is done has no scheduler: what was begun ends.
    ///
    /// # Errors
    ///
    /// [`Error::is_config`] for anything that can never work, all of it at once: an unreadable URL, a schedule that never
    /// fires, two jobs with one name, a scheduler that runs already in this process for the same database, schema and
    /// namespace. [`Error::is_incompatible`] for a server that is too old.
    pub async fn start(mut self) -> Result<Scheduler, Error> {
        if !self.enabled {
            tracing::info!(jobs = self.jobs.len(), "the scheduler is switched off: no job runs in this process");
            return Ok(Scheduler::off());
        }
        if !self.history {
            self.complaints.push("history: without it there is only run_once()".to_owned());
        }
        let unscheduled = self.jobs.iter().filter(|job| job.starts_when_asked()).map(Job::name);
        let unscheduled = unscheduled.map(|job| format!("job {job:?} has no schedule: it is for run_once()"));
        self.complaints.extend(unscheduled);
        let (scheduler, first_visit) = self.launch()?;
        let unclaimed = Unclaimed(Some(scheduler));
        match first_visit.await {
            Ok(Err(trouble)) => match unservable(&trouble) {
                Some(error) => {
                    unclaimed.claim().shutdown().await;
                    Err(error)
                }
                None => Ok(unclaimed.claim()),
            },
            Ok(Ok(())) | Err(_) => Ok(unclaimed.claim()),
        }
    }

    /// Prepares for the one job and its one run; whoever waits for it is `told`.
    pub(crate) fn once(mut self, told: Told) -> Result<(Self, String), Error> {
        let [job] = self.jobs.as_mut_slice() else {
            self.complaints.push("run_once: exactly one job is run once".to_owned());
            return Err(Error::config(self.complaints));
        };
        job.set_when_asked();
        let name = job.name().to_owned();
        if !self.history && !job.starts_when_asked() {
            self.complaints
                .push("history: without it nobody knows whether a job is due; use Job::on_demand".to_owned());
        }
        if !self.history && self.exclusion == Exclusion::Lease {
            self.complaints.push("history: a lease is a row; without any there are only session locks".to_owned());
        }
        (self.told, self.resident) = (Some(told), true);
        Ok((self, name))
    }

    /// Starts the thread. Its first visit is still to come.
    pub(crate) fn launch(mut self) -> Result<(Scheduler, FirstVisit), Error> {
        let (signal, waiting) = (self.shutdown.take(), self.told.take());
        let Checked { brief, members, terms, node, identity } = self.check()?;
        let directory = Arc::new(Directory::default());
        let mut roster = Roster::new(node, directory.clone());
        let list =
            |slots: Vec<_>| slots.into_iter().zip(&members).for_each(|(slot, member)| roster.add(slot, member.clone()));
        // The names were found to be different.
        let _ = directory.enter(&members, list);
        let (commands, orders) = mpsc::unbounded_channel();
        let (ending, ended) = watch::channel(false);
        let (told, first_visit) = oneshot::channel();
        let reports = Reports { first_visit: Some(told), waiting };
        thread::spawn((brief, roster), orders, reports, (ending, identity))?;
        let scheduler = Scheduler::on(Handle { commands: commands.clone(), directory, terms, ended: ended.clone() });
        if let Some(signal) = signal {
            watch_signal(signal, commands, ended);
        }
        Ok((scheduler, first_visit))
    }

    /// Everything that can be checked without asking anybody.
    fn check(self) -> Result<Checked, Error> {
        let mut complaints = self.complaints;
        if complaints.iter().all(|complaint| !complaint.starts_with("ttl:")) {
            complaints.extend(Spans::of(self.ttl).check_order(self.ttl).err());
        }
        let conninfo = addresses((&self.database_url, self.session_url.as_deref()), &mut complaints);
        let schema = keep(Schema::parse(&self.schema), "", &mut complaints);
        let namespace = self.namespace.as_deref().map(Namespace::parse).transpose();
        let namespace = keep(namespace, "namespace", &mut complaints).flatten();
        let start_delay = SignedDuration::try_from(self.start_delay).unwrap_or(SignedDuration::MAX);
        let terms = Terms { namespace, start_delay };
        let members = define(self.jobs, &terms, &mut complaints);
        complaints.extend(no_room(&members, self.runs_max));
        if self.exclusion == Exclusion::Lease {
            complaints.extend(groups_without_locks(&members));
        }
        let Some((conninfo, schema)) = conninfo.zip(schema).filter(|_| complaints.is_empty()) else {
            return Err(Error::config(complaints));
        };
        let namespace = self.namespace.map_or_else(|| "no namespace".to_owned(), |name| format!("namespace {name:?}"));
        let identity = format!("{} schema {schema} {namespace}", conninfo.identity());
        let identity = if self.several_in_one_process { None } else { Some(Identity::claim(identity)?) };
        let runtime = Runtime::try_current()
            .map_err(|_| Error::config(vec!["start() needs a tokio runtime, where the bodies will run".to_owned()]))?;
        let node = self.node.unwrap_or_else(default_node);
        let settings = Settings {
            ttl: self.ttl,
            start_delay: self.start_delay,
            linger: Duration::from_secs(60),
            resident: self.resident,
            migrate: self.migrate,
            shutdown_grace: self.shutdown_grace,
            runs_max: self.runs_max,
            exclusion: self.exclusion,
            prune_interval: self.prune_interval,
            rowless: !self.history,
            seed: uuid::Uuid::new_v4().as_u64_pair().0,
        };
        let session = SessionSettings {
            conninfo: Arc::new(conninfo),
            statements: Arc::new(if self.history {
                Statements::of(&schema)
            } else {
                Statements::of_locks_alone(&schema)
            }),
            schema,
            ttl: self.ttl,
            evict_foreign_idle_after: self.evict_foreign_idle_after,
            signature: signature(self.exclusion, self.ttl),
            application_name: application_name(&node, self.ttl),
        };
        Ok(Checked { brief: Brief { settings, session, runtime }, members, terms, node, identity })
    }
}

/// What a scheduler starts with.
struct Checked {
    brief: Brief,
    members: Vec<Member>,
    terms: Terms,
    node: String,
    identity: Option<Identity>,
}

/// Where the session connects to. The other address is read too: who mends one should not be told of the other the next time.
fn addresses((database, session): (&str, Option<&str>), complaints: &mut Vec<String>) -> Option<Conninfo> {
    let environment = Environment::of_process();
    let mut read = |what: &str, url: &str| {
        if url.trim().is_empty() {
            complaints.push(format!("{what}: the connection string is empty; enabled(false) is the switch"));
        }
        keep(Conninfo::parse(url, &environment), what, complaints)
    };
    let database = read("database", database);
    match session {
        Some(session) => read("session_url", session).filter(|_| database.is_some()),
        None => database,
    }
}

/// A group is a session lock: there is none among leases.
fn groups_without_locks(members: &[Member]) -> impl Iterator<Item = String> {
    let grouped = members.iter().filter(|member| member.definition.group.is_some());
    grouped.map(|member| {
        format!("job {:?}: exclusive_group: needs session locks (exclusion = \"session\")", member.name())
    })
}

/// Continuous bodies take their places for good.
fn no_room(members: &[Member], runs_max: usize) -> Option<String> {
    let continuous = members.iter().filter(|member| member.definition.schedule.is_continuous()).count();
    let starved = continuous > 0 && continuous >= runs_max && continuous < members.len();
    starved.then(|| {
        format!("runs_max: {continuous} continuous jobs take all {runs_max} places for good, and no other job would ever run")
    })
}

fn default_node() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}/{}", std::process::id())
}

/// A token of this node's own, for as long as it lives: a former process's leases are a stranger's.
fn signature(exclusion: Exclusion, ttl: Duration) -> Option<Signature> {
    let (statement_bound, lock_bound) = (ttl / 5 - Duration::from_millis(200), ttl / 15);
    let token = || uuid::Uuid::new_v4().to_string();
    (exclusion == Exclusion::Lease).then(|| Signature::new(token(), statement_bound, lock_bound))
}

/// What `pg_stat_activity` shows: plain characters only, at most as many as the server keeps (NAMEDATALEN less one). Watchers
/// read the ttl in it, by which they judge a silent holder.
fn application_name(node: &str, ttl: Duration) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._/:@".contains(c) { c } else { '_' };
    format!("hourhand/{} {}", ttl.as_secs(), node.chars().map(plain).collect::<String>()).chars().take(63).collect()
}

/// What of a first visit's trouble is for the caller to mend; with the rest the scheduler goes on trying.
pub(crate) fn unservable(trouble: &FirstTrouble) -> Option<Error> {
    match trouble {
        FirstTrouble::Database(trouble) if trouble.kind == TroubleKind::Pooled => {
            Some(Error::config(vec![trouble.text.clone()]))
        }
        FirstTrouble::Database(trouble) if trouble.kind == TroubleKind::Incompatible => {
            Some(Error::database("start", trouble.clone()))
        }
        FirstTrouble::Database(_) => None,
        FirstTrouble::SessionShared => Some(Error::config(vec![
            "the scheduler's session is shared with others: give a direct URL (session_url)".to_owned(),
        ])),
        FirstTrouble::OtherKey(job) => Some(Error::config(vec![other_key(job)])),
    }
}

/// A scheduler that its starter has not got yet. If the starter gives up waiting, nobody could ever end it: then it ends by itself.
struct Unclaimed(Option<Scheduler>);

impl Unclaimed {
    fn claim(mut self) -> Scheduler {
        self.0.take().unwrap_or_else(|| unreachable!("claimed by value, once"))
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(scheduler) = self.0.take() {
            scheduler.begin_shutdown();
        }
    }
}

fn watch_signal(signal: Signal, commands: mpsc::UnboundedSender<Command>, mut ended: watch::Receiver<bool>) {
    tokio::spawn(async move {
        tokio::select! {
            () = signal => drop(commands.send(Command::Shutdown)),
            _ = ended.wait_for(|ended| *ended) => {}
        }
    });
}
