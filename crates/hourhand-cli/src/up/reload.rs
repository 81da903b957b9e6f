//! The scheduler of the file, and how a changed file is taken up.
//!
//! Jobs come, go and change while the scheduler runs; a run of a job that goes or changes goes on to its end as it was begun. If
//! what holds for the whole process has changed, another scheduler takes this one's place: runs under way may finish within the
//! grace first.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hourhand::{Job, Scheduler, SchedulerBuilder};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::listen::Listening;
use super::settings::Settings;
use super::{Current, Orders, body};
use crate::config::{Config, JobConfig};
use crate::refusal::Refusal;

/// What runs.
pub(super) struct Sidecar {
    orders: Orders,
    config: Config,
    settings: Settings,
    scheduler: Scheduler,
    current: Current,
    stopping: CancellationToken,
    /// Changed jobs that wait for the end of a run of what they were.
    coming: HashMap<String, JoinHandle<()>>,
    /// When the process began.
    born: Instant,
}

/// How a changed file differs from what runs.
#[derive(Debug, Default, PartialEq)]
struct Changes {
    going: Vec<String>,
    coming: Vec<JobConfig>,
}

impl Sidecar {
    /// Starts with this file. The first visit to the database is waited for, some seconds at most; with the database away it runs all
    /// the same.
    pub(super) async fn start(
        orders: Orders,
        file: (Config, Settings),
        current: Current,
        stopping: CancellationToken,
    ) -> Result<Sidecar, Refusal> {
        let (config, settings) = file;
        let born = Instant::now();
        let builder = settings.builder(Duration::ZERO).migrate(orders.migrate);
        let scheduler = scheduler(builder, (&config, &settings), &stopping).await?;
        current.send_replace(Some(scheduler.clone()));
        info!(jobs = config.jobs.len(), "up");
        config.jobs.iter().for_each(say_notes);
        Ok(Sidecar { orders, config, settings, scheduler, current, stopping, coming: HashMap::new(), born })
    }

    /// Reads the file again.
    pub(super) async fn reload(&mut self, listening: Option<&Listening>) {
        let read = Config::load(&self.orders.config).map_err(|refused| Refusal::wrong(refused.to_string()));
        let settled = read.and_then(|config| Ok((Settings::of(&self.orders, &config.top)?, config)));
        match settled {
            Ok((settings, config)) => {
                let before = self.settings.clone();
                self.take_up(config, settings).await;
                self.show_if_moved(&before, listening);
            }
            Err(refusal) => error!("the changed configuration is refused, what ran goes on:\n{refusal}"),
        }
    }

    /// The dashboard follows what runs: nobody shall look at a database where nothing happens any more.
    fn show_if_moved(&self, before: &Settings, listening: Option<&Listening>) {
        let Some(listening) = listening.filter(|_| !self.settings.lead_to_the_same(before)) else { return };
        match self.settings.operator() {
            Ok(operator) => listening.show(operator),
            Err(refusal) => error!("the dashboard still shows what ran before: {refusal}"),
        }
    }

    async fn take_up(&mut self, config: Config, settings: Settings) {
        if settings.listen != self.settings.listen {
            warn!("listen has changed: that takes a restart of the process");
        }
        if !self.settings.build_alike(&settings) {
            return self.start_anew(config, settings).await;
        }
        let changes = changes(&self.config.jobs, &config.jobs);
        let (gone, come) = (changes.going.len(), changes.coming.len());
        for name in &changes.going {
            self.remove(name).await;
        }
        for job in &changes.coming {
            say_notes(job);
            self.add(job);
        }
        (self.config, self.settings) = (config, settings);
        info!(jobs = self.config.jobs.len(), gone, come, "the configuration is taken up");
    }

    async fn remove(&mut self, name: &str) {
        if let Some(coming) = self.coming.remove(name) {
            // It may have come just now, or wait still.
            coming.abort();
        }
        match self.scheduler.remove(name).await {
            Ok(Some(epoch)) => info!(job = name, epoch, "the job goes; a run of it goes on to its end"),
            Ok(None) => {}
            // One that was still waiting to come is not there.
            Err(error) if error.is_unknown_job() => {}
            Err(error) => warn!(job = name, "the job could not be taken out: {error}"),
        }
    }

    /// Adds a job without waiting: a run of what it was may take hours.
    fn add(&mut self, config: &JobConfig) {
        let (scheduler, job, name) = (self.scheduler.clone(), body::job(config), config.name.clone());
        let adding = async move {
            if let Err(error) = scheduler.add(job).await {
                error!(job = name, "the job could not be taken up: {error}");
            }
        };
        self.coming.retain(|_, coming| !coming.is_finished());
        self.coming.insert(config.name.clone(), tokio::spawn(adding));
    }

    /// What holds for the whole process has changed.
    async fn start_anew(&mut self, config: Config, settings: Settings) {
        info!("what holds for the whole process has changed: runs under way may finish, then another scheduler starts");
        self.stop_coming();
        self.current.send_replace(None);
        self.scheduler.shutdown().await;
        match self.scheduler_of(&config, &settings).await {
            Ok(scheduler) => {
                (self.scheduler, self.config, self.settings) = (scheduler, config, settings);
                info!(jobs = self.config.jobs.len(), "the configuration is taken up");
            }
            Err(refusal) => {
                error!("the changed configuration is refused, what ran starts again:\n{refusal}");
                match self.scheduler_of(&self.config, &self.settings).await {
                    Ok(scheduler) => self.scheduler = scheduler,
                    Err(refusal) => error!("what ran before does not start again:\n{refusal}"),
                }
            }
        }
        self.current.send_replace(Some(self.scheduler.clone()));
    }

    async fn scheduler_of(&self, config: &Config, settings: &Settings) -> Result<Scheduler, Refusal> {
        let builder = settings.builder(self.born.elapsed()).migrate(self.orders.migrate);
        scheduler(builder, (config, settings), &self.stopping).await
    }

    fn stop_coming(&mut self) {
        self.coming.drain().for_each(|(_, coming)| coming.abort());
    }

    /// Lets runs under way finish within the grace, then tells them to stop.
    pub(super) async fn shut_down(mut self) {
        self.stop_coming();
        self.scheduler.shutdown().await;
        info!("down");
    }
}

async fn scheduler(
    builder: SchedulerBuilder,
    (config, settings): (&Config, &Settings),
    stopping: &CancellationToken,
) -> Result<Scheduler, Refusal> {
    let jobs: Vec<Job> = config.jobs.iter().map(body::job).collect();
    let builder = builder.shutdown_on(stopping.clone().cancelled_owned());
    let started = jobs.into_iter().fold(builder, |builder, job| builder.job(job)).start().await;
    started.map_err(|error| {
        let text = error.to_string();
        if error.is_config() {
            return Refusal::wrong(config.refuse(&text, |line| settings.key_of(line)).to_string());
        }
        Refusal::from(error)
    })
}

/// What is right about a schedule, but may not be what was meant.
fn say_notes(job: &JobConfig) {
    for note in job.schedule.notes() {
        info!(job = job.name, "schedule {:?}: {note}", job.schedule.to_string());
    }
}

fn changes(before: &[JobConfig], after: &[JobConfig]) -> Changes {
    let going = before.iter().filter(|job| !after.contains(job)).map(|job| job.name.clone()).collect();
    let coming = after.iter().filter(|job| !before.contains(job)).cloned().collect();
    Changes { going, coming }
}
