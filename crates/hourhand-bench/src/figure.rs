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
    /// Nobody looked, or in vain, for this reason: it says nothing about the subject.
    NotMeasured(String),
}

/// What one subject showed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Shown {
    /// The subject.
    pub(crate) subject: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// In what it is written, if not in what we are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) language: Option<&'static str>,
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

    /// A reason why nothing is known.
    pub(crate) fn not_measured(row: impl Into<String>, why: impl Into<String>) -> Self {
        Self { row: row.into(), reading: Reading::NotMeasured(why.into()), raw: Vec::new() }
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
    let rows = rows(shown);
    let heads: Vec<String> = shown.iter().map(head).collect();
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

/// Each row once. One that not everybody has stands after the one after which it was taken.
fn rows(shown: &[Shown]) -> Vec<&str> {
    let mut rows: Vec<&str> = Vec::new();
    for one in shown {
        let mut place = 0;
        for figure in &one.figures {
            let known = rows.iter().position(|row| *row == figure.row);
            if known.is_none() {
                rows.insert(place, &figure.row);
            }
            place = known.unwrap_or(place) + 1;
        }
    }
    rows
}

/// Packages of the same name exist in more than one language.
fn head(shown: &Shown) -> String {
    let language = shown.language.map(|language| format!(" ({language})")).unwrap_or_default();
    format!("{} {}{language}", shown.subject, shown.version)
}

fn reading<'a>(shown: &'a Shown, row: &str) -> Option<&'a Reading> {
    shown.figures.iter().find(|figure| figure.row == row).map(|figure| &figure.reading)
}

fn cell(reading: Option<&Reading>, first: Option<&Reading>) -> String {
    match reading {
        None => "–".to_owned(),
        Some(Reading::No(why)) => format!("no: {}", inline(why)),
        Some(Reading::NotMeasured(why)) => format!("not measured: {}", inline(why)),
        Some(Reading::Words(words)) => inline(words),
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

/// What a program has said may hold what would end a cell.
fn inline(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
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

    fn shown(subject: &'static str, figures: Vec<Figure>) -> Shown {
        Shown { subject, version: "1", language: None, figures }
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

    #[test]
    fn what_nobody_measured_is_told_from_what_a_subject_cannot_do() {
        let figures =
            vec![Figure::not_measured("taken over", "the time was up"), Figure::no("seconds", "minutes only")];
        let table = table(&[shown("peer", figures)]);
        assert!(table.contains("| taken over | not measured: the time was up |"), "{table}");
        assert!(table.contains("| seconds | no: minutes only |"), "{table}");
    }

    #[test]
    fn there_is_a_ratio_only_between_two_numbers_of_one_row() {
        let number = |value| vec![Figure::number("lateness", value, "ms")];
        let cannot = shown("hourhand", vec![Figure::no("lateness", "nothing ran")]);
        assert!(table(&[cannot, shown("peer", number(3.0))]).contains("| lateness | no: nothing ran | 3.00 ms |"));
        let peer = shown("peer", vec![Figure::no("lateness", "in memory")]);
        assert!(table(&[shown("hourhand", number(3.0)), peer]).contains("| 3.00 ms | no: in memory |"));
        assert!(table(&[shown("hourhand", number(3.0)), shown("peer", number(0.0))]).contains("| 3.00 ms | 0 ms |"));
    }

    #[test]
    fn a_row_that_not_everybody_has_stands_after_the_one_after_which_it_was_taken() {
        let words = |rows: &str| rows.chars().map(|row| Figure::words(row.to_string(), "x")).collect::<Vec<_>>();
        let rows = |all: [&str; 3]| {
            let all = all.map(|figures| shown("one", words(figures)));
            super::rows(&all).concat()
        };
        assert_eq!(rows(["abc", "abc", "abc"]), "abc");
        assert_eq!(rows(["ac", "abc", "acd"]), "abcd");
        assert_eq!(rows(["bc", "a", "cd"]), "abcd");
        assert_eq!(rows(["", "b", "ab"]), "ab");
    }

    #[test]
    fn a_column_says_who_it_is_and_in_which_language() {
        let one = Shown { language: Some("Node"), ..shown("graphile-worker", Vec::new()) };
        assert_eq!(
            table(&[shown("graphile_worker", Vec::new()), one]).lines().next().unwrap(),
            "| | graphile_worker 1 | graphile-worker 1 (Node) |"
        );
    }

    #[test]
    fn the_words_of_a_program_do_not_end_a_cell() {
        let words = "Error: relation \"a|b\"\n  does not exist";
        let table = table(&[shown("peer", vec![Figure::words("pooler", words), Figure::no("burst", words)])]);
        assert!(table.contains("| pooler | Error: relation \"a\\|b\" does not exist |\n"), "{table}");
        assert_eq!(table.lines().count(), 4, "{table}");
    }

    #[test]
    fn numbers_keep_three_digits_that_say_something() {
        let said = [0.0, 0.001_25, 0.5, 12.345, 123.45, 44_336.0].map(rounded);
        assert_eq!(said, ["0", "0.0013", "0.50", "12.3", "123", "44336"]);
    }

    #[test]
    fn the_raw_numbers_are_kept_as_json_with_the_reasons() {
        let figures = [Figure::number("late", 2.0, "ms").with_raw(&[1.0, 2.0]), Figure::no("late", "in memory")];
        let json = serde_json::to_value(figures).unwrap();
        assert_eq!(json[0], serde_json::json!({"row": "late", "reading": {"number": [2.0, "ms"]}, "raw": [1.0, 2.0]}));
        assert_eq!(json[1], serde_json::json!({"row": "late", "reading": {"no": "in memory"}}));
    }
}
