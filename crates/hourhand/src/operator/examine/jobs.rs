//! Jobs that should have run.

use super::{Finding, Severity};
use crate::error::Error;
use crate::operator::Operator;
use crate::operator::standing::Standing;

impl Operator {
    pub(super) async fn job_findings(&self) -> Result<Vec<Finding>, Error> {
        Ok(self.standings("examine", None).await?.iter().filter_map(finding).collect())
    }
}

fn finding(seen: &Standing) -> Option<Finding> {
    let (job, status) = (&seen.name, seen.status());
    if status.orphaned {
        return Some(
            Finding::new(
                "orphaned",
                Severity::Warning,
                format!("job {job} is overdue, and no process has had it for two periods"),
            )
            .why("it was taken out of the program, or everything that has it is down")
            .remedy(format!("start what runs it, or if it is gone for good: hourhand forget {job}"))
            .job(job),
        );
    }
    if status.overdue {
        let floor = seen.facts.floor();
        return Some(
            Finding::new("overdue", Severity::Error, format!("job {job} is overdue: nothing has run for what came due after {floor:.0}"))
                .why("no process that has it reaches the database, or each fails before it can start a run")
                .remedy("start a process that has the job, or see in its log why it does not come; a holder in the way is a finding of its own")
                .job(job),
        );
    }
    never_ran(seen)
}

/// Registered for more than two periods, and never started: passed over each time, or paused ever since.
fn never_ran(seen: &Standing) -> Option<Finding> {
    let (job, registered) = (&seen.name, seen.registered_at?);
    let definition = seen.definition()?;
    let period = definition.schedule.period_at(seen.now)?;
    let since = seen.now.duration_since(registered);
    (seen.facts.epoch == 0 && since > period + period).then(|| {
        let why = if seen.facts.paused {
            "it is paused"
        } else {
            "every occurrence was passed over: too late, or paused at its time"
        };
        let resumed = if seen.facts.paused { format!("hourhand resume {job}, then ") } else { String::new() };
        let remedy = format!(
            "see `hourhand history {job}` for the reasons; to have it run now: {resumed}hourhand trigger {job}"
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
