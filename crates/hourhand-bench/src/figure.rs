//! What was measured, and the table of it.

use std::fmt::Write;

use serde::Serialize;

/// One cell: a row's name, and what one subject shows there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// The row.
    pub(crate) row: String,
    /// What was read.
    pub(crate) reading: Reading,
    /// What it was made of, if it was many numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) raw: Vec<f64>,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reading {
    /// A number, less being better, and its unit.
    Number(f64, &'static str),
    /// What is no number.
    Words(String),
    /// The subject cannot do it, for this reason.
    No(String),
}

/// What one subject showed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Shown {
    /// The subject.
    pub(crate) subject: String,
    /// Its version.
    pub(crate) version: String,
    /// All figures, in the order in which they were taken.
    pub(crate) figures: Vec<Figure>,
}

impl Figure {
    /// A number.
    pub(crate) fn number(row: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { row: row.into(), reading: Reading::Number(value, unit), raw: Vec::new() }
    }

    /// Words.
    pub(crate) fn words(row: impl Into<String>, words: impl Into<String>) -> Self {
        Self { row: row.into(), reading: Reading::Words(words.into()), raw: Vec::new() }
    }

    /// A reason why not.
    pub(crate) fn no(row: impl Into<String>, why: impl Into<String>) -> Self {
        Self { row: row.into(), reading: Reading::No(why.into()), raw: Vec::new() }
    }

    /// With the numbers that it was made of.
    pub(crate) fn with_raw(mut self, raw: &[f64]) -> Self {
        self.raw = raw.to_vec();
        self
    }

    /// Median, 99th percentile and maximum of many numbers.
    pub(crate) fn spread(row: &str, mut values: Vec<f64>, unit: &'static str) -> Vec<Self> {
        values.sort_by(f64::total_cmp);
        if values.is_empty() {
            return vec![Self::no(format!("{row}, median"), "nothing ran")];
        }
        let at = |share: f64| values[(share * (values.len() - 1) as f64).round() as usize];
        let of = |word: &str, share: f64| Self::number(format!("{row}, {word}"), at(share), unit);
        vec![of("median", 0.5).with_raw(&values), of("p99", 0.99), of("max", 1.0)]
    }
}

/// The table as Markdown: a row a figure, a column a subject; a number of a peer's is followed by its ratio to the first column's.
pub(crate) fn table(shown: &[Shown]) -> String {
    let mut rows: Vec<&str> = Vec::new();
    for figure in shown.iter().flat_map(|one| &one.figures) {
        if !rows.contains(&figure.row.as_str()) {
            rows.push(&figure.row);
        }
    }
    let heads: Vec<String> = shown.iter().map(|one| format!("{} {}", one.subject, one.version)).collect();
    let mut text = format!("| | {} |\n|{}\n", heads.join(" | "), " --- |".repeat(heads.len() + 1));
    for row in rows {
        let found: Vec<Option<&Reading>> = shown.iter().map(|one| reading(one, row)).collect();
        let first = found.first().copied().flatten();
        let cells: Vec<String> = found.iter().map(|reading| cell(*reading, first)).collect();
        // Writing to a text does not fail.
        writeln!(text, "| {row} | {} |", cells.join(" | ")).ok();
    }
    text
}

fn reading<'a>(shown: &'a Shown, row: &str) -> Option<&'a Reading> {
    shown.figures.iter().find(|figure| figure.row == row).map(|figure| &figure.reading)
}

fn cell(reading: Option<&Reading>, first: Option<&Reading>) -> String {
    match reading {
        None => "–".to_owned(),
        Some(Reading::No(why)) => format!("no: {why}"),
        Some(Reading::Words(words)) => words.clone(),
        Some(Reading::Number(value, unit)) => {
            let said = format!("{} {unit}", rounded(*value)).trim_end().to_owned();
            match first {
                Some(Reading::Number(base, _)) if !same(reading, first) && *base > 0.0 && *value > 0.0 => {
                    format!("{said} (×{})", rounded(value / base))
                }
                _ => said,
            }
        }
    }
}

fn same(one: Option<&Reading>, other: Option<&Reading>) -> bool {
    one.zip(other).is_some_and(|(one, other)| std::ptr::eq(one, other))
}

/// Three digits that say something.
fn rounded(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(subject: &str, figures: Vec<Figure>) -> Shown {
        Shown { subject: subject.to_owned(), version: "1".to_owned(), figures }
    }

    #[test]
    fn a_peers_number_is_followed_by_its_ratio_and_a_no_by_its_reason() {
        let ours = shown("hourhand", vec![Figure::number("lateness", 4.0, "ms"), Figure::words("caught up", "1 of 3")]);
        let peer = shown("peer", vec![Figure::number("lateness", 10.0, "ms"), Figure::no("caught up", "in memory")]);
        let table = table(&[ours, peer]);
        assert!(table.contains("| lateness | 4.00 ms | 10.0 ms (×2.50) |"), "{table}");
        assert!(table.contains("| caught up | 1 of 3 | no: in memory |"), "{table}");
    }

    #[test]
    fn a_row_that_one_subject_lacks_is_a_dash_and_nothing_is_divided_by_nought() {
        let ours = shown("hourhand", vec![Figure::number("connections", 0.0, "")]);
        let peer = shown("peer", vec![Figure::number("connections", 2.0, ""), Figure::number("more", 1.0, "s")]);
        let table = table(&[ours, peer]);
        assert!(table.contains("| connections | 0 | 2.00 |"), "{table}");
        assert!(table.contains("| more | – | 1.00 s |"), "{table}");
    }

    #[test]
    fn a_spread_is_median_p99_and_maximum_and_keeps_its_numbers() {
        let spread = Figure::spread("late", (1..=101).rev().map(f64::from).collect(), "ms");
        let values: Vec<&Reading> = spread.iter().map(|figure| &figure.reading).collect();
        let number = |value| Reading::Number(value, "ms");
        assert_eq!(values, [&number(51.0), &number(100.0), &number(101.0)]);
        assert_eq!(spread[0].raw.len(), 101);
        assert!(matches!(Figure::spread("late", Vec::new(), "ms")[0].reading, Reading::No(_)));
    }
}
