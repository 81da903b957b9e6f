//! Golden texts that tell a story: scenes of things that happen and of what is decided then.
//!
//! A scene begins with `== what it shows`. In it, `> something happens` is followed by what is answered, indented by two spaces.
//! Lines that begin with `#` are comments. With `UPDATE_TESTDATA=1` in the environment the answers are rewritten instead of
//! compared, to be read before they are committed.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// One scene under way.
pub(crate) trait Scene {
    /// What a scene begins with; its title says what it shows.
    fn begin(title: &str) -> Self;
    /// What is answered to a line, as lines of text.
    fn answer(&mut self, line: &str) -> String;
}

/// Checks every scene of a file.
pub(crate) fn check<S: Scene>(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(file);
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let updating = std::env::var_os("UPDATE_TESTDATA").is_some();
    let (actual, scenes) = play::<S>(file, &expected, updating);
    assert!(scenes > 0, "{file} has scenes");
    if updating {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    for (number, (now, then)) in actual.lines().zip(expected.lines()).enumerate() {
        let scene = expected.lines().take(number + 1).filter(|line| line.starts_with("==")).last().unwrap_or_default();
        assert_eq!(now, then, "{file}, line {} ({scene})", number + 1);
    }
    assert_eq!(actual.lines().count(), expected.lines().count(), "{file}");
}

/// The file with the answers that are given now, and the number of its scenes. When `updating`, a line that can't be answered
/// ends its scene, with the reason in the file, and the others go on.
fn play<S: Scene>(file: &str, expected: &str, updating: bool) -> (String, usize) {
    let (mut actual, mut scene, mut scenes) = (String::new(), None, 0);
    for (number, line) in expected.lines().enumerate().filter(|(_, line)| !line.starts_with("  ")) {
        writeln!(actual, "{line}").unwrap();
        if let Some(title) = line.strip_prefix("== ") {
            scene = Some(S::begin(title));
            scenes += 1;
        }
        let Some(happened) = line.strip_prefix("> ") else { continue };
        let Some(playing) = &mut scene else {
            assert!(updating, "{file}, line {}: outside a scene", number + 1);
            continue;
        };
        let answer = if updating {
            catch_unwind(AssertUnwindSafe(|| playing.answer(happened))).unwrap_or_else(|_| {
                scene = None;
                "!! this line can't be answered".to_owned()
            })
        } else {
            playing.answer(happened)
        };
        for answer in answer.lines() {
            writeln!(actual, "  {answer}").unwrap();
        }
    }
    (actual, scenes)
}
