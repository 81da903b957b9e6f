//! One job of the file: its schedule, its policies, and what it runs.

use std::ops::Range;

use hourhand::{CatchUp, Failure, Job, Overlap, Retry, Schedule};
use jiff::SignedDuration;
use toml::Spanned;

use super::section::Section;
use super::source::Complaint;
use super::top::{self, Top};
use super::work::{self, Hooks, Work};

/// A job of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobConfig {
    pub(crate) name: String,
    pub(crate) schedule: Schedule,
    policies: Policies,
    pub(crate) work: Work,
    pub(crate) hooks: Hooks,
}

/// What the file says of a job's policies. `None`, or not in the list: the library's default.
#[derive(Clone, Debug, Default, PartialEq)]
struct Policies {
    lengths: Vec<(&'static str, SignedDuration)>,
    catch_up: Option<CatchUp>,
    overlap: Option<Overlap>,
    retry: Option<Retry>,
    renamed_from: Option<String>,
    exclusive_group: Option<String>,
    completes: Option<bool>,
}

type TellLength = fn(Job, SignedDuration) -> Job;

/// The policies that are a length of time, and how the library is told.
const LENGTHS: [(&str, TellLength); 11] = [
    ("abandon_after", Job::abandon_after::<SignedDuration>),
    ("catch_up_window", Job::catch_up_window::<SignedDuration>),
    ("deadline", Job::deadline::<SignedDuration>),
    ("jitter", Job::jitter::<SignedDuration>),
    ("lookback", Job::lookback::<SignedDuration>),
    ("initial_window", Job::initial_window::<SignedDuration>),
    ("window_max", Job::window_max::<SignedDuration>),
    ("timeout", Job::timeout::<SignedDuration>),
    ("stop_grace", Job::stop_grace::<SignedDuration>),
    ("retention", Job::retention::<SignedDuration>),
    ("warn_after", Job::warn_after::<SignedDuration>),
];

const OVERLAPS: [(&str, Overlap); 2] = [("skip", Overlap::Skip), ("buffer_one", Overlap::BufferOne)];

impl JobConfig {
    /// The job as the library has it, with this body.
    pub(crate) fn job<F, Fut>(&self, body: F) -> Job
    where
        F: Fn(hourhand::Run) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        self.policies.apply(Job::new(&self.name, self.schedule.clone(), body))
    }
}

impl Policies {
    fn apply(&self, mut job: Job) -> Job {
        for (name, length) in &self.lengths {
            let told = LENGTHS.iter().find(|(known, _)| known == name);
            job = told
                .map_or_else(|| unreachable!("{name} is read by its line in LENGTHS"), |(_, tell)| tell(job, *length));
        }
        if let Some(catch_up) = self.catch_up {
            job = job.catch_up(catch_up);
        }
        if let Some(overlap) = self.overlap {
            job = job.overlap(overlap);
        }
        if let Some(retry) = self.retry {
            job = job.retry(retry);
        }
        if let Some(name) = &self.renamed_from {
            job = job.renamed_from(name);
        }
        if let Some(group) = &self.exclusive_group {
            job = job.exclusive_group(group);
        }
        match self.completes {
            Some(completes) => job.completes(completes),
            None => job,
        }
    }
}

/// Reads a job; what is wrong is noted, and if its schedule or its work is, there is no job.
pub(super) fn read(name: &str, section: Section<'_>, top: &Top) -> Option<JobConfig> {
    let zone = if section.entry("time_zone").is_some() { top::time_zone(&section) } else { top.time_zone.clone() };
    let schedule = schedule(&section, zone.as_deref().unwrap_or("UTC"));
    let policies = Policies {
        lengths: LENGTHS.iter().filter_map(|(name, _)| Some((*name, section.length(name)?))).collect(),
        catch_up: catch_up(&section),
        overlap: section.choice("overlap", &OVERLAPS),
        retry: retry(&section),
        renamed_from: section.text("renamed_from").map(Spanned::into_inner),
        exclusive_group: section.text("exclusive_group").map(Spanned::into_inner),
        completes: section.yes("completes"),
    };
    let (work, hooks) = (work::read(&section), work::hooks(&section));
    let idle = |_| async { Ok::<(), Failure>(()) };
    let mut checked = policies.apply(Job::new(name, schedule.clone().unwrap_or_else(Schedule::hourly), idle));
    if hooks.on_late.is_some() {
        checked = checked.on_late(|_| std::future::ready(()));
    }
    for complaint in checked.complaints() {
        let policy = complaint.split(':').next().unwrap_or_default();
        section.complain(section.value_place(policy), &complaint, None);
    }
    section.finish();
    Some(JobConfig { name: name.to_owned(), schedule: schedule?, policies, work: work?, hooks })
}

fn schedule(section: &Section<'_>, zone: &str) -> Option<Schedule> {
    let Some(text) = section.text("schedule") else {
        if section.entry("schedule").is_none() {
            let right = "schedule = \"@hourly\", \"30 2 * * *\", \"every 90s\" or \"continuous\"";
            section.complain(section.at.clone(), "there is no schedule", Some(right));
        }
        return None;
    };
    match Schedule::parse(text.get_ref(), zone) {
        Ok(schedule) => Some(schedule),
        Err(error) => {
            for error in error.each() {
                let at = inside(section, &text, error.span());
                let what = format!("{}schedule: {}", section.title, error.sentence());
                let complaint = Complaint::new(at, what, error.advice());
                section.reader.complaints.borrow_mut().push(Complaint { shows: text.span(), ..complaint });
            }
            None
        }
    }
}

/// The place in the file of a place in a text, if the text stands in the file sign by sign.
fn inside(section: &Section<'_>, text: &Spanned<String>, place: Range<usize>) -> Range<usize> {
    let whole = text.span();
    let stands = section.reader.source.text.get(whole.start + 1..whole.end.saturating_sub(1));
    if place.is_empty() || stands != Some(text.get_ref().as_str()) {
        return whole;
    }
    whole.start + 1 + place.start..whole.start + 1 + place.end
}

/// `latest`, `none`, or `all(N)`.
fn catch_up(section: &Section<'_>) -> Option<CatchUp> {
    let text = section.text("catch_up")?;
    let number = |text: &str| text.strip_prefix("all(")?.strip_suffix(')')?.trim().parse::<u32>().ok();
    match text.get_ref().as_str() {
        "latest" => Some(CatchUp::Latest),
        "none" => Some(CatchUp::None),
        other => {
            let all = number(other).filter(|most| *most > 0).map(CatchUp::All);
            if all.is_none() {
                let right = "\"latest\", \"none\", or \"all(24)\" for at most 24 of them";
                section.complain(text.span(), format_args!("catch_up: there is no {other:?}"), Some(right));
            }
            all
        }
    }
}

/// With `backoff_max` or `factor` the wait grows; else it is fixed.
fn retry(section: &Section<'_>) -> Option<Retry> {
    let wanted = "a table: { attempts = 3, backoff = \"30s\" }, with backoff_max = \"10m\" doubling up to that";
    let retry = section.table("retry", wanted)?;
    let (attempts, backoff) = (retry.number("attempts", 1..=1_000_000), retry.length("backoff"));
    let (factor, most) = (retry.number("factor", 1..=100), retry.length("backoff_max"));
    let jitter = retry.length("jitter").unwrap_or(SignedDuration::ZERO);
    if attempts.is_none() && retry.entry("attempts").is_none() {
        retry.complain(retry.at.clone(), "there is no number of attempts", Some(wanted));
    }
    let backoff = backoff.unwrap_or(SignedDuration::ZERO);
    if most.is_some_and(|most| most < backoff) {
        retry.complain(retry.place("backoff_max"), "backoff_max: shorter than the backoff", Some(wanted));
    }
    let grows = most.is_some() || factor.is_some_and(|factor| factor > 1);
    retry.finish();
    let growing = Retry::exponential(attempts?, backoff, most.unwrap_or(SignedDuration::from_hours(1)).max(backoff));
    let retry = if grows { Retry { factor: factor.unwrap_or(2), ..growing } } else { Retry::fixed(attempts?, backoff) };
    Some(retry.jitter(jitter))
}
