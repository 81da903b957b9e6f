//! What is measured, in which order and company, so that it takes no longer than it has to.
//!
//! What is measured of one process, or in seconds, does not mind company: those scenarios run for all subjects at once, each on a
//! database of its own. What is measured in milliseconds, or loads the machine, has it to itself.

use std::time::Duration;

use crate::scenario::{Company, Scenario};
use crate::spans::Spans;
use crate::subject::Peer;

/// What is measured, of whom, and how thoroughly.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// Of whom.
    pub(crate) peers: Vec<Peer>,
    /// What.
    pub(crate) scenarios: &'a [Scenario],
    /// How thoroughly.
    pub(crate) spans: Spans,
}

/// What runs at the same time: a scenario and the place of the subject.
pub(crate) type Batch = Vec<(Scenario, usize)>;

impl Plan<'_> {
    /// How long all of it takes, about.
    pub(crate) fn estimate(&self) -> Duration {
        Company::ALL.into_iter().flat_map(|company| self.batches(company)).map(|batch| self.takes(&batch)).sum()
    }

    /// The longest of what runs at the same time. What a subject refuses is over at once.
    pub(crate) fn takes(&self, batch: &[(Scenario, usize)]) -> Duration {
        let can = |(scenario, place): &&(Scenario, usize)| !scenario.wants_seconds() || self.peers[*place].seconds;
        batch.iter().filter(can).map(|(scenario, _)| scenario.takes(self.spans)).max().unwrap_or_default()
    }

    /// All that runs in this company, one batch after another.
    pub(crate) fn batches(&self, company: Company) -> Vec<Batch> {
        let of_it = || self.scenarios.iter().copied().filter(move |scenario| scenario.company() == company);
        let everybody = |scenario: Scenario| (0..self.peers.len()).map(move |place| (scenario, place));
        match company {
            Company::Everybody => vec![of_it().flat_map(everybody).collect()],
            Company::SameScenario | Company::SameRestart => {
                of_it().map(|scenario| everybody(scenario).collect()).collect()
            }
            Company::Nobody => of_it().flat_map(everybody).map(|one| vec![one]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::named;
    use clap::ValueEnum;

    fn plan<'a>(only: &[&str], scenarios: &'a [Scenario]) -> Plan<'a> {
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        Plan { peers: named(&only).unwrap(), scenarios, spans: Spans::Short }
    }

    #[test]
    fn everybody_through_everything_is_about_half_an_hour_with_short_spans() {
        let minutes = plan(&[], Scenario::value_variants()).estimate().as_secs().div_ceil(60);
        assert!((25..=32).contains(&minutes), "{minutes} minutes");
    }

    #[test]
    fn one_more_peer_costs_no_time_where_all_run_at_once() {
        let scenarios = [Scenario::Killed, Scenario::Minute, Scenario::Restart];
        assert_eq!(plan(&["hourhand"], &scenarios).estimate(), plan(&[], &scenarios).estimate());
    }

    #[test]
    fn who_has_the_machine_alone_comes_one_after_another() {
        let scenarios = [Scenario::Burst, Scenario::Killed];
        let plan = plan(&["hourhand", "apalis"], &scenarios);
        let (burst, killed) = (Scenario::Burst, Scenario::Killed);
        assert_eq!(plan.batches(Company::Nobody), [[(burst, 0)], [(burst, 1)]]);
        assert_eq!(plan.batches(Company::Everybody), [[(killed, 0), (killed, 1)]]);
        assert_eq!(plan.batches(Company::SameScenario), Vec::<Batch>::new());
    }

    #[test]
    fn a_job_a_second_takes_no_time_of_a_peer_that_knows_no_seconds() {
        let scenarios = [Scenario::Second];
        let alone = plan(&["hourhand"], &scenarios).estimate();
        assert_eq!(plan(&["hourhand", "pg-boss"], &scenarios).estimate(), alone);
        assert_eq!(plan(&["hourhand", "apscheduler"], &scenarios).estimate(), 2 * alone);
    }
}
