//! A span of a job's life on an axis of time: its runs, what was due and not run, and the outside data that its runs covered.
//!
//! Three lanes below each other, because they answer three questions: did it run, did it run when it should have, and is there a hole
//! in the data. The third is not the first one moved: a run that catches up covers hours in a minute, one that failed covers
//! nothing, and a backfill covers what was covered. A hole is a gap in the third lane, whatever the others look like.
//!
//! The picture is made on the server, as text, with a title for each mark and a label for the whole: it can be read out, printed, and looked at
//! without a script. States are told by shape as well as by colour.

use std::fmt::Write as _;

use hourhand::{HistoryEntry, Window};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::entry::{class, summary, told};
use crate::ctx::Ctx;
use crate::markup::{Markup, escape, utc};

const WIDTH: f64 = 1000.0;
/// Room for what is still to come.
const FUTURE: f64 = 0.06;
const RUNS: (f64, f64) = (22.0, 40.0);
/// Below each other, as far as there is something in them.
const MISSED_HEIGHT: f64 = 22.0;
const WINDOWS_HEIGHT: f64 = 32.0;
const AXIS_HEIGHT: f64 = 18.0;

/// Occurrences without an entry in history.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// Due, and nobody has run them yet.
    pub(crate) waiting: Vec<Timestamp>,
    /// Still to come.
    pub(crate) upcoming: Vec<Timestamp>,
}

/// What is drawn.
#[derive(Debug)]
pub(crate) struct Timeline<'a> {
    pub(crate) ctx: &'a Ctx,
    /// The newest first.
    pub(crate) entries: &'a [&'a HistoryEntry],
    pub(crate) moments: Moments,
    /// When the run under way began.
    pub(crate) running_since: Option<Timestamp>,
    pub(crate) now: Timestamp,
    pub(crate) span: SignedDuration,
}

/// Where lanes are, from above; none: there is nothing in it.
struct Lanes {
    missed: Option<f64>,
    windows: Option<f64>,
    axis: f64,
}

impl Timeline<'_> {
    /// The picture.
    pub(crate) fn draw(&self) -> Markup {
        let lanes = self.lanes();
        let mut svg = format!(
            "<svg class=\"timeline\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
            lanes.axis + AXIS_HEIGHT,
            escape(&self.label())
        );
        self.axis(&mut svg, lanes.axis);
        let words = [
            (Some(RUNS.0), -8.0, "runs"),
            (lanes.missed, -8.0, "missed, skipped"),
            (lanes.windows, -5.0, "covered data"),
        ];
        for (y, above, word) in words {
            let Some(y) = y else { continue };
            let _ = write!(svg, "<text class=\"lane\" x=\"0\" y=\"{}\">{word}</text>", y + above);
        }
        // Spans of two runs in a row may touch or overlap: they take turns on two lines.
        let windows = lanes.windows.unwrap_or_default();
        let mut lines = [windows, windows + 9.0].into_iter().cycle();
        for entry in self.entries {
            if entry.epoch.is_some() {
                self.run(&mut svg, entry);
                if let Some(window) = covered(entry) {
                    self.window(&mut svg, window, lines.next().unwrap_or(windows));
                }
            } else {
                self.skip(&mut svg, entry, lanes.missed.unwrap_or_default());
            }
        }
        if let Some(since) = self.running_since {
            let (x, width) = self.bar(since, self.now);
            let (y, height) = RUNS;
            let _ = write!(
                svg,
                "<rect class=\"bar busy\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\">\
                 <title>running since {} UTC</title></rect>",
                utc(since)
            );
        }
        self.moments(&mut svg, lanes.missed.unwrap_or_default());
        let x = self.x(self.now);
        let _ = write!(svg, "<line class=\"now\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"8\" y2=\"{}\"/></svg>", lanes.axis);
        Markup::of(svg)
    }

    /// Only what there is takes room.
    fn lanes(&self) -> Lanes {
        let has_missed = !self.moments.waiting.is_empty() || self.entries.iter().any(|entry| entry.epoch.is_none());
        let has_windows = self.entries.iter().any(|entry| covered(entry).is_some());
        let mut bottom = RUNS.0 + RUNS.1;
        let mut lane = |height: f64, above: f64| {
            let y = bottom + above;
            bottom += height;
            y
        };
        let missed = has_missed.then(|| lane(MISSED_HEIGHT, 18.0));
        let windows = has_windows.then(|| lane(WINDOWS_HEIGHT, 18.0));
        Lanes { missed, windows, axis: bottom + 16.0 }
    }

    fn label(&self) -> String {
        let hours = self.span.as_hours();
        let waiting = self.moments.waiting.len();
        format!("the last {hours} hours: {}; {waiting} due and not run", summary(self.entries))
    }

    /// Where an instant is, from the left.
    fn x(&self, at: Timestamp) -> f64 {
        let before = self.now.duration_since(at).as_secs_f64() / self.span.as_secs_f64();
        ((1.0 - before) * (1.0 - FUTURE) * WIDTH).clamp(0.0, WIDTH)
    }

    /// A bar that can be seen, however short.
    fn bar(&self, from: Timestamp, until: Timestamp) -> (f64, f64) {
        let x = self.x(from);
        (x.min(WIDTH - 2.0), (self.x(until) - x).max(2.0))
    }

    /// Lines at round times, in UTC; the script puts the reader's own in their place.
    fn axis(&self, svg: &mut String, bottom: f64) {
        let step = if self.span.as_hours() > 48 { 86_400 } else { 3 * 3600 };
        let first = self.now.checked_sub(self.span).map_or(0, Timestamp::as_second).div_euclid(step) + 1;
        let format = if step == 86_400 { "%a %d" } else { "%H:%M" };
        let ticks = (first..).map(|n| Timestamp::from_second(n * step)).map_while(Result::ok);
        // One at the very edge would be cut.
        for at in ticks.take_while(|at| self.x(*at) < WIDTH - 20.0).take(100).filter(|at| self.x(*at) > 20.0) {
            let (x, text) = (self.x(at), at.to_zoned_datetime(TimeZone::UTC).strftime(format).to_string());
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"8\" y2=\"{bottom}\"/>\
                 <text class=\"tick\" data-at=\"{at}\" x=\"{x:.1}\" y=\"{}\">{text}</text>",
                bottom + 14.0
            );
        }
    }

    fn run(&self, svg: &mut String, entry: &HistoryEntry) {
        let Some((epoch, started)) = entry.epoch.zip(entry.started_at) else { return };
        // Where nobody saw it end, its beginning is all that is known.
        let end = if entry.end_seen { entry.ended_at } else { started };
        let ((x, width), (y, height)) = (self.bar(started, end), RUNS);
        let (class, title) = (class(entry), escape(&told(entry)));
        let link = escape(&self.ctx.run(&entry.job, &epoch));
        let _ = write!(
            svg,
            "<a href=\"{link}\" tabindex=\"-1\"><rect class=\"bar {class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" \
             height=\"{height}\"><title>{title}</title></rect>"
        );
        if class == "bad" {
            let _ =
                write!(svg, "<circle class=\"mark bad\" cx=\"{:.1}\" cy=\"{}\" r=\"3\"/>", x + width / 2.0, y - 5.0);
        }
        svg.push_str("</a>");
    }

    fn window(&self, svg: &mut String, window: Window, y: f64) {
        let (x, width) = self.bar(window.from, window.until);
        let _ = write!(
            svg,
            "<rect class=\"window\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"6\"><title>covered {} to {} UTC</title></rect>",
            utc(window.from),
            utc(window.until)
        );
    }

    fn skip(&self, svg: &mut String, entry: &HistoryEntry, y: f64) {
        let x = self.x(entry.scheduled_for.unwrap_or(entry.ended_at));
        let title = escape(&told(entry));
        let _ = write!(svg, "<path class=\"skipped\" d=\"{}\"><title>{title}</title></path>", diamond(x, y));
    }

    fn moments(&self, svg: &mut String, y: f64) {
        for at in &self.moments.waiting {
            let _ = write!(
                svg,
                "<path class=\"missed\" d=\"{}\"><title>due {} UTC, and not run</title></path>",
                diamond(self.x(*at), y),
                utc(*at)
            );
        }
        for at in &self.moments.upcoming {
            let x = self.x(*at);
            if x < WIDTH - 1.0 {
                let (top, bottom) = (RUNS.0, RUNS.0 + RUNS.1);
                let _ = write!(
                    svg,
                    "<line class=\"upcoming\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"><title>due {} UTC</title></line>",
                    utc(*at)
                );
            }
        }
    }
}

/// What a run has covered, if it has.
fn covered(entry: &HistoryEntry) -> Option<Window> {
    entry.window.filter(|window| window.until > window.from && entry.outcome == "succeeded")
}

fn diamond(x: f64, y: f64) -> String {
    format!("M{:.1} {y}l5 -5l5 5l-5 5z", x - 5.0)
}
