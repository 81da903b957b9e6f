//! How a job stands, in words: what state it is in, and what is wrong.

use hourhand::JobDetail;
use jiff::Timestamp;

use crate::markup::{Markup, badge, look};

/// The states that a job is in, the gravest first; the last outcome if it is in none.
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
        troubles.push("nobody has registered, started or run it for two periods of its schedule".to_owned());
    } else if job.status.overdue && troubles.is_empty() {
        troubles.push("due, and no process has taken it: is one running that has this job?".to_owned());
    }
    if is_failing(job) {
        let word = job.status.last_outcome.as_deref().unwrap_or_default().replace('_', " ");
        troubles.push(match job.retry_at {
            Some(_) => format!("its last run {word}; it is tried again"),
            None => format!("its last run {word}"),
        });
    }
    troubles
}
