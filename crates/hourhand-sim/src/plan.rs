//! What a run of the simulator is given, and the jobs that its seed draws.
//!
//! Everything is small on purpose: a ttl of seconds, jobs due every half a minute, bodies that last from nothing to most of a period. What
//! takes a deploy of days to go wrong (a retry that meets a takeover that meets a new definition) then happens within minutes of
//! virtual time, and ten thousand such minutes are run before anything is released. Half of the jobs get another schedule by a
//! deploy, some another name, some become or cease to be continuous: a rolling deploy is the rule here, not the exception.
//!
//! What was drawn first is drawn in the same order for ever, and later additions have streams of their own, so that a seed that
//! once found something stays the run that found it.

use std::time::Duration;

use hourhand_core::backoff::Retry;
use hourhand_core::job::{Definition, Group};
use hourhand_core::key::Key;
use hourhand_core::name::JobName;
use hourhand_core::schedule::Schedule;
use jiff::SignedDuration;

use crate::bug::Bug;
use crate::random::Random;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Plan {
    /// All chance follows from it.
    pub seed: u64,
    /// Processes.
    pub nodes: usize,
    /// Jobs; not every node knows all of them.
    pub jobs: usize,
    /// How long faults happen.
    pub faults_for: Duration,
    /// How long nothing happens afterwards: at its end all must be well.
    pub quiet_for: Duration,
    /// A bug to plant.
    pub bug: Option<Bug>,
    /// Alike and as shipped, instead of drawn from the seed.
    pub fleet: Option<Fleet>,
    /// The server has room for as many sessions; `None`: for all.
    pub max_connections: Option<usize>,
}

/// Nodes with the library's defaults that all know all jobs, and jobs with one schedule and no policies: for a report at scale.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    /// The distance of a job's occurrences, aligned to the world's beginning.
    pub every: Duration,
    /// Their jitter: over so long the jobs are spread.
    pub spread: Duration,
}

impl Plan {
    /// The usual run of a seed: a few minutes of faults, and a quiet end.
    pub fn of(seed: u64) -> Plan {
        let quiet_for = Duration::from_secs(200);
        let faults_for = Duration::from_secs(300);
        Plan { seed, nodes: 5, jobs: 3, faults_for, quiet_for, bug: None, fleet: None, max_connections: None }
    }

    /// When faults end.
    pub fn quiet_from(&self) -> Duration {
        self.faults_for
    }

    /// When the run ends.
    pub fn ends(&self) -> Duration {
        self.faults_for + self.quiet_for
    }
}

/// A job, and what its bodies are like.
#[derive(Clone, Debug)]
pub(crate) struct JobModel {
    pub(crate) definition: Definition,
    /// What a deploy makes of it; often the same.
    pub(crate) deployed: Definition,
    /// Of 1,000 bodies, while faults happen: die with their process; fail; call `complete`; ignore the word to stop; block.
    pub(crate) poison: u64,
    pub(crate) failing: u64,
    pub(crate) completing: u64,
    pub(crate) deaf: u64,
    pub(crate) blocking: u64,
    /// The longest body.
    pub(crate) body_max: Duration,
    /// Another job of the list, of which this is the new name: known to version 1, which knows the other no more.
    pub(crate) heir_of: Option<usize>,
}

impl JobModel {
    /// Its definition in a version of the program: 0, or 1.
    pub(crate) fn in_version(&self, version: usize) -> &Definition {
        if version == 0 { &self.definition } else { &self.deployed }
    }

    /// The job number `number` of a fleet: well-behaved, whatever happens around it.
    pub(crate) fn of(number: usize, fleet: Fleet) -> JobModel {
        let name = JobName::parse(&format!("job-{number}")).expect("a plain name");
        let length = |length: Duration| SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX);
        let mut definition = Definition::new(name.clone(), Key::of(None, &name), Schedule::every(length(fleet.every)));
        definition.jitter = length(fleet.spread);
        let body_max = (fleet.every / 2).min(Duration::from_secs(20));
        JobModel {
            deployed: definition.clone(),
            definition,
            poison: 0,
            failing: 0,
            completing: 0,
            deaf: 0,
            blocking: 0,
            body_max,
            heir_of: None,
        }
    }

    /// Puts those jobs into one group whose bodies end.
    pub(crate) fn group(jobs: &mut [JobModel]) {
        let name = JobName::parse("group").expect("a plain name");
        let group = Group { key: Key::of_group(None, &name), name };
        let ends = |job: &JobModel| !(0..2).any(|version| job.in_version(version).schedule.is_continuous());
        for job in jobs.iter_mut().filter(|job| ends(job)) {
            job.definition.group = Some(group.clone());
            job.deployed.group = Some(group.clone());
        }
    }

    /// Policies from a stream of their own, so that what is drawn from the other stays as it is: the last of the jobs is, in some runs, one
    /// that is hardly ever due and runs because somebody asks; windows look back or are bounded; a process has a say in what it runs.
    pub(crate) fn more_policies(jobs: &mut [JobModel], random: &mut Random) {
        let seldom = random.chance(300);
        let last = jobs.len() - 1;
        for (number, job) in jobs.iter_mut().enumerate() {
            let lookback = SignedDuration::from_secs(*random.pick(&[0, 0, 5, 40]));
            let window_max = random.chance(250).then(|| SignedDuration::from_secs(*random.pick(&[60, 130])));
            let conditional = random.chance(150);
            for definition in [&mut job.definition, &mut job.deployed] {
                (definition.lookback, definition.window_max, definition.conditional) =
                    (lookback, window_max, conditional);
                if seldom && number == last && !definition.schedule.is_continuous() {
                    definition.schedule = Schedule::every(SignedDuration::from_hours(24));
                }
            }
        }
    }

    /// In some runs a deploy gives one of the jobs a new name, which stands behind all others.
    pub(crate) fn rename(jobs: &mut Vec<JobModel>, random: &mut Random) {
        if !random.chance(250) {
            return;
        }
        let old = random.below(jobs.len() as u64) as usize;
        let name = JobName::parse(&format!("job-{old}-renamed")).expect("a plain name");
        let mut heir = JobModel { heir_of: Some(old), ..jobs[old].clone() };
        for definition in [&mut heir.definition, &mut heir.deployed] {
            definition.key = Key::of(None, &name);
            definition.renamed_from = Some(std::mem::replace(&mut definition.name, name.clone()));
        }
        jobs.push(heir);
    }

    /// The job number `number` of a run.
    pub(crate) fn draw(number: usize, random: &mut Random) -> JobModel {
        let name = JobName::parse(&format!("job-{number}")).expect("a plain name");
        let period = *random.pick(&[20_u64, 30, 45, 60, 90, 120]);
        let schedule = Schedule::every(SignedDuration::from_secs(period as i64));
        let mut definition = Definition::new(name.clone(), Key::of(None, &name), schedule);
        definition.timeout = Some(SignedDuration::from_secs(*random.pick(&[8, 20, 60])));
        definition.stop_grace = SignedDuration::from_secs(*random.pick(&[1, 3, 10]));
        definition.jitter = SignedDuration::from_secs(*random.pick(&[0, 0, 5]));
        let wait = SignedDuration::from_millis(*random.pick(&[0, 2_000, 8_000]));
        definition.retry = Retry::fixed(*random.pick(&[1, 2, 3]), wait);
        definition.completes = random.chance(250);
        let mut deployed = definition.clone();
        if random.chance(500) {
            let period = SignedDuration::from_secs(*random.pick(&[25_u64, 40, 60, 75]) as i64);
            deployed.schedule = Schedule::every(period);
        }
        let completing = if definition.completes { 900 } else { *random.pick(&[0, 300]) };
        let poison = *random.pick(&[0, 0, 40, 500]);
        let failing = *random.pick(&[0, 100, 400]);
        let deaf = *random.pick(&[0, 200]);
        let blocking = *random.pick(&[0, 0, 30]);
        let mut body_max = random.millis(500, 1_000 * period * 3 / 4);
        if random.chance(250) {
            definition = continuous(definition);
            // A deploy changes another policy, or makes it a job with occurrences.
            if random.chance(700) {
                deployed.stop_grace = deployed.stop_grace.max(SignedDuration::from_secs(2));
                deployed = continuous(deployed);
            }
            body_max = random.millis(500, 200_000);
        }
        JobModel { definition, deployed, poison, failing, completing, deaf, blocking, body_max, heir_of: None }
    }
}

/// The same job, made continuous.
fn continuous(mut definition: Definition) -> Definition {
    definition.schedule = Schedule::continuous();
    definition.timeout = None;
    definition.jitter = SignedDuration::ZERO;
    definition.retry = Retry::none();
    definition
}
