//! Words that several pages and their templates share.

use hourhand::HistoryEntry;
use jiff::SignedDuration;

use crate::markup;

/// Counted so far and no further.
pub(crate) const COUNT_MAX: u32 = 10_000;

/// A count that stops at [`COUNT_MAX`].
pub(crate) fn capped(count: u32) -> String {
    if count > COUNT_MAX { "10,000+".to_owned() } else { thousands(count) }
}

fn thousands(count: u32) -> String {
    match count {
        ..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    }
}

/// A page of what one entry more was asked for than it shows; and where there is more, its last id, which the next page follows upon.
pub(crate) fn page_of<T>(mut entries: Vec<T>, rows: u32, id: impl Fn(&T) -> i64) -> (Vec<T>, Option<String>) {
    let has_more = entries.len() > rows as usize;
    entries.truncate(rows as usize);
    let last = entries.last().filter(|_| has_more).map(|last| id(last).to_string());
    (entries, last)
}

/// How long after its occurrence a run began, where that is worth a word.
pub(crate) fn lateness(entry: &HistoryEntry) -> Option<String> {
    const WORTH_A_WORD: SignedDuration = SignedDuration::from_secs(60);
    let late = entry.started_at?.duration_since(entry.scheduled_for?);
    (late >= WORTH_A_WORD).then(|| format!("{} after it was due", markup::length(late)))
}

/// What a run was for that has no occurrence.
pub(crate) fn occasion(trigger: Option<&str>) -> &'static str {
    match trigger {
        Some("continuous") => "always on",
        Some("catch_up") => "to catch up",
        Some("backfill") => "run again",
        Some("manual") => "by hand",
        Some(_) | None => "–",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_says_where_it_stopped() {
        assert_eq!(capped(0), "0");
        assert_eq!(capped(9_999), "9,999");
        assert_eq!(capped(10_000), "10,000");
        assert_eq!(capped(10_001), "10,000+");
    }
}
