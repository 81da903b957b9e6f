//! What is wrong with a schedule, where, and what was probably meant.
//!
//! The readers deep inside know a place and a fault, but not the whole text; they answer with a [`Fault`]. The
//! outermost one knows the text and makes the [`ScheduleError`] of it, whose suggestion is the whole text with the
//! faulty place replaced: something to copy, not something to work out.

use std::fmt;
use std::ops::Range;

/// A schedule that is refused: the field, the place in its text, and what was probably meant. Of several things that are wrong it tells
/// all; what is asked of it by itself (field, place, sentence, advice) is the first one's, and [`each`](ScheduleError::each) has the others.
///
/// Displayed, it is a sentence, then (if the fault has a place) the schedule's text with a mark below it, then what
/// would be right:
///
/// ```text
/// day-of-week: the range runs backwards, from 5 to 1
///   0 9 * * FRI-MON
///           ^^^^^^^
/// probably meant: `0 9 * * FRI-SUN,MON`
/// ```
///
/// [`summary`](ScheduleError::summary) is the same in one line.
///
/// ```
/// use hourhand_core::schedule::Schedule;
///
/// let error = Schedule::parse("0 9 * * FRI-MON", "UTC").unwrap_err();
/// assert_eq!(error.field(), Some("day-of-week"));
/// assert_eq!(error.span(), 8..15);
/// assert_eq!(error.suggestion().as_deref(), Some("0 9 * * FRI-SUN,MON"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ScheduleError(Box<Detail>);

/// Behind a box, so that a `Result` with this error stays small.
#[derive(Clone, PartialEq, Eq)]
struct Detail {
    text: String,
    fault: Fault,
}

/// A fault found in a text that the finder does not know the whole of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The name of the field it is in.
    pub(crate) field: Option<&'static str>,
    /// Where it is, in bytes of the whole text; empty: the whole text is meant.
    pub(crate) at: Range<usize>,
    /// What is wrong, as a sentence without the field's name.
    pub(crate) what: String,
    /// What would be right.
    pub(crate) meant: Meant,
    /// What else is wrong with the text, further on.
    pub(crate) more: Vec<Fault>,
}

/// What the author of a faulty schedule probably wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    /// There is no telling.
    Unknown,
    /// This instead of the faulty place.
    Instead(String),
    /// This instead of the whole text.
    Whole(String),
    /// Something that a sentence explains better.
    Advice(String),
}

impl Fault {
    /// A fault at a place, without a guess.
    pub(crate) fn new(at: Range<usize>, what: impl Into<String>) -> Fault {
        Fault { field: None, at, what: what.into(), meant: Meant::Unknown, more: Vec::new() }
    }

    /// With what would be right.
    pub(crate) fn meant(self, meant: Meant) -> Fault {
        Fault { meant, ..self }
    }

    /// With the text that would be right in that place.
    pub(crate) fn instead(self, text: impl Into<String>) -> Fault {
        self.meant(Meant::Instead(text.into()))
    }

    /// With the name of the field.
    pub(crate) fn in_field(self, field: &'static str) -> Fault {
        Fault { field: Some(field), ..self }
    }

    /// The error for a user, who is shown the whole text.
    pub(crate) fn of(self, text: &str) -> ScheduleError {
        ScheduleError(Box::new(Detail { text: text.to_owned(), fault: self }))
    }
}

impl ScheduleError {
    /// The field that is wrong (`minute`, `day-of-month`, `time zone`, …), if the fault lies in one.
    #[must_use]
    pub fn field(&self) -> Option<&'static str> {
        self.0.fault.field
    }

    /// Where in the text the fault is, in bytes; empty if it is the whole text.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.0.fault.at.clone()
    }

    /// The text that is refused.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Each thing that is wrong by itself, for whoever shows the places in a larger text: the fields of a cron expression are all read.
    ///
    /// ```
    /// # use hourhand_core::schedule::Schedule;
    /// let error = Schedule::parse("61 * * * MUN", "UTC").unwrap_err();
    /// let fields: Vec<_> = error.each().iter().map(|one| one.field()).collect();
    /// assert_eq!(fields, [Some("minute"), Some("day-of-week")]);
    /// ```
    #[must_use]
    pub fn each(&self) -> Vec<ScheduleError> {
        if self.0.fault.more.is_empty() {
            return vec![self.clone()];
        }
        let alone = |fault: &Fault| {
            let meant = match &fault.meant {
                // The whole text would not be right by this alone.
                Meant::Instead(part) => Meant::Advice(format!("probably meant: `{part}`")),
                meant => meant.clone(),
            };
            Fault { more: Vec::new(), meant, ..fault.clone() }.of(&self.0.text)
        };
        std::iter::once(&self.0.fault).chain(&self.0.fault.more).map(alone).collect()
    }

    /// The whole text as it would be right, where that can be guessed.
    #[must_use]
    pub fn suggestion(&self) -> Option<String> {
        if let Meant::Whole(whole) = &self.0.fault.meant {
            return Some(whole.clone());
        }
        let mut text = self.0.text.clone();
        // From the end, so that the places before stay where they are.
        for fault in self.0.fault.more.iter().rev().chain([&self.0.fault]) {
            let Meant::Instead(part) = &fault.meant else { return None };
            text = format!("{}{part}{}", text.get(..fault.at.start)?, text.get(fault.at.end..)?);
        }
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// All of it in one line, for logs and tables.
    #[must_use]
    pub fn summary(&self) -> String {
        if !self.0.fault.more.is_empty() {
            return self.each().iter().map(ScheduleError::summary).collect::<Vec<_>>().join("; ");
        }
        let place =
            if self.0.fault.at.is_empty() { String::new() } else { format!(", in `{}`", one_line(&self.0.text)) };
        match self.advice() {
            Some(advice) => format!("{}{place}; {advice}", self.sentence()),
            None => format!("{}{place}", self.sentence()),
        }
    }

    /// What is wrong, without the text and without what would be right: for whoever shows the place in a larger text.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self.field() {
            Some(field) => format!("{field}: {}", self.0.fault.what),
            None => self.0.fault.what.clone(),
        }
    }

    /// What would be right, where that can be said.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        match (&self.0.fault.meant, self.suggestion()) {
            (Meant::Advice(advice), _) => Some(advice.clone()),
            (_, Some(right)) => Some(format!("probably meant: `{right}`")),
            (_, None) => None,
        }
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.fault.more.is_empty() {
            return f.write_str(&self.each().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        }
        f.write_str(&self.sentence())?;
        let (text, at) = (&self.0.text, &self.0.fault.at);
        if let (false, Some(before), Some(marked)) = (at.is_empty(), text.get(..at.start), text.get(at.clone())) {
            let (skip, width) = (before.chars().count(), marked.chars().count());
            write!(f, "\n  {}\n  {:skip$}{}", one_line(text), "", "^".repeat(width))?;
        }
        match self.advice() {
            Some(advice) => write!(f, "\n{advice}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScheduleError({:?})", self.summary())
    }
}

impl std::error::Error for ScheduleError {}

/// The text with one plain sign for every sign that would move the mark, so that the mark stays below its place.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).collect()
}
