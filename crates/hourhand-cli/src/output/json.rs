//! JSON that may be shown on a terminal: no character in it steers one.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::plain::steers;

/// Writes a value on one line. JSON itself escapes only what is below U+0020; a terminal also obeys U+009B and its like.
pub(crate) fn write<T: Serialize + ?Sized>(out: &mut impl Write, value: &T) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Escaping(CompactFormatter))).map_err(io::Error::from)
}

struct Escaping(CompactFormatter);

impl Formatter for Escaping {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, sign)) = rest.char_indices().find(|(_, sign)| steers(*sign)) {
            self.0.write_string_fragment(out, &rest[..at])?;
            for unit in sign.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + sign.len_utf8()..];
        }
        self.0.write_string_fragment(out, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped_and_reads_back_as_it_was() {
        let hostile = "a\u{1b}[2Jb\u{9b}31mc\u{202e}d\u{7f}정산";
        let mut out = Vec::new();
        write(&mut out, &[hostile]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, r#"["a\u001b[2Jb\u009b31mc\u202ed\u007f정산"]"#);
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), [hostile]);
    }
}
