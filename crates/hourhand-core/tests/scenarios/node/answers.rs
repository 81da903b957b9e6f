//! Answers of the session, as scenes write them.

use hourhand_core::protocol::{
    Answer, EndAnswer, Obstacle, Ordered, Proof, Question, SettledRun, Slot, StartAnswer, Started,
};
use jiff::Timestamp;

use super::World;
use super::facts::set;
use crate::notation::{optional, pairs, time};

impl World {
    /// The answer to `question` that a line stands for.
    pub(super) fn answered(&mut self, question: &Question, command: &str, rest: &str) -> Answer {
        match (command, question) {
            ("migrated", Question::Migrate) => Answer::Migrated,
            ("migration-busy", Question::Migrate) => Answer::MigrationBusy,
            ("registered", Question::Register { .. }) => {
                let others = rest.strip_prefix("but ").unwrap_or_default();
                Answer::Registered(others.split_whitespace().map(|name| self.slot(name)).collect())
            }
            ("stood-up", Question::StandUp(jobs)) => Answer::StoodUp(vec![rest != "not"; jobs.len()]),
            ("looked", Question::Look { jobs: slots, lost }) => {
                parts(rest).for_each(|part| self.learn(part));
                let facts: Vec<_> = slots.iter().map(|slot| self.facts[slot.0].clone()).collect();
                let others = (0..self.facts.len()).map(Slot).filter(|slot| !slots.contains(slot));
                let asked_for = |slot: Slot| Some((slot, self.facts[slot.0].as_ref()?.request?.id));
                let requested = others.filter_map(asked_for).collect();
                let lost = lost.then(|| std::mem::take(&mut self.lost));
                Answer::Looked { now: facts.iter().any(Option::is_some).then_some(self.server), facts, requested, lost }
            }
            ("tried", Question::TryLocks(slots) | Question::TryWatches(slots)) => {
                let answers: Vec<_> = rest.split_whitespace().map(granted).collect();
                assert_eq!(answers.len(), slots.len(), "one answer a job: {slots:?}");
                Answer::Tried(answers)
            }
            ("settled", Question::Settle { .. }) => Answer::Settled(settled(rest)),
            ("settled-lost", Question::SettleLost(_)) => {
                Answer::SettledLost(parts(rest).map(|part| self.settled_run(part)).collect())
            }
            ("started", Question::Start { starts, .. }) => {
                let answers: Vec<_> = parts(rest).map(|part| self.started(part)).collect();
                assert_eq!(answers.len(), starts.len(), "one answer a start");
                Answer::Started(answers)
            }
            ("pong", Question::Ping(runs)) => Answer::Pinged(self.proof(runs, rest)),
            ("ended", Question::End { ends, .. }) => {
                let answers: Vec<_> = parts(rest).map(end_answer).collect();
                assert_eq!(answers.len(), ends.len(), "one answer an end");
                Answer::Ended(answers)
            }
            ("obstacles", Question::Maintain(_)) => {
                Answer::Obstacles(parts(rest).map(|part| self.obstacle(part)).collect())
            }
            ("blocker", Question::Unblock(_)) => Answer::Blocker(parts(rest).map(|part| self.obstacle(part).1).next()),
            ("backfilling", Question::Order(..)) => Answer::Ordered(Ordered::Backfilling(rest.parse().unwrap())),
            ("took-over", Question::TakeOver(heirs)) => Answer::TookOver(vec![rest != "not-yet"; heirs.len()]),
            ("late", Question::Late(late)) => Answer::Late(vec![rest == "first"; late.len()]),
            ("known", Question::Known(_)) => Answer::Known,
            ("done", Question::Order(..)) => Answer::Ordered(Ordered::Nothing),
            ("prepared", Question::Prepare) => Answer::Prepared,
            ("pruned", Question::Prune) => Answer::Pruned(rest.parse().unwrap()),
            ("passed-over", Question::PassOver { .. }) => Answer::PassedOver(rest != "not"),
            ("unlocked", Question::Unlock(_) | Question::UnlockWatches(_)) => Answer::Unlocked(rest != "not-ours"),
            ("reconciled", Question::Reconcile { .. }) => Answer::Reconciled { complete: rest != "incomplete" },
            _ => panic!("{command} {rest} is no answer to {question:?}"),
        }
    }

    fn learn(&mut self, part: &str) {
        let mut words = part.split_whitespace();
        let Some(name) = words.next() else { return };
        let slot = self.slot(name);
        for word in words {
            match word {
                "gone" => self.facts[slot.0] = None,
                _ => set(self.facts[slot.0].as_mut().unwrap_or_else(|| panic!("{name} is gone")), word),
            }
        }
    }

    /// `job pid word …`: words are ours, watch, evicted, forbidden.
    fn obstacle(&self, part: &str) -> (Slot, Obstacle) {
        let mut words = part.split_whitespace();
        let slot = self.slot(words.next().expect("a job"));
        let pid = words.next().expect("a pid").parse().expect("a pid");
        let words: Vec<&str> = words.collect();
        let has = |word: &str| words.contains(&word);
        let obstacle = Obstacle {
            pid,
            application: None,
            client: None,
            silent: None,
            ours: has("ours"),
            watch: has("watch"),
            evicted: has("evicted"),
            forbidden: has("forbidden"),
        };
        (slot, obstacle)
    }

    /// `job epoch deaths`, and `gave-up`.
    fn settled_run(&self, part: &str) -> SettledRun {
        let words: Vec<&str> = part.split_whitespace().collect();
        let slot = self.jobs.iter().position(|job| job.name.as_str() == words[0]).map(Slot);
        SettledRun {
            slot,
            job: words[0].to_owned(),
            epoch: words[1].parse().expect("an epoch"),
            deaths: words[2].parse().expect("deaths"),
            gave_up: words.contains(&"gave-up"),
        }
    }

    fn started(&self, part: &str) -> StartAnswer {
        let (epoch, rest) = part.split_once(' ').unwrap_or((part, ""));
        match epoch {
            "not" => return StartAnswer::NotStarted,
            "not-owned" => return StartAnswer::NotOwned,
            _ => {}
        }
        let (mut attempt, mut takeover) = (1, 0);
        for (key, value) in pairs(rest) {
            match key {
                "attempt" => attempt = value.parse().unwrap(),
                "takeover" => takeover = value.parse().unwrap(),
                _ => panic!("{part}: {key}"),
            }
        }
        let (epoch, at) = (epoch.parse().unwrap(), self.server);
        StartAnswer::Started(Started { epoch, attempt, takeover, window_from: at, window_until: at, started_at: at })
    }

    fn proof(&self, runs: &[(Slot, i64)], rest: &str) -> Proof {
        let mut owned: Vec<Slot> = runs.iter().map(|(slot, _)| *slot).collect();
        let (mut marked, mut read_only, mut cancelled) = (true, false, Vec::new());
        match rest.split_whitespace().collect::<Vec<_>>()[..] {
            [] => {}
            ["unmarked"] => marked = false,
            ["read-only"] => read_only = true,
            ["without", name] => owned.retain(|slot| *slot != self.slot(name)),
            ["cancel", epoch] => cancelled.push(epoch.parse().unwrap()),
            _ => panic!("no such proof: {rest}"),
        }
        Proof { marked, read_only, owned, cancelled }
    }
}

fn parts(rest: &str) -> impl Iterator<Item = &str> {
    rest.split(" / ").map(str::trim).filter(|part| !part.is_empty())
}

fn granted(word: &str) -> Option<bool> {
    match word {
        "yes" => Some(true),
        "no" => Some(false),
        "-" => None,
        _ => panic!("neither granted nor refused: {word}"),
    }
}

fn settled(rest: &str) -> Option<(u32, bool)> {
    match rest.split_once(' ') {
        _ if rest == "nothing" => None,
        Some((deaths, "gave-up")) => Some((deaths.parse().unwrap(), true)),
        _ => Some((rest.parse().unwrap(), false)),
    }
}

fn end_answer(part: &str) -> EndAnswer {
    let mut words = part.split_whitespace();
    match words.next().unwrap() {
        "before" => EndAnswer::RecordedBefore { outcome: "succeeded".to_owned() },
        "superseded" => EndAnswer::Superseded,
        "locked" => EndAnswer::RowLocked,
        "recorded" => recorded(words.next().unwrap(), words.collect::<Vec<_>>().join(" ").as_str()),
        word => panic!("no such end: {word}"),
    }
}

fn recorded(outcome: &str, rest: &str) -> EndAnswer {
    let (mut handled_until, mut open_for, mut not_before): (_, Option<Timestamp>, Option<Timestamp>) =
        (time("00:00"), None, None);
    for (key, value) in pairs(rest) {
        match key {
            "handled" => handled_until = time(value),
            "open" => open_for = optional(value).map(time),
            "not_before" => not_before = optional(value).map(time),
            _ => panic!("{rest}: {key}"),
        }
    }
    EndAnswer::Recorded { outcome: outcome.to_owned(), handled_until, open_for, not_before }
}
