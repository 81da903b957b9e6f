//! What is said of an entry of history, whichever picture it stands in.

use hourhand::HistoryEntry;
use jiff::SignedDuration;

use crate::markup::{length, look, utc};

/// How long a run took.
pub(super) fn took(entry: &HistoryEntry) -> Option<SignedDuration> {
    entry.duration()
}

/// What the pointer is told of an entry.
pub(super) fn told(entry: &HistoryEntry) -> String {
    let word = entry.outcome.replace('_', " ");
    match (entry.epoch, took(entry)) {
        (Some(_), Some(took)) => format!("{word} after {}, ended {} UTC", length(took), utc(entry.ended_at)),
        (Some(_), None) => format!("{word}, noticed {} UTC: nobody knows how long it ran", utc(entry.ended_at)),
        (None, _) => {
            let (count, reason) = (entry.count.unwrap_or(1), entry.reason.as_deref().unwrap_or("no reason given"));
            let newest = entry.scheduled_for.unwrap_or(entry.ended_at);
            format!("{count} skipped ({}), the newest due {} UTC", reason.replace('_', " "), utc(newest))
        }
    }
}

/// The class of an entry.
pub(super) fn class(entry: &HistoryEntry) -> &'static str {
    look(&entry.outcome).0
}

/// How many of each outcome: `28 succeeded, 2 failed`.
pub(crate) fn summary(entries: &[&HistoryEntry]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for entry in entries {
        match counts.iter_mut().find(|(outcome, _)| *outcome == entry.outcome) {
            Some((_, count)) => *count += 1,
            None => counts.push((&entry.outcome, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let words: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {}", word.replace('_', " "))).collect();
    if words.is_empty() { "nothing yet".to_owned() } else { words.join(", ") }
}
