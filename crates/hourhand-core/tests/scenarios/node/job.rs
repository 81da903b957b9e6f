//! Jobs as scenes write them: `job NAME SCHEDULE… key=value…`, the schedule's words joined by `_`.

use hourhand_core::job::{CatchUp, Definition, Group, Overlap, Starts};
use hourhand_core::key::Key;
use hourhand_core::name::JobName;
use hourhand_core::schedule::Schedule;

use crate::notation::{length, optional};
use crate::outcomes::retry_of;

/// The job that a line `job NAME SCHEDULE key=value…` defines.
pub(crate) fn definition(line: &str) -> Definition {
    let mut words = line.split_whitespace().skip(1);
    let name = JobName::parse(words.next().unwrap()).unwrap();
    let schedule = match words.next().unwrap() {
        "hourly" => Schedule::hourly(),
        "minutely" => Schedule::parse("* * * * *", "UTC").unwrap(),
        text => Schedule::parse(&text.replace('_', " "), "UTC").unwrap_or_else(|error| panic!("{line}: {error}")),
    };
    let key = Key::of(None, &name);
    let mut job = Definition::new(name, key, schedule);
    for word in words {
        policy(&mut job, word);
    }
    job
}

fn policy(job: &mut Definition, word: &str) {
    let (policy, value) = word.split_once('=').unwrap_or((word, ""));
    match policy {
        "jitter" => job.jitter = length(value),
        "timeout" => job.timeout = optional(value).map(length),
        "stop_grace" => job.stop_grace = length(value),
        "retry" => job.retry = retry_of(value),
        "catch_up" => job.catch_up = catch_up(value),
        "catch_up_window" => job.catch_up_window = optional(value).map(length),
        "deadline" => job.deadline = optional(value).map(length),
        "buffer_one" => job.overlap = Overlap::BufferOne,
        "window_max" => job.window_max = optional(value).map(length),
        "warn_after" => job.warn_after = optional(value).map(length),
        "abandon_after" => job.abandon_after = length(value),
        "retry_jitter" => job.retry = job.retry.jitter(length(value)),
        "renamed_from" => job.renamed_from = Some(JobName::parse(value).unwrap()),
        "only_if" => job.conditional = true,
        "on_late" => job.tells_late = true,
        "on_success" => job.tells_success = true,
        "group" => {
            let name = JobName::parse(value).unwrap();
            job.group = Some(Group { key: Key::of_group(None, &name), name });
        }
        "completes" => job.completes = true,
        "when_asked" => job.starts = Starts::WhenAsked,
        "when_asked_if_due" => job.starts = Starts::WhenAskedIfDue,
        "zone" => job.schedule = job.schedule.clone().in_zone(value),
        _ => panic!("a job has no {policy}"),
    }
}

/// `latest`, `none`, or how many.
fn catch_up(text: &str) -> CatchUp {
    match text {
        "latest" => CatchUp::Latest,
        "none" => CatchUp::None,
        most => CatchUp::All(most.parse().unwrap()),
    }
}
