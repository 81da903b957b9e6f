//! What a run has written: the beginning of it and the end, however much lies between.

use crate::pg::OUTPUT_BYTES_MAX;

/// What is said of the gap takes its place from both sides.
const SIDE_BYTES_MAX: usize = (OUTPUT_BYTES_MAX - 128) / 2;

/// A body that talks for hours must not fill the memory: about three times as much is kept here as history takes.
#[derive(Debug, Default)]
pub(crate) struct Written {
    head: String,
    /// What came after the head; of a long one the beginning is let go.
    tail: String,
    bytes: usize,
}

impl Written {
    pub(crate) fn add(&mut self, text: &str) {
        self.bytes += text.len();
        let mut rest = text;
        if self.tail.is_empty() {
            let room = before(rest, SIDE_BYTES_MAX.saturating_sub(self.head.len()));
            self.head.push_str(&rest[..room]);
            rest = &rest[room..];
        }
        self.tail.push_str(rest);
        if self.tail.len() > 3 * SIDE_BYTES_MAX {
            self.tail.drain(..after(&self.tail, self.tail.len() - SIDE_BYTES_MAX));
        }
    }

    /// None: nothing was written.
    pub(crate) fn text(&self) -> Option<String> {
        if self.bytes == 0 {
            return None;
        }
        let whole = self.head.len() + self.tail.len() == self.bytes;
        if whole && self.bytes <= OUTPUT_BYTES_MAX {
            return Some(format!("{}{}", self.head, self.tail));
        }
        let tail = &self.tail[after(&self.tail, self.tail.len().saturating_sub(SIDE_BYTES_MAX))..];
        let left_out = self.bytes - self.head.len() - tail.len();
        Some(format!("{}\n… {left_out} bytes left out …\n{tail}", self.head))
    }
}

/// The nearest place at or before this one that splits no character.
fn before(text: &str, place: usize) -> usize {
    (0..=place.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The nearest one at or after it.
fn after(text: &str, place: usize) -> usize {
    (place..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_kept_as_it_is() {
        let mut written = Written::default();
        assert_eq!(written.text(), None);
        written.add("one\n");
        written.add("two\n");
        assert_eq!(written.text().as_deref(), Some("one\ntwo\n"));
    }

    #[test]
    fn of_much_the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
        let mut written = Written::default();
        written.add("begin ");
        for line in 0..1_000_000 {
            written.add(&format!("⏰ {line}\n"));
        }
        let text = written.text().unwrap();
        assert!(text.len() <= OUTPUT_BYTES_MAX, "{} bytes", text.len());
        assert!(text.starts_with("begin ⏰ 0\n") && text.ends_with("⏰ 999998\n⏰ 999999\n"));
        let left_out: usize = text.split("\n… ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let gap = format!("\n… {left_out} bytes left out …\n").len();
        assert_eq!(text.len() - gap + left_out, written.bytes);
        assert!(written.head.len() + written.tail.len() < 4 * SIDE_BYTES_MAX);
    }

    #[test]
    fn one_piece_may_be_longer_than_all_that_is_kept() {
        let mut written = Written::default();
        written.add(&format!("a{}z", "é".repeat(1_000_000)));
        let text = written.text().unwrap();
        assert!(text.starts_with("aé") && text.ends_with("éz") && text.len() <= OUTPUT_BYTES_MAX);
    }
}
