//! What a fleet costs its server, and how late its occurrences are.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::time::At;

/// Within this all nodes of a fleet have started, registered and looked: what that costs is told apart from what follows.
const STARTING: Duration = Duration::from_secs(60);

/// How much there is of something: in all, and in the worst second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// In all.
    pub total: u64,
    /// In the worst second.
    pub worst: u64,
    /// Which second that is, from the world's beginning.
    pub worst_at: u64,
    second: u64,
    within: u64,
}

impl Rate {
    fn count(&mut self, at: At) {
        let second = at.since_began().as_secs();
        if second != self.second {
            (self.second, self.within) = (second, 0);
        }
        self.total += 1;
        self.within += 1;
        if self.within > self.worst {
            (self.worst, self.worst_at) = (self.within, second);
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9} in all, {:>6} in the worst second (the {}th)", self.total, self.worst, self.worst_at)
    }
}

/// The server's part, during a stretch of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The most sessions at once.
    pub sessions: usize,
    /// Sessions that were opened.
    pub connects: Rate,
    /// Attempts that found no room.
    pub crowded: u64,
    /// Statements of nodes (those of bodies are their own).
    pub statements: Rate,
    /// The same, by what they are for.
    pub kinds: BTreeMap<&'static str, u64>,
}

/// A run, in numbers that depend on the size of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// While the nodes start.
    pub start: Load,
    /// From then on, while the nodes learn who is quicker.
    pub after: Load,
    /// After the sixth occurrence.
    pub settled: Load,
    settled_from: Option<At>,
    /// How late the first body of each occurrence began, from its instant (its share of the spread included) by the server's clock.
    late: Vec<Duration>,
}

impl Scale {
    /// Of a fleet whose jobs are due every so often.
    pub(crate) fn of(every: Option<Duration>) -> Scale {
        Scale { settled_from: every.map(|every| At::default() + STARTING + 6 * every), ..Scale::default() }
    }

    fn load(&mut self, at: At) -> &mut Load {
        if at.since_began() < STARTING {
            &mut self.start
        } else if self.settled_from.is_some_and(|from| at >= from) {
            &mut self.settled
        } else {
            &mut self.after
        }
    }

    pub(crate) fn connected(&mut self, at: At, sessions: usize) {
        let load = self.load(at);
        load.connects.count(at);
        load.sessions = load.sessions.max(sessions);
    }

    pub(crate) fn refused(&mut self, at: At) {
        self.load(at).crowded += 1;
    }

    pub(crate) fn asked(&mut self, at: At, kind: &'static str) {
        let load = self.load(at);
        load.statements.count(at);
        *load.kinds.entry(kind).or_default() += 1;
    }

    pub(crate) fn began(&mut self, late: Duration) {
        self.late.push(late);
    }

    /// Occurrences whose body began.
    pub fn occurrences(&self) -> usize {
        self.late.len()
    }

    /// How late they began at most, but for the latest `1 - share` of them; `None` if there was none.
    pub fn lateness(&self, share: f64) -> Option<Duration> {
        let mut late = self.late.clone();
        late.sort_unstable();
        let rank = (late.len() as f64 * share).ceil() as usize;
        late.get(rank.max(1) - 1).copied()
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stretches = [
            ("the first minute, in which all nodes start", &self.start),
            ("afterwards", &self.after),
            ("after the sixth occurrence", &self.settled),
        ];
        for (when, load) in stretches.into_iter().filter(|(_, load)| load.statements.total > 0) {
            writeln!(f, "{when}:")?;
            writeln!(f, "  connections  {}; {} at once at most", load.connects, load.sessions)?;
            if load.crowded > 0 {
                writeln!(f, "               {:>9} refused for want of room", load.crowded)?;
            }
            writeln!(f, "  statements   {}", load.statements)?;
            for (kind, count) in &load.kinds {
                writeln!(f, "               {count:>9} {kind}")?;
            }
        }
        let occurrences = self.occurrences();
        writeln!(f, "occurrences    {occurrences:>9}")?;
        if occurrences > 0 {
            let statements = self.after.statements.total + self.settled.statements.total;
            let each = statements as f64 / occurrences as f64;
            writeln!(f, "  statements of the whole fleet for each, the first minute aside: {each:.1}")?;
        }
        if let (Some(median), Some(p99), Some(max)) = (self.lateness(0.5), self.lateness(0.99), self.lateness(1.0)) {
            writeln!(f, "  late by: median {median:.3?}, p99 {p99:.3?}, max {max:.3?}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_second_is_found_wherever_it_is() {
        let mut rate = Rate::default();
        for at in [0, 1_000_000, 1_500_000, 1_999_999, 2_000_000, 3_000_000, 3_000_001] {
            rate.count(At(at));
        }
        assert_eq!((rate.total, rate.worst, rate.worst_at), (7, 3, 1));
    }

    #[test]
    fn lateness_is_that_of_an_occurrence_that_there_was() {
        let mut scale = Scale::default();
        assert_eq!(scale.lateness(0.5), None);
        (1..=100).rev().for_each(|late| scale.began(Duration::from_secs(late)));
        let at = |share| scale.lateness(share).unwrap().as_secs();
        assert_eq!((at(0.0), at(0.5), at(0.99), at(1.0)), (1, 50, 99, 100));
    }
}
