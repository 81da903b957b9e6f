//! Strangers' text before somebody's eyes: what steers a terminal, or makes text read otherwise than it is, is shown as what it is.
//!
//! Names, errors and outputs of jobs are written by whoever writes jobs. A control character moves a terminal's cursor or repaints what
//! stands above; a turned direction of writing makes `gpj.exe` of `exe.jpg`, in a browser too.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character does something else than stand there: control characters, of ASCII and beyond, ends of lines, those that
/// turn the direction of writing, and those that are not seen at all.
#[must_use]
pub fn steers(sign: char) -> bool {
    sign.is_control()
        || matches!(
            sign,
            '\u{2028}' | '\u{2029}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2060}' | '\u{feff}'
        )
        || ('\u{202a}'..='\u{202e}').contains(&sign)
        || ('\u{2066}'..='\u{2069}').contains(&sign)
}

/// For a place in a line: everything of the kind is escaped, ends of lines too.
///
/// ```
/// assert_eq!(hourhand_core::plain::inline("a\u{1b}[2Jb"), "a\\x{1b}[2Jb");
/// ```
#[must_use]
pub fn inline(text: &str) -> Cow<'_, str> {
    escaped(text, |_| true)
}

/// A name as one word of a shell's line, for a command that somebody is told to type.
///
/// ```
/// assert_eq!(hourhand_core::plain::argument("it's due"), r"'it'\''s due'");
/// assert_eq!(hourhand_core::plain::argument("order-sync"), "order-sync");
/// ```
#[must_use]
pub fn argument(name: &str) -> Cow<'_, str> {
    let plain = |sign: char| sign.is_alphanumeric() || "-._/:@+,".contains(sign);
    if !name.is_empty() && name.chars().all(plain) && !name.starts_with('-') {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("'{}'", name.replace('\'', r"'\''")))
    }
}

/// For a text of several lines: lines and tabs stay.
#[must_use]
pub fn block(text: &str) -> Cow<'_, str> {
    escaped(text, |sign| sign != '\n' && sign != '\t')
}

/// JSON that may be shown on a terminal, and reads back as it was. JSON itself escapes only what is below U+0020; outside its strings
/// nothing of the kind stands but ends of lines.
///
/// ```
/// assert_eq!(hourhand_core::plain::json("[\"a\u{202e}b\"]"), "[\"a\\u202eb\"]");
/// ```
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let steers = |sign: char| steers(sign) && sign != '\n';
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for sign in text.chars() {
        if steers(sign) {
            for unit in sign.encode_utf16(&mut [0; 2]) {
                // Writing to a string never fails.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(sign);
        }
    }
    Cow::Owned(shown)
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
        for code in (0..0x20).chain(0x7f..0xa0).chain([0x2028, 0x202e, 0x2066, 0x200f, 0x200b, 0x2060, 0xfeff]) {
            let sign = char::from_u32(code).unwrap();
            let text = format!("a{sign}b");
            assert!(!inline(&text).chars().any(steers), "{code:x}");
            assert!(!block(&text).chars().any(|left| steers(left) && left != '\n' && left != '\t'), "{code:x}");
            assert!(!json(&text).chars().any(|left| steers(left) && left != '\n'), "{code:x}");
        }
    }

    #[test]
    fn it_is_shown_as_what_it_is() {
        assert_eq!(inline("a\u{1b}[31mb\nc\td"), "a\\x{1b}[31mb\\nc\\td");
        assert_eq!(block("a\u{1b}[31mb\nc\td"), "a\\x{1b}[31mb\nc\td");
        assert!(matches!(inline("정산-작업 ⏰"), Cow::Borrowed(_)));
    }
}
