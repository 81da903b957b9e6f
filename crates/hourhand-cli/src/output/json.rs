//! JSON that may be shown on a terminal: no character in it steers one.

use std::io::{self, Write};

use hourhand_core::plain;
use serde::Serialize;

/// Writes a value on one line.
pub(crate) fn write<T: Serialize + ?Sized>(out: &mut impl Write, value: &T) -> io::Result<()> {
    let text = serde_json::to_string(value).map_err(io::Error::from)?;
    out.write_all(plain::json(&text).as_bytes())
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
