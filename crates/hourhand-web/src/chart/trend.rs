//! How long runs take, run by run, with the median and the 95th percentile of those that succeeded.
//!
//! Of those alone: a run that timed out took what its limit is, one that failed at once took nothing, and both would move the
//! numbers without the work having become slower or faster. They are drawn all the same, where they were. Percentiles are by the
//! nearest rank, so each is the length of a run that there was.

use std::fmt::Write as _;

use hourhand::HistoryEntry;
use jiff::SignedDuration;

use super::entry::{class, told, took};
use crate::ctx::Ctx;
use crate::markup::{Markup, escape, length};

/// So many runs at most.
pub(crate) const RUNS_MAX: usize = 120;
const WIDTH: f64 = 1000.0;
const TOP: f64 = 14.0;
const GROUND: f64 = 118.0;

/// What is drawn, and what it says in numbers.
#[derive(Debug)]
pub(crate) struct Trend {
    pub(crate) median: String,
    pub(crate) p95: String,
    pub(crate) longest: String,
    /// Successes that the numbers are of.
    pub(crate) of: usize,
    pub(crate) picture: Markup,
}

impl Trend {
    /// Of a job's newest runs, the newest first; none without a success.
    pub(crate) fn of(ctx: &Ctx, entries: &[&HistoryEntry]) -> Option<Trend> {
        let runs: Vec<&HistoryEntry> =
            entries.iter().copied().filter(|entry| entry.epoch.is_some()).take(RUNS_MAX).collect();
        let successes = runs.iter().filter(|run| run.outcome == "succeeded").filter_map(|run| took(run));
        let mut lengths: Vec<f64> = successes.map(|took| took.as_secs_f64().max(0.0)).collect();
        lengths.sort_by(f64::total_cmp);
        let (median, p95) = (percentile(&lengths, 0.5)?, percentile(&lengths, 0.95)?);
        let told = |seconds: f64| length(SignedDuration::try_from_secs_f64(seconds).unwrap_or_default());
        let picture = draw(ctx, &runs, (median, p95));
        let longest = told(*lengths.last()?);
        Some(Trend { median: told(median), p95: told(p95), longest, of: lengths.len(), picture })
    }
}

/// By the nearest rank.
fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

fn draw(ctx: &Ctx, runs: &[&HistoryEntry], (median, p95): (f64, f64)) -> Markup {
    // Outliers beyond this are cut, and marked: else one night of trouble flattens all the others.
    let highest = runs.iter().filter_map(|run| took(run)).map(|took| took.as_secs_f64()).fold(0.0, f64::max);
    let scale = highest.min(p95 * 2.5).max(f64::MIN_POSITIVE);
    let y = |seconds: f64| GROUND - (seconds.max(0.0) / scale).min(1.0) * (GROUND - TOP);
    let step = WIDTH / RUNS_MAX as f64;
    let mut svg = format!(
        "<svg class=\"trend\" viewBox=\"0 0 {WIDTH} 124\" role=\"img\" aria-label=\"duration of the last {} runs\">\
         <line class=\"ground\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{GROUND}\" y2=\"{GROUND}\"/>",
        runs.len()
    );
    for (place, run) in runs.iter().enumerate() {
        let Some((epoch, took)) = run.epoch.zip(took(run)) else { continue };
        let seconds = took.as_secs_f64();
        let (x, top) = (WIDTH - (place + 1) as f64 * step, y(seconds).min(GROUND - 2.0));
        let (class, title) = (class(run), escape(&told(run)));
        let cut = if seconds > scale { " cut" } else { "" };
        let link = escape(&ctx.run(&run.job, &epoch));
        let _ = write!(
            svg,
            "<a href=\"{link}\" tabindex=\"-1\"><rect class=\"bar {class}{cut}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" \
             height=\"{:.1}\"><title>{title}</title></rect>",
            step - 2.0,
            GROUND - top
        );
        if class == "bad" {
            let _ = write!(
                svg,
                "<circle class=\"mark bad\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>",
                x + step / 2.0 - 1.0,
                top - 5.0
            );
        }
        svg.push_str("</a>");
    }
    for (seconds, word) in [(median, "median"), (p95, "p95")] {
        let y = y(seconds);
        let _ = write!(svg, "<line class=\"level {word}\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    }
    svg.push_str("</svg>");
    Markup::of(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&hundred, 0.5), Some(50.0));
        assert_eq!(percentile(&hundred, 0.95), Some(95.0));
        assert_eq!(percentile(&[7.0], 0.95), Some(7.0));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
