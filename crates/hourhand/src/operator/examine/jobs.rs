//! Jobs that should have run, or should have succeeded, and runs that somebody waits for.

use hourhand_core::occurrence::next_visit;
use hourhand_core::plain::argument;
use jiff::SignedDuration;

use super::{Finding, Severity};
use crate::error::Error;
use crate::operator::standing::Standing;
use crate::operator::{OpenRequest, Operator};

/// So many failures in a row are no mishap.
const FAILURES_MAX: u32 = 3;
/// A connected node takes a request within a second or two.
const REQUEST_WAITS_MAX: SignedDuration = SignedDuration::from_secs(10);

impl Operator {
    pub(super) async fn job_findings(&self) -> Result<Vec<Finding>, Error> {
        let standings = self.standings("examine", None).await?;
        let mut findings: Vec<Finding> = standings.iter().flat_map(findings).collect();
        for request in self.requests(None).await? {
            let seen = standings.iter().find(|seen| seen.name == request.job);
            findings.extend(seen.and_then(|seen| unanswered(seen, &request)));
        }
        Ok(findings)
    }
}

fn findings(seen: &Standing) -> impl Iterator<Item = Finding> {
    not_running(seen).into_iter().chain(failing(seen))
}

fn not_running(seen: &Standing) -> Option<Finding> {
    let (job, name, status) = (&seen.name, argument(&seen.name), seen.status());
    if status.orphaned {
        return Some(
            Finding::new(
                "orphaned",
                Severity::Warning,
                format!("job {job} is overdue, and no process has had it for two periods"),
            )
            .why("it was taken out of the program, or everything that has it is down")
            .remedy(format!(
                "start what runs it; or if it is gone for good, what it has covered with it: hourhand forget {name}"
            ))
            .job(job),
        );
    }
    if status.overdue {
        let is_continuous = seen.definition().is_some_and(|definition| definition.schedule.is_continuous());
        let message = match is_continuous {
            true => format!("job {job} should be running at all times, and no process runs it"),
            false => format!("job {job} is overdue: nothing has run for what came due after {:.0}", seen.facts.floor()),
        };
        let (why, remedy) = why_overdue(seen);
        return Some(Finding::new("overdue", Severity::Error, message).why(why).remedy(remedy).job(job));
    }
    never_ran(seen)
}

/// Whether a process has it that could run it.
fn why_overdue(seen: &Standing) -> (String, &'static str) {
    match seen.facts.known_at.filter(|at| *at > seen.facts.floor()) {
        Some(at) => (
            format!(
                "a process that has it took note at {at:.0} that it waits: its own condition (`only_if`) says no, or there is no room \
                 for it (`runs_max`, or a long run of its `exclusive_group`)"
            ),
            "see in that process's log what it waits for; a holder in the way is a finding of its own",
        ),
        None => (
            "no process that has it reaches the database, or each fails before it can start a run".to_owned(),
            "start a process that has the job, or see in its log why it does not come; a holder in the way is a finding of its own",
        ),
    }
}

/// Registered for more than two periods, and never started: passed over each time, or paused ever since.
fn never_ran(seen: &Standing) -> Option<Finding> {
    let (job, name, registered) = (&seen.name, argument(&seen.name), seen.registered_at?);
    let definition = seen.definition()?;
    let period = definition.schedule.period_at(seen.now)?;
    let since = seen.now.duration_since(registered);
    (seen.facts.epoch == 0 && since > period + period).then(|| {
        let why = if seen.facts.paused {
            "it is paused"
        } else {
            "every occurrence was passed over: too late, or paused at its time"
        };
        let resumed = if seen.facts.paused { format!("hourhand resume {name}, then ") } else { String::new() };
        let remedy = format!(
            "see `hourhand history {name}` for the reasons; to have it run now: {resumed}hourhand trigger {name}"
        );
        Finding::new(
            "never_run",
            Severity::Warning,
            format!("job {job} has never run since it was registered at {registered:.0}"),
        )
        .why(why)
        .remedy(remedy)
        .job(job)
    })
}

/// It runs, and to no avail: again and again, or ever since it was registered. (A lost run alone says nothing about the work, and a
/// continuous body that is at work is well, whatever became of its predecessors.)
fn failing(seen: &Standing) -> Option<Finding> {
    let (job, name, facts) = (&seen.name, argument(&seen.name), &seen.facts);
    let at_work = facts.running && seen.definition().is_some_and(|definition| definition.schedule.is_continuous());
    let died = facts.last_outcome.as_deref() == Some("lost") && facts.deaths < FAILURES_MAX;
    let fails = |outcome: &&str| !matches!(*outcome, "succeeded" | "cancelled") && !died && !at_work;
    let outcome = facts.last_outcome.as_deref().filter(fails)?;
    let runs = facts.failures.max(facts.deaths).max(1);
    let newest = if runs == 1 { "its only run".to_owned() } else { format!("the last {runs} in a row") };
    let message = match facts.last_success_at {
        None => format!("job {job} has never succeeded: {newest} {outcome}"),
        Some(at) if runs >= FAILURES_MAX => format!("job {job} has not succeeded since {at:.0}: {newest} {outcome}"),
        Some(_) => return None,
    };
    Some(
        Finding::new("failing", Severity::Warning, message)
            .why("it gets its lock and its runs; what goes wrong is the work itself, and nothing that it should cover is covered")
            .remedy(format!(
                "read what it says (`hourhand history {name} -n 1`), mend that, and try it: hourhand trigger {name} --wait"
            ))
            .job(job),
    )
}

/// Somebody asked for a run, and nobody has taken it, though nothing is in its way.
fn unanswered(seen: &Standing, request: &OpenRequest) -> Option<Finding> {
    let (job, name, waits) = (&seen.name, argument(&seen.name), seen.now.duration_since(request.asked_at));
    if seen.facts.running || seen.facts.paused || waits < REQUEST_WAITS_MAX {
        return None;
    }
    let by = seen.definition().and_then(|definition| next_visit(&definition, seen.now));
    let by = by.map(|by| format!(", at the latest at {by:.0}")).unwrap_or_default();
    let void = request.expires_at.map(|at| format!("; it is void at {at:.0}")).unwrap_or_default();
    let who = request.actor.as_deref().map(|actor| format!(" by {actor}")).unwrap_or_default();
    let what = if request.kind == "backfill" { "a backfill" } else { "a run" };
    let seconds = waits.as_secs();
    Some(
        Finding::new(
            "unanswered_request",
            Severity::Warning,
            format!("{what} of job {job}, asked for{who} {seconds} s ago, waits: no connected process takes it"),
        )
        .why(format!(
            "a process at rest takes it at its next visit{by}, if there is one; a busy one when it has room{void}"
        ))
        .remedy(format!("start a process that has the job (hourhand up), or take it back: hourhand cancel {name}"))
        .job(job),
    )
}
