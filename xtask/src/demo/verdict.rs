//! What the story came to, and whether that is well.

use super::book::Audit;
use super::feed::Stats;
use super::stage::Stage;
use super::story::Tale;
use anyhow::{Context, Result};
use serde::Serialize;

/// The last line of standard output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Report {
    /// Processes with a scheduler that were started in all.
    nodes: usize,
    /// Rows of the local copy.
    orders: i64,
    /// Occurrences that were run.
    occurrences: i64,
    manual_runs: i64,
    /// Runs that stood for occurrences at which nobody was there.
    catch_ups: i64,
    /// Runs that took over from a dead holder.
    takeovers: i64,
    /// From `kill -9` of the holder to the start of the next run of its occurrence.
    takeover_seconds: f64,
    lost_runs: i64,
    /// Runs whose spans overlap, and calls that the feed saw under way at the same time as another.
    overlaps: i64,
    /// Occurrences that were run again after they had succeeded.
    repeated: i64,
    /// Calls that came sooner than the feed's terms allow, by the feed's own count.
    rate_violations: i64,
    /// Rows whose stored `updated_at` ever went back.
    lost_updates: i64,
    /// Rows in which the copy differs from the feed's truth, after the last sync.
    differing_rows: i64,
    #[serde(skip)]
    open_runs: i64,
    #[serde(skip)]
    orders_of_feed: i64,
}

impl Report {
    /// Counts, once all nodes have ended.
    pub(super) fn draw_up(stage: &mut Stage, tale: &Tale) -> Result<Self> {
        let audit = stage.book.audit(&tale.killed, &tale.catch_ups)?;
        let takeover = tale.takeover.context("no take-over was seen")?;
        let stats = stage.feed.stats()?;
        let differing_rows = stage.book.differing_rows(&tale.truth)?;
        let seconds = (takeover.as_secs_f64() * 1000.0).round() / 1000.0;
        Ok(Self::of((&audit, stats), stage.nodes.len(), seconds, differing_rows))
    }

    fn of((audit, feed): (&Audit, Stats), nodes: usize, takeover_seconds: f64, differing_rows: i64) -> Self {
        Self {
            nodes,
            orders: audit.orders,
            occurrences: audit.occurrences,
            manual_runs: audit.manual_runs,
            catch_ups: audit.catch_ups,
            takeovers: audit.takeovers,
            takeover_seconds,
            lost_runs: audit.lost_runs,
            overlaps: audit.overlaps + (feed.under_way_max - 1).max(0),
            repeated: audit.repeated,
            rate_violations: feed.rate_violations,
            lost_updates: audit.lost_updates,
            differing_rows,
            open_runs: audit.open_runs,
            orders_of_feed: feed.orders,
        }
    }

    /// Whatever is not as it has to be.
    pub(super) fn complaints(&self) -> Vec<String> {
        let none = [
            ("overlaps", self.overlaps, "runs, or calls of the feed, were under way at the same time"),
            ("repeated", self.repeated, "occurrences were run again after they had succeeded"),
            ("rate_violations", self.rate_violations, "calls came sooner than the feed allows"),
            ("lost_updates", self.lost_updates, "orders were overwritten by an older state"),
            ("differing_rows", self.differing_rows, "orders of the copy are not what the feed says"),
            ("open runs", self.open_runs, "runs have no end on record, though every node has ended"),
        ];
        let some = [
            ("occurrences", self.occurrences),
            ("manual_runs", self.manual_runs),
            ("catch_ups", self.catch_ups),
            ("takeovers", self.takeovers),
            ("lost_runs", self.lost_runs),
        ];
        let too_many = none.iter().filter(|(_, count, _)| *count != 0);
        let too_many = too_many.map(|(name, count, why)| format!("{name} is {count}, not 0: {why}"));
        let too_few = some.iter().filter(|(_, count)| *count == 0).map(|(name, _)| format!("{name} is 0"));
        let all = (self.orders != self.orders_of_feed)
            .then(|| format!("orders is {}, and the feed has {}", self.orders, self.orders_of_feed));
        too_many.chain(too_few).chain(all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit() -> Audit {
        Audit {
            orders: 830,
            occurrences: 20,
            manual_runs: 2,
            catch_ups: 2,
            takeovers: 1,
            lost_runs: 1,
            overlaps: 0,
            repeated: 0,
            lost_updates: 0,
            open_runs: 0,
        }
    }

    fn report(audit: &Audit) -> Report {
        let feed = Stats { under_way_max: 1, orders: 830, ..Stats::default() };
        Report::of((audit, feed), 8, 0.734, 0)
    }

    #[test]
    fn the_line_has_the_words_that_were_asked_for_and_no_other() {
        let line = serde_json::to_string(&report(&audit())).unwrap();
        let expected = r#"{"nodes":8,"orders":830,"occurrences":20,"manual_runs":2,"catch_ups":2,"takeovers":1,"#
            .to_owned()
            + r#""takeover_seconds":0.734,"lost_runs":1,"overlaps":0,"repeated":0,"rate_violations":0,"lost_updates":0,"#
            + r#""differing_rows":0}"#;
        assert_eq!(line, expected);
    }

    #[test]
    fn a_good_story_has_no_complaints() {
        assert_eq!(report(&audit()).complaints(), Vec::<String>::new());
    }

    #[test]
    fn everything_that_must_be_0_is_said_if_it_is_not() {
        let bad = Audit { overlaps: 1, repeated: 1, lost_updates: 1, open_runs: 1, ..audit() };
        let feed = Stats { rate_violations: 1, under_way_max: 3, orders: 831, ..Stats::default() };
        let report = Report::of((&bad, feed), 8, 0.734, 1);
        assert_eq!(report.overlaps, 3, "two calls beside the first, and one run");
        let complaints = report.complaints();
        let said = |name: &str| complaints.iter().any(|complaint| complaint.starts_with(&format!("{name} is ")));
        let names =
            ["overlaps", "repeated", "rate_violations", "lost_updates", "differing_rows", "open runs", "orders"];
        assert!(names.into_iter().all(said), "{complaints:?}");
    }

    #[test]
    fn a_story_in_which_nothing_happened_is_no_good_story() {
        let dull = Audit { manual_runs: 0, catch_ups: 0, takeovers: 0, lost_runs: 0, occurrences: 0, ..audit() };
        assert_eq!(report(&dull).complaints().len(), 5);
    }
}
