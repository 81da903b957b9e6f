//! A job's last runs in a row, the newest at the right: how they ended and how long they took.

use std::fmt::Write as _;

use hourhand::HistoryEntry;

use super::entry::{class, summary, told, took};
use crate::ctx::Ctx;
use crate::markup::{Markup, escape};

/// So many entries.
pub(crate) const ENTRIES: usize = 30;
const STEP: usize = 8;
const BAR: usize = 6;
const HEIGHT: f64 = 28.0;
/// The shortest bar that can be pointed at.
const BAR_MIN: f64 = 5.0;

/// Draws them; the newest is the first of `entries`. A run under way has the last place.
pub(crate) fn strip(ctx: &Ctx, entries: &[&HistoryEntry], is_running: bool) -> Markup {
    let shown = &entries[..entries.len().min(ENTRIES - usize::from(is_running))];
    let longest = shown.iter().filter_map(|entry| took(entry)).map(|took| took.as_secs_f64()).fold(0.0, f64::max);
    let (width, label) = (ENTRIES * STEP, escape(&summary(shown)));
    let mut svg = format!(
        "<svg class=\"strip\" viewBox=\"0 0 {width} 32\" width=\"{width}\" height=\"32\" role=\"img\" \
         aria-label=\"last runs: {label}\"><line class=\"ground\" x1=\"0\" x2=\"{width}\" y1=\"31\" y2=\"31\"/>"
    );
    let mut place = ENTRIES;
    if is_running {
        place -= 1;
        let _ = write!(
            svg,
            "<rect class=\"bar busy\" x=\"{}\" y=\"17\" width=\"{BAR}\" height=\"14\"><title>running</title></rect>",
            place * STEP
        );
    }
    for entry in shown {
        place -= 1;
        bar(&mut svg, ctx, entry, (place * STEP, longest));
    }
    svg.push_str("</svg>");
    Markup::of(svg)
}

/// By its height its length, as the root of its share of the longest: a run ten times as long is three times as high.
fn bar(svg: &mut String, ctx: &Ctx, entry: &HistoryEntry, (x, longest): (usize, f64)) {
    let (class, title) = (class(entry), escape(&told(entry)));
    let Some((epoch, took)) = entry.epoch.zip(took(entry)) else {
        let _ = write!(
            svg,
            "<rect class=\"skip\" x=\"{x}\" y=\"27\" width=\"{BAR}\" height=\"3\"><title>{title}</title></rect>"
        );
        return;
    };
    let share = if longest > 0.0 { (took.as_secs_f64().max(0.0) / longest).sqrt() } else { 0.0 };
    let height = (share * (HEIGHT - 5.0)).max(BAR_MIN);
    let (y, link) = (31.0 - height, escape(&ctx.run(&entry.job, &epoch)));
    let _ = write!(
        svg,
        "<a href=\"{link}\" tabindex=\"-1\"><rect class=\"bar {class}\" x=\"{x}\" y=\"{y:.1}\" width=\"{BAR}\" \
         height=\"{height:.1}\"><title>{title}</title></rect>"
    );
    if class == "bad" {
        // Told by its shape too.
        let _ = write!(svg, "<circle class=\"mark bad\" cx=\"{}\" cy=\"{:.1}\" r=\"2.2\"/>", x + BAR / 2, y - 3.5);
    }
    svg.push_str("</a>");
}
