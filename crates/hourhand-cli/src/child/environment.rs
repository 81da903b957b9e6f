//! What a command is told of its run: `HOURHAND_…`.
//!
//! Everything else is our own environment as it was given to us, `TRACEPARENT` with it. The database's URL is not among what we add:
//! a command that is to have it finds it where its user has put it.

use hourhand::Run;
use jiff::Timestamp;

/// The run's facts, each in its variable. `SCHEDULED_FOR` is empty for a run that somebody asked for: there is no occurrence.
pub(crate) fn facts(run: &Run) -> [(&'static str, String); 8] {
    let window = run.window();
    [
        ("HOURHAND_JOB", run.job().to_owned()),
        ("HOURHAND_EPOCH", run.epoch().to_string()),
        ("HOURHAND_SCHEDULED_FOR", run.scheduled_for().map(exact).unwrap_or_default()),
        ("HOURHAND_TRIGGER", run.trigger().to_string()),
        ("HOURHAND_ATTEMPT", run.attempt().to_string()),
        ("HOURHAND_WINDOW_FROM", exact(window.from)),
        ("HOURHAND_WINDOW_UNTIL", exact(window.until)),
        ("HOURHAND_STARTED_AT", exact(run.started_at())),
    ]
}

/// Of a run that is on no record: no fence knows its epoch, and it has no window.
pub(super) fn facts_without_record(run: &Run) -> [(&'static str, String); 8] {
    let known = ["HOURHAND_JOB", "HOURHAND_TRIGGER", "HOURHAND_STARTED_AT"];
    facts(run).map(|(name, value)| (name, if known.contains(&name) { value } else { String::new() }))
}

/// RFC 3339 in UTC, to the microsecond that the database knows: a window's edge must not be rounded.
fn exact(instant: Timestamp) -> String {
    format!("{instant:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_exact_to_the_microsecond() {
        let instant: Timestamp = "2026-11-30T18:00:00.123456Z".parse().unwrap();
        assert_eq!(exact(instant), "2026-11-30T18:00:00.123456Z");
        let whole: Timestamp = "2026-11-30T18:00:00Z".parse().unwrap();
        assert_eq!(exact(whole), "2026-11-30T18:00:00.000000Z");
    }
}
