//! Aligned columns, two spaces apart, no lines: they can be read, cut and pasted.
//!
//! Where the terminal is too narrow, columns that may be missed are left out, the last one first; then the widest is cut, with `…`
//! at the end, then the next.

use std::fmt::Write as _;

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

use super::FAINT;
use hourhand_core::plain::inline;

const GAP: usize = 2;
/// No column is cut shorter than this.
const WIDTH_MIN: usize = 8;
/// Columns that may be left out are, before the others are cut shorter than this.
const WIDTH_GOOD: usize = 20;

/// A place in a table: text, of which nothing steers the terminal, and how it looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>) -> Cell {
        Cell { text: inline(text.as_ref()).into_owned(), style: Style::new() }
    }

    pub(crate) fn styled(text: impl AsRef<str>, style: Style) -> Cell {
        Cell { style, ..Cell::new(text) }
    }

    /// The text, or a faint `-`.
    pub(crate) fn maybe(text: Option<impl AsRef<str>>) -> Cell {
        text.map_or_else(|| Cell::styled("-", FAINT), Cell::new)
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::new(text)
    }
}

/// Rows below headings.
#[derive(Debug)]
pub(crate) struct Table {
    headings: Vec<&'static str>,
    /// Numbers stand to the right.
    right: Vec<bool>,
    /// May be left out.
    spare: Vec<bool>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// With these headings; `>` before one: its column stands to the right; `?` before that: it may be left out.
    pub(crate) fn new(headings: &[&'static str]) -> Table {
        let spare = headings.iter().map(|heading| heading.starts_with('?')).collect();
        let right = headings.iter().map(|heading| heading.trim_start_matches('?').starts_with('>')).collect();
        let headings = headings.iter().map(|heading| heading.trim_start_matches(['?', '>'])).collect();
        Table { headings, right, spare, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The whole, no line wider than this.
    pub(crate) fn lay_out(&self, width: usize) -> String {
        let widths = self.widths(width);
        let last = widths.iter().rposition(|width| *width > 0);
        let mut text = String::new();
        let headings: Vec<Cell> = self.headings.iter().map(|heading| Cell::styled(heading, FAINT)).collect();
        // Facts, one a line, need none.
        let headed = self.headings.iter().any(|heading| !heading.is_empty());
        for cells in headed.then_some(&headings).into_iter().chain(&self.rows) {
            let mut line = String::new();
            for (at, cell) in cells.iter().enumerate().filter(|(at, _)| widths[*at] > 0) {
                let shown = cut(&cell.text, widths[at]);
                let room = widths[at].saturating_sub(shown.width());
                let (before, after) = if self.right[at] { (room, 0) } else { (0, room) };
                let style = cell.style;
                let gap = if Some(at) == last { 0 } else { GAP };
                // The last column needs no room after it.
                let after = if gap == 0 { 0 } else { after + gap };
                // Writing to a string never fails.
                let _ = write!(line, "{:before$}{style}{shown}{style:#}{:after$}", "", "");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The columns' widths; 0: left out.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| heading.width()).collect();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                widths[at] = widths[at].max(cell.text.width());
            }
        }
        let total = |widths: &[usize], most: usize| {
            let shown = widths.iter().filter(|width| **width > 0);
            shown.map(|width| GAP + *width.min(&most)).sum::<usize>().saturating_sub(GAP)
        };
        while total(&widths, WIDTH_GOOD) > width {
            let Some(at) = (0..widths.len()).rev().find(|at| self.spare[*at] && widths[*at] > 0) else { break };
            widths[at] = 0;
        }
        let mut over = total(&widths, usize::MAX).saturating_sub(width);
        while over > 0 {
            let widest = (0..widths.len()).filter(|at| !self.right[*at]).max_by_key(|at| widths[*at]);
            let Some(widest) = widest.filter(|at| widths[*at] > WIDTH_MIN) else { break };
            widths[widest] -= 1;
            over -= 1;
        }
        widths
    }
}

/// At most so many columns of a text, with `…` where something is missing.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for sign in text.chars() {
        kept.push(sign);
        if kept.width() >= width {
            kept.pop();
            break;
        }
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(table: &Table, width: usize) -> String {
        anstream::adapter::strip_str(&table.lay_out(width)).to_string()
    }

    fn jobs() -> Table {
        let mut table = Table::new(&["job", ">runs", "schedule"]);
        table.row(["order-sync".into(), "7".into(), "every hour, on the hour".into()]);
        table.row(["정산".into(), "1024".into(), Cell::maybe(None::<&str>)]);
        table
    }

    #[test]
    fn columns_are_aligned_by_what_is_seen_and_numbers_stand_to_the_right() {
        let wanted = "\
job         runs  schedule
order-sync     7  every hour, on the hour
정산        1024  -
";
        assert_eq!(plain(&jobs(), usize::MAX), wanted);
    }

    #[test]
    fn the_widest_column_gives_way_to_a_narrow_terminal() {
        for line in plain(&jobs(), 30).lines() {
            assert!(line.width() <= 30, "{line}");
        }
        assert!(plain(&jobs(), 30).contains("order-sync     7  every hour,…\n"), "{}", plain(&jobs(), 30));
    }

    #[test]
    fn what_may_be_missed_is_left_out_before_the_rest_is_cut_too_short() {
        let mut table = Table::new(&["job", "verdict", "?client", "?>key"]);
        table.row(["order-sync", "stands by to take over", "10.0.0.7", "2882680683948311330"].map(Cell::from));
        let line = |width| plain(&table, width).lines().nth(1).unwrap_or_default().to_owned();
        assert_eq!(line(80), "order-sync  stands by to take over  10.0.0.7  2882680683948311330");
        assert_eq!(line(45), "order-sync  stands by to take over  10.0.0.7");
        assert_eq!(line(33), "order-sync  stands by to take ov…");
    }

    #[test]
    fn a_hostile_name_moves_no_cursor_and_adds_no_line() {
        let mut table = Table::new(&["job"]);
        table.row([Cell::new("x\u{1b}[2J\ny")]);
        assert_eq!(plain(&table, usize::MAX), "job\nx\\x{1b}[2J\\ny\n");
    }

    #[test]
    fn a_cut_counts_columns_not_letters() {
        assert_eq!(cut("정산-작업", 5), "정산…");
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
    }
}
