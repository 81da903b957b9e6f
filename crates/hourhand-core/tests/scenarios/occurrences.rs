//! What is due. `given …` sets the job and its row, and stays for the scene; `at TIME` asks what is to be done then, `overdue
//! TIME` whether somebody should be told, `given-up TIME` whether anybody seems to have it, `ran OCCURRENCE until TIME` what a run has skipped by overlapping.

use hourhand_core::facts::Facts;
use hourhand_core::job::Definition;
use hourhand_core::occurrence::{Decision, Skip, decide, orphaned, overdue, overlapped, wants_note};
use jiff::{SignedDuration, Timestamp};

use crate::golden::{self, Scene};
use crate::node::facts::set;
use crate::node::job::definition;
use crate::notation::{midnight, shown, time};

#[test]
fn what_is_due_follows_from_the_row_and_the_servers_time() {
    golden::check::<Row>("occurrences.txt");
}

struct Row {
    job: Definition,
    facts: Facts,
}

impl Scene for Row {
    fn begin(_title: &str) -> Row {
        Row { job: definition("job sync hourly"), facts: Facts::registered(midnight()) }
    }

    fn answer(&mut self, line: &str) -> String {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "job" => self.job = definition(line),
            "given" => rest.split_whitespace().for_each(|word| set(&mut self.facts, word)),
            "at" => return decision(decide(&self.job, &self.facts, time(rest))),
            "overdue" => {
                let told = overdue(&self.job, &self.facts, time(rest), SignedDuration::from_secs(60));
                return if told { "overdue" } else { "not overdue" }.to_owned();
            }
            "given-up" => return given_up(&self.job, &self.facts, time(rest)).to_owned(),
            "ran" => {
                let (occurrence, ended) = rest.split_once(" until ").unwrap();
                return skips(overlapped(&self.job, time(occurrence), time(ended)));
            }
            _ => panic!("no such line: {line}"),
        }
        String::new()
    }
}

/// By a job that was registered when it began to count.
fn given_up(job: &Definition, facts: &Facts, now: Timestamp) -> &'static str {
    let bound = SignedDuration::from_secs(60);
    match (orphaned(job, facts, facts.counts_from.unwrap(), now, bound), wants_note(job, facts, now, bound)) {
        (true, true) => "given up",
        (true, false) => "given up, and whoever has it keeps silent",
        (false, true) => "not yet: whoever has it says so",
        (false, false) => "no",
    }
}

fn decision(decision: Decision) -> String {
    match decision {
        Decision::Due(due) => {
            let passed = due.skip.map(|skip| format!(", passing over {}", skips(Some(skip)))).unwrap_or_default();
            let passed = match due.window_end {
                Some(end) => format!("{passed}, window to {}", shown(end)),
                None => passed,
            };
            format!("due: {} by {}{passed}", shown(due.occurrence), due.trigger)
        }
        Decision::FollowUp => "follow up".to_owned(),
        Decision::Continuous => "run".to_owned(),
        Decision::LookAgain => "look again after a while".to_owned(),
        Decision::PassOver(skip) => format!("pass over {} ({})", skips(Some(skip)), skip.reason.as_str()),
        Decision::Later(at) => format!("later: {}", shown(at)),
        Decision::NotYet(Some(at)) => format!("not yet: {}", shown(at)),
        Decision::NotYet(None) => "never".to_owned(),
    }
}

fn skips(skip: Option<Skip>) -> String {
    skip.map_or("nothing".to_owned(), |skip| format!("{} up to {}", skip.count, shown(skip.newest)))
}
