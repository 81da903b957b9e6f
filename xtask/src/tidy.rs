//! Rules that no compiler knows: how long a file may be, what must not stand in it, and which room may do what.
//!
//! A rule is a line of [`RULES`]; it is tried by `cargo xtask check`, and by a test. How modules may need each other is in [`cycles`].

use crate::cycles;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const LINES_MAX: usize = 500;

/// What is looked at; the lock file, data and pictures are not ours to write.
const ENDINGS: [&str; 6] = ["rs", "sql", "md", "toml", "sh", "txt"];

/// Directories that hold what is made, not written.
const MADE: [&str; 3] = ["target", ".git", ".pg"];

/// A text that must not stand in certain files.
struct Rule {
    text: &'static str,
    /// Where: a beginning of the path, and an ending of it.
    under: &'static str,
    ending: &'static str,
    /// Where it may stand all the same: a beginning of the path.
    except: &'static str,
    why: &'static str,
}

const fn rule(text: &'static str, under: &'static str, ending: &'static str, why: &'static str) -> Rule {
    Rule { text, under, ending, except: "xtask/src/tidy.rs", why }
}

const fn rule_except(text: &'static str, under: &'static str, except: &'static str, why: &'static str) -> Rule {
    Rule { text, under, ending: ".rs", except, why }
}

const CORE: &str = "crates/hourhand-core/src/";
const LIBRARY: &str = "crates/hourhand/src/";
const CLOCK: &str = "crates/hourhand/src/clock.rs";
const PG: &str = "crates/hourhand/src/pg";

const RULES: [Rule; 19] = [
    rule("TODO", "", "", "an open end belongs in an issue"),
    rule("FIXME", "", "", "an open end belongs in an issue"),
    rule("dbg!(", "", ".rs", "a look taken while debugging"),
    rule("todo!(", "", ".rs", "a stub"),
    rule("unimplemented!(", "", ".rs", "a stub"),
    rule("/home/", "", "", "a path of one person's machine"),
    rule("/Users/", "", "", "a path of one person's machine"),
    rule("<<<<<<<", "", "", "a merge that was not finished"),
    rule("Timestamp::now", CORE, ".rs", "the core is told the time"),
    rule("Instant::now", CORE, ".rs", "the core is told the time"),
    rule("SystemTime::now", CORE, ".rs", "the core is told the time"),
    rule("tokio::", CORE, ".rs", "the core does no I/O and waits for nothing"),
    rule("tracing::", CORE, ".rs", "the core logs nothing: it returns what happened"),
    rule_except("Timestamp::now", LIBRARY, CLOCK, "clock.rs alone reads the time"),
    rule_except("Instant::now", LIBRARY, CLOCK, "clock.rs alone reads the time"),
    rule_except("SystemTime::now", LIBRARY, CLOCK, "clock.rs alone reads the time"),
    rule_except("include_str!(\"sql/", LIBRARY, PG, "pg is the only room that speaks SQL"),
    rule(
        "pg_advisory_lock(",
        LIBRARY,
        "",
        "nothing waits inside the server for an advisory lock: pg_try_advisory_lock",
    ),
    rule("pg_advisory_xact_lock(", LIBRARY, "", "nothing waits inside the server for an advisory lock"),
];

/// What is untidy in this tree, each as `path:line: why`.
pub(crate) fn complaints(root: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    files.sort();
    let mut complaints = Vec::new();
    let mut crates: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        complaints.extend(in_file(&name, &text));
        if let Some((of, within)) = name.split_once("src/").filter(|_| name.ends_with(".rs")) {
            crates.entry(format!("{of}src/")).or_default().push((within.to_owned(), text));
        }
    }
    for (source, files) in &crates {
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        complaints.extend(cycles::complaints(source, &files));
    }
    Ok(complaints)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("could not list {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && !MADE.iter().any(|made| entry.file_name() == *made) {
            collect(&path, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
        {
            files.push(path);
        }
    }
    Ok(())
}

fn in_file(name: &str, text: &str) -> Vec<String> {
    let applies =
        |rule: &&Rule| name.starts_with(rule.under) && name.ends_with(rule.ending) && !name.starts_with(rule.except);
    let rules: Vec<&Rule> = RULES.iter().filter(applies).collect();
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let broken = rules.iter().filter(|rule| line.contains(rule.text));
        complaints.extend(broken.map(|rule| format!("{name}:{}: `{}`: {}", index + 1, rule.text, rule.why)));
    }
    let length = text.lines().count();
    if name.ends_with(".rs") && length > LINES_MAX {
        complaints.push(format!("{name}:{length}: has {length} lines; a file ends at {LINES_MAX}"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let found = complaints(&crate::cargo::root()).unwrap();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn a_broken_rule_is_said_with_its_place_and_reason() {
        let found = in_file("crates/hourhand-core/src/node.rs", "//! Node.\nlet now = Timestamp::now();\n");
        assert_eq!(found, ["crates/hourhand-core/src/node.rs:2: `Timestamp::now`: the core is told the time"]);
    }

    #[test]
    fn the_room_that_a_rule_names_may_do_what_others_may_not() {
        assert_eq!(in_file(CLOCK, "Instant::now()"), Vec::<String>::new());
        assert_eq!(in_file("crates/hourhand/src/run.rs", "Instant::now()").len(), 1);
    }

    #[test]
    fn a_long_file_is_said_and_one_at_the_limit_is_not() {
        assert_eq!(in_file("x.rs", &"\n".repeat(500)).len(), 0);
        assert_eq!(in_file("x.rs", &"\n".repeat(501)).len(), 1);
    }

    #[test]
    fn what_is_made_and_not_written_is_not_looked_at() {
        let place = tempfile::tempdir().unwrap();
        for directory in ["target/debug", "src"] {
            fs::create_dir_all(place.path().join(directory)).unwrap();
            fs::write(place.path().join(directory).join("x.rs"), "dbg!(1)").unwrap();
        }
        let found = complaints(place.path()).unwrap();
        assert_eq!(found, ["src/x.rs:1: `dbg!(`: a look taken while debugging"]);
    }
}
