//! Text from outside, made fit for a column.

/// The most of a run's output that is kept.
pub(crate) const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// The most of an error message that is kept.
pub(crate) const ERROR_BYTES_MAX: usize = 8 * 1024;

/// A text that PostgreSQL takes (it refuses NUL, SQLSTATE 22021) of at most `bytes_max` bytes: what is longer keeps its head and
/// its tail.
pub(crate) fn storable(text: &str, bytes_max: usize) -> String {
    let text = text.replace('\0', "\u{fffd}");
    if text.len() <= bytes_max {
        return text;
    }
    let gap = format!("\n… {} bytes left out …\n", text.len() - bytes_max);
    let side = bytes_max.saturating_sub(gap.len()) / 2;
    let head = (0..=side).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let tail = (text.len() - side..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    format!("{}{gap}{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_keeps_head_and_tail_and_never_splits_a_character() {
        let long = format!("begin{}end", "⏰".repeat(10_000));
        let kept = storable(&long, 1000);
        assert!(kept.len() <= 1000, "{} bytes", kept.len());
        assert!(kept.starts_with("begin⏰") && kept.ends_with("⏰end") && kept.contains("bytes left out"));
    }

    #[test]
    fn a_nul_is_replaced() {
        assert_eq!(storable("a\0b", 100), "a\u{fffd}b");
    }
}
