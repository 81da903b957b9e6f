//! The end of a long text.

use std::collections::VecDeque;

/// Keeps the last so many bytes of what it is given.
#[derive(Debug)]
pub(super) struct Tail {
    bytes: VecDeque<u8>,
    most: usize,
}

impl Tail {
    pub(super) fn new(most: usize) -> Tail {
        Tail { bytes: VecDeque::new(), most }
    }

    pub(super) fn push(&mut self, more: &[u8]) {
        let more = &more[more.len().saturating_sub(self.most)..];
        let over = (self.bytes.len() + more.len()).saturating_sub(self.most);
        self.bytes.drain(..over);
        self.bytes.extend(more);
    }

    /// As text; a sign that was cut in two, or is none, is a replacement mark.
    pub(super) fn text(&self) -> String {
        let (one, other) = self.bytes.as_slices();
        String::from_utf8_lossy(&[one, other].concat()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Tail;

    #[test]
    fn the_last_bytes_are_kept_however_they_come() {
        let mut tail = Tail::new(5);
        for piece in ["a", "bc", "", "defg", "hi"] {
            tail.push(piece.as_bytes());
        }
        assert_eq!(tail.text(), "efghi");
        tail.push(b"0123456789");
        assert_eq!(tail.text(), "56789");
    }
}
