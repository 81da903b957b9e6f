//! How a job stands, in words: what state it is in, and what is wrong.

use hourhand::{HistoryEntry, JobDetail};
use jiff::Timestamp;

use crate::ctx::Ctx;
use crate::markup::{Markup, badge, first_line, look};

/// What makes a job run, and so what can be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It has occurrences.
    Scheduled,
    /// It should be running at all times: nothing of it is ever due, late, missed or run again.
    Continuous,
    /// Nobody has registered a schedule: it runs when a command or a person asks for it.
    WhenAsked,
    /// A version has registered it whose definitions this one cannot read.
    Unreadable,
}

impl Kind {
    pub(crate) fn of(job: &JobDetail) -> Kind {
        match &job.schedule {
            Some(schedule) if schedule.is_continuous() => Kind::Continuous,
            Some(_) => Kind::Scheduled,
            None if job.definition.is_null() => Kind::WhenAsked,
            None => Kind::Unreadable,
        }
    }

    /// Its schedule, in words.
    pub(crate) fn words(self, job: &JobDetail) -> String {
        match self {
            Kind::Scheduled => format!("{}, {}", job.description, job.status.time_zone),
            Kind::Continuous => "always running, on one node".to_owned(),
            Kind::WhenAsked => "runs when it is asked for".to_owned(),
            Kind::Unreadable => "of a later version, whose schedule this one cannot read".to_owned(),
        }
    }

    /// What stands where a next occurrence would.
    pub(crate) fn without_next(self) -> &'static str {
        match self {
            Kind::Scheduled => "never again",
            Kind::Continuous => "always",
            Kind::WhenAsked => "when asked",
            Kind::Unreadable => "not known",
        }
    }

    /// Whether some process has it, and would run it for a person who asks.
    pub(crate) fn can_be_asked(self) -> bool {
        self != Kind::WhenAsked
    }

    pub(crate) fn is_scheduled(self) -> bool {
        self == Kind::Scheduled
    }

    pub(crate) fn is_continuous(self) -> bool {
        self == Kind::Continuous
    }
}

/// The states that a job is in, the gravest first.
pub(crate) fn states(job: &JobDetail) -> Vec<Markup> {
    let status = &job.status;
    let words = [
        (status.overdue && !status.orphaned, "overdue"),
        (status.orphaned, "orphaned"),
        (held(job).is_some(), "held"),
        (status.paused.is_some(), "paused"),
        (status.running.is_some(), "running"),
    ];
    words.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| badge(word)).collect()
}

/// Whether it belongs in a list of what has to be looked at.
pub(crate) fn needs_attention(job: &JobDetail) -> bool {
    job.status.overdue || job.status.orphaned || held(job).is_some() || is_failing(job)
}

/// Its last run did not end well, and no other is under way.
pub(crate) fn is_failing(job: &JobDetail) -> bool {
    job.status.last_outcome.as_deref().is_some_and(|word| look(word).0 == "bad") && job.status.running.is_none()
}

/// How its last run ended, where no state says more than that: a success only if it is in none.
pub(crate) fn outcome(job: &JobDetail) -> Option<&str> {
    let is_plain = states(job).is_empty();
    job.status.last_outcome.as_deref().filter(|_| is_plain || is_failing(job))
}

/// What the job's newest run said when it failed, and where to read the rest; none of an older one's, or of a skip.
pub(crate) fn failed(ctx: &Ctx, job: &JobDetail, entry: &HistoryEntry) -> Option<(String, String)> {
    let (epoch, outcome) = (entry.epoch?, entry.outcome.as_str());
    let is_newest = is_failing(job) && job.status.last_outcome.as_deref() == Some(outcome);
    let said = entry.error.as_deref().map(first_line).filter(|said| !said.is_empty());
    is_newest.then(|| (ctx.run(&entry.job, &epoch), said.unwrap_or_else(|| format!("run {epoch}"))))
}

/// The stranger that holds its lock. A node of ours holds it without a run for a moment, while it looks whether it may start one.
pub(crate) fn held(job: &JobDetail) -> Option<String> {
    let (pid, application) = job.held_by.as_ref().filter(|(_, application)| !application.starts_with("hourhand/"))?;
    let who = if application.is_empty() { "without a name".to_owned() } else { format!("“{application}”") };
    Some(format!("its lock is held by session {pid} {who}, which runs nothing of it"))
}

/// The oldest occurrence that nobody has run.
pub(crate) fn due_since(job: &JobDetail) -> Option<Timestamp> {
    job.schedule.as_ref()?.next_after(job.handled_until).filter(|due| *due <= job.now)
}

/// What is wrong, a sentence each; the first is the likeliest reason of the others.
pub(crate) fn troubles(job: &JobDetail) -> Vec<String> {
    let mut troubles: Vec<String> = held(job).into_iter().collect();
    if job.status.orphaned {
        let span = if Kind::of(job).is_continuous() { "two hours" } else { "two periods of its schedule" };
        troubles.push(format!("nobody has registered, started or run it for {span}"));
    } else if job.status.overdue && troubles.is_empty() {
        troubles.push(match Kind::of(job) {
            Kind::Continuous => "it should be running, and no process runs it: is one up that has this job?".to_owned(),
            _ => "due, and no process has taken it: is one up that has this job?".to_owned(),
        });
    }
    if is_failing(job) {
        let word = job.status.last_outcome.as_deref().unwrap_or_default().replace('_', " ");
        troubles.push(match job.retry_at {
            Some(_) if Kind::of(job).is_continuous() => format!("its last run {word}; it starts again in a moment"),
            Some(_) => format!("its last run {word}; it is tried again"),
            None => format!("its last run {word}"),
        });
    }
    troubles
}
