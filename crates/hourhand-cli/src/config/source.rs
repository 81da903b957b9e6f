//! The text of the configuration file, and complaints that point into it.
//!
//! Invariant: what a complaint shows of the file holds no secret. A password may stand in any string, under any name (a key may be
//! misspelt, quotes forgotten), so of the line only what the mark is about is shown, and every other value as `…`.

use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A configuration file that has been read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// Something in the file that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Where, in bytes of the file.
    pub(super) at: Range<usize>,
    /// What is wrong. Begins with the job and the key.
    pub(super) what: String,
    /// What would be right.
    pub(super) right: Option<String>,
    /// What of the line may be shown, beside the mark: the whole value, of which the mark is a part.
    pub(super) shows: Range<usize>,
}

impl Complaint {
    pub(super) fn new(at: Range<usize>, what: impl Into<String>, right: Option<String>) -> Complaint {
        Complaint { shows: at.clone(), at, what: what.into(), right }
    }
}

impl Source {
    /// The directory that relative paths in the file start from.
    pub(super) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// All complaints, in the order of the file, as people are to read them.
    pub(super) fn tell(&self, complaints: &[Complaint]) -> String {
        let mut sorted: Vec<&Complaint> = complaints.iter().collect();
        sorted.sort_by_key(|complaint| complaint.at.start);
        sorted.dedup();
        let mut text = String::new();
        for complaint in sorted {
            self.tell_one(complaint, &mut text);
        }
        text
    }

    fn tell_one(&self, complaint: &Complaint, text: &mut String) {
        let (line, column) = self.place(complaint.at.start);
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}:{line}:{column}: {}", self.path.display(), self.as_written(&complaint.what));
        let (shown, mark) = self.shown(complaint);
        if !shown.trim().is_empty() {
            let (indent, width) = (mark.start, mark.len().max(1));
            let _ = writeln!(text, "  {}\n  {:indent$}{}", shown.trim_end(), "", "^".repeat(width));
        }
        if let Some(right) = &complaint.right {
            let _ = writeln!(text, "  right: {}", self.as_written(right));
        }
    }

    /// The text with what came from the environment as it is written in the file: somebody may put a secret into any key.
    fn as_written(&self, text: &str) -> String {
        let names = self.text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
        names.fold(text.to_owned(), |text, name| match std::env::var(name) {
            Ok(value) if !value.is_empty() => text.replace(&value, &format!("${{{name}}}")),
            Ok(_) | Err(_) => text,
        })
    }

    /// Line and column of a byte, from 1.
    fn place(&self, byte: usize) -> (usize, usize) {
        let before = &self.text[..floor(&self.text, byte)];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
    }

    /// The line that a span begins in, without the values that the span is not about, and the span's place in it, in characters.
    fn shown(&self, complaint: &Complaint) -> (String, Range<usize>) {
        let at = &complaint.at;
        let from = floor(&self.text, at.start);
        let start = self.text[..from].rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[from..].find('\n').map_or(self.text.len(), |at| from + at);
        let line = self.text[start..end].trim_end_matches('\r');
        let mark = from - start..(at.end.saturating_sub(start)).min(line.len()).max(from - start);
        let (mut shown, mut shown_mark) = (String::new(), None::<Range<usize>>);
        let mut hidden_before = false;
        let mut hidden = Hidden::of_line(&self.text[..start], line);
        for (offset, sign) in line.char_indices() {
            let is_marked = mark.contains(&offset);
            let is_hidden = hidden.step(sign) && !is_marked && !complaint.shows.contains(&(start + offset));
            if is_marked || offset == mark.start {
                let place = shown.chars().count();
                shown_mark = Some(shown_mark.map_or(place, |known| known.start)..place + usize::from(is_marked));
            }
            match (is_hidden, hidden_before) {
                (true, false) => shown.push('…'),
                (true, true) => {}
                (false, _) => shown.push(if sign.is_control() || sign.is_whitespace() { ' ' } else { sign }),
            }
            hidden_before = is_hidden;
        }
        let end = shown.chars().count();
        (shown, shown_mark.unwrap_or(end..end))
    }
}

/// The nearest boundary of a character at or before a byte.
fn floor(text: &str, byte: usize) -> usize {
    (0..=byte.min(text.len())).rev().find(|byte| text.is_char_boundary(*byte)).unwrap_or(0)
}

/// What of a line is a value or a comment, and so not to be shown. Keys and punctuation are.
#[derive(Debug)]
struct Hidden {
    state: Reading,
    /// The open inline tables and lists, outermost first: true for a table, in which keys follow.
    open: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Key,
    /// After the `=`: what is not punctuation is hidden.
    Value,
    /// Inside a value without quotes; true: so far it may be a number, or true or false, after which a comma is a comma.
    Bare(bool),
    /// Inside quotes, of a value; the second: after a backslash.
    Quoted(char, bool),
    /// After a closing quote or bracket. Only here a comma is surely a comma, and not part of a secret without quotes.
    After,
    /// To the end of the line.
    Rest,
}

impl Hidden {
    /// `before` is the file up to the line: inside a string or list of several lines, a line is hidden whole.
    fn of_line(before: &str, line: &str) -> Hidden {
        let is_inside = ["\"\"\"", "\'\'\'"].iter().any(|quotes| before.matches(quotes).count() % 2 == 1);
        let is_header = line.starts_with("[job.") || (line.starts_with('[') && !line.contains(['"', '\'']));
        let has_key = line.split_once('=').is_some_and(|(key, _)| !key.trim().is_empty());
        let state = if !is_inside && (is_header || has_key) { Reading::Key } else { Reading::Rest };
        Hidden { state, open: Vec::new() }
    }

    /// Takes the next sign; true: it is not to be shown.
    fn step(&mut self, sign: char) -> bool {
        let (next, hide) = match (self.state, sign) {
            (Reading::Rest, _) => (Reading::Rest, true),
            (Reading::Quoted(quote, false), _) if sign == quote => (Reading::After, false),
            (Reading::Quoted(quote, escaped), _) => {
                (Reading::Quoted(quote, !escaped && sign == '\\' && quote == '"'), true)
            }
            (Reading::Key | Reading::After, '#') => (Reading::Rest, true),
            (Reading::Key, '=') => (Reading::Value, false),
            (Reading::Key, _) => (Reading::Key, false),
            (Reading::Value, '"' | '\'') => (Reading::Quoted(sign, false), false),
            (Reading::Value, '{') => (self.opens(true), false),
            (Reading::Value, '[') => (self.opens(false), false),
            (Reading::Value, ' ') => (Reading::Value, false),
            (Reading::Value, _) => (Reading::Bare(is_plain(sign)), true),
            (Reading::Bare(true), ',' | '}' | ']' | ' ') => {
                self.state = Reading::After;
                return self.step(sign);
            }
            (Reading::Bare(plain), _) => (Reading::Bare(plain && is_plain(sign)), true),
            (Reading::After, ',') => (self.next_of_list(), false),
            (Reading::After, ' ') => (Reading::After, false),
            (Reading::After, '}' | ']') => {
                self.open.pop();
                (Reading::After, false)
            }
            (Reading::After, _) => (Reading::Rest, true),
        };
        self.state = next;
        hide
    }

    fn opens(&mut self, is_table: bool) -> Reading {
        self.open.push(is_table);
        if is_table { Reading::Key } else { Reading::Value }
    }

    fn next_of_list(&self) -> Reading {
        if self.open.last() == Some(&true) { Reading::Key } else { Reading::Value }
    }
}

/// A sign of a number, or of `true` and `false`.
fn is_plain(sign: char) -> bool {
    sign.is_ascii_digit() || "+-._truefals".contains(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, at: Range<usize>) -> String {
        let source = Source { path: "h.toml".into(), text: text.to_owned() };
        source.tell(&[Complaint::new(at, "wrong", None)])
    }

    #[test]
    fn the_mark_stands_under_its_place_and_nothing_else_is_shown_of_the_values() {
        let text = "a = 1\n[job.x]\nhttp = { url = \"https://h/hush\", methd = \"POST\" } # hush\n";
        let at = text.find("methd").unwrap();
        let shown = told(text, at..at + 5);
        assert_eq!(
            shown,
            "h.toml:3:34: wrong\n  http = { url = \"…\", methd = \"…\" } …\n                      ^^^^^\n"
        );
    }

    #[test]
    fn a_secret_is_not_shown_wherever_it_stands() {
        let cases = [
            "database_url = \"postgres://u:hush@h/d\"",
            "databse_url = \"postgres://u:hush@h/d\"",
            "database_url = postgres://u:hush@h/d",
            "database_url = \"postgres://u:hush@h/d",
            "database_url = 'postgres://u:hush@h/d'",
            "job.x.http = { headers = { authorization = \"Bearer a\\\"hush\" } }",
            "key = \"a\" hush",
            "key = [\"hush\", 'hush', hush]",
            "a = \"\"\"\nhush=\n\"\"\"",
            "a = [\n\"hush\",\n[\"hush\"]\n]",
            "a = { b = 1, c = hush,hush }",
            "a = 1 # hush",
            "hush",
            "=hush",
        ];
        for text in cases {
            for at in 0..=text.len() {
                let shown = told(text, at..at);
                assert!(!shown.contains("hush"), "{text:?} at {at}: {shown}");
            }
        }
    }

    #[test]
    fn no_span_is_too_odd_to_be_shown() {
        let text = "a = \"ü\"\r\nb = 2\n";
        for start in 0..=text.len() + 2 {
            for end in 0..=text.len() + 2 {
                assert!(told(text, start..end).starts_with("h.toml:"));
            }
        }
    }
}
