//! Golden texts: blocks of a question and the answer that is expected, in a file that can rewrite itself.

use std::fmt::Write as _;
use std::path::Path;

/// Compares the answers in a file of blocks with those that are given now.
///
/// A block is a line `> question` and the lines of its answer, indented by two spaces; lines that begin with `#` and
/// empty lines are kept. With `UPDATE_TESTDATA=1` in the environment the file is rewritten instead, to be read before
/// it is committed.
pub(crate) fn check(file: &str, answer: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/schedule").join(file);
    let expected = std::fs::read_to_string(&path).unwrap();
    let mut actual = String::new();
    for line in expected.lines().filter(|line| !line.starts_with("  ")) {
        writeln!(actual, "{line}").unwrap();
        let Some(question) = line.strip_prefix('>') else { continue };
        for answer in answer(question.strip_prefix(' ').unwrap_or(question)).lines() {
            writeln!(actual, "  {answer}").unwrap();
        }
    }
    if std::env::var_os("UPDATE_TESTDATA").is_some() {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    for (number, (now, then)) in actual.lines().zip(expected.lines()).enumerate() {
        assert_eq!(now, then, "{file}, line {}", number + 1);
    }
    assert_eq!(actual, expected, "{file}");
}
