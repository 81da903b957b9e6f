//! Strangers' text on a terminal: what steers one, or makes text read otherwise than it is, is shown as what it is.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character does something else than stand there: control characters, of ASCII and beyond, ends of lines, and those
/// that turn the direction of writing.
pub(crate) fn steers(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{feff}')
        || ('\u{202a}'..='\u{202e}').contains(&sign)
        || ('\u{2066}'..='\u{2069}').contains(&sign)
}

/// For a place in a line: everything of the kind is escaped, ends of lines too.
pub(crate) fn inline(text: &str) -> Cow<'_, str> {
    escaped(text, |_| true)
}

/// For a text of several lines: lines and tabs stay.
pub(crate) fn block(text: &str) -> Cow<'_, str> {
    escaped(text, |sign| sign != '\n' && sign != '\t')
}

fn escaped(text: &str, unless: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|sign| steers(sign) && unless(sign)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for sign in text.chars() {
        match sign {
            '\n' | '\t' | '\r' if unless(sign) => shown.extend(sign.escape_default()),
            // Writing to a string never fails.
            sign if steers(sign) && unless(sign) => drop(write!(shown, "\\x{{{:02x}}}", u32::from(sign))),
            sign => shown.push(sign),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        for code in (0..0x20).chain(0x7f..0xa0).chain([0x2028, 0x202e, 0x2066, 0x200f, 0xfeff]) {
            let sign = char::from_u32(code).unwrap();
            let text = format!("a{sign}b");
            assert!(!inline(&text).chars().any(steers), "{code:x}");
            assert!(!block(&text).chars().any(|left| steers(left) && left != '\n' && left != '\t'), "{code:x}");
        }
    }

    #[test]
    fn it_is_shown_as_what_it_is() {
        assert_eq!(inline("a\u{1b}[31mb\nc\td"), "a\\x{1b}[31mb\\nc\\td");
        assert_eq!(block("a\u{1b}[31mb\nc\td"), "a\\x{1b}[31mb\nc\td");
        assert!(matches!(inline("정산-작업 ⏰"), Cow::Borrowed(_)));
    }
}
