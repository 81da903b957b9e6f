//! Modules that need each other: neither can be understood, or changed, without the other.
//!
//! Read from the text, which is enough: within a crate the top modules are files and directories below `src`, and what one needs of
//! another is a path that begins with `crate::`. A name that the root re-exports counts for the module it comes from. Tests may look
//! wherever they like.

use std::collections::{BTreeMap, BTreeSet};

/// A module that needs another one, and the first line that says so.
type Arrows = BTreeMap<(String, String), String>;

/// The arrows between top modules of a crate that are part of a cycle, each as `path:line: why`. The files are those of one `src`
/// directory, named from there.
pub(crate) fn complaints(source: &str, files: &[(&str, &str)]) -> Vec<String> {
    let modules: BTreeSet<&str> = files.iter().filter_map(|(path, _)| top(path)).collect();
    let mut home: BTreeMap<&str, &str> = modules.iter().map(|module| (*module, *module)).collect();
    for (_, text) in files.iter().filter(|(path, _)| ["lib.rs", "main.rs"].contains(path)) {
        for line in code(text).filter_map(|(_, line)| line.strip_prefix("pub use ")) {
            if let Some((module, names)) = line.split_once("::").filter(|(module, _)| modules.contains(module)) {
                home.extend(words(names).map(|name| (name, module)));
            }
        }
    }
    let mut arrows = Arrows::new();
    for (path, text) in files {
        let Some(from) = top(path) else { continue };
        for (number, name) in needed(text) {
            if let Some(to) = home.get(name.as_str()).filter(|to| **to != from) {
                let place = format!("{source}{path}:{number}");
                arrows.entry((from.to_owned(), (*to).to_owned())).or_insert(place);
            }
        }
    }
    let found = in_cycles(arrows).into_iter();
    found
        .map(|((from, to), place)| format!("{place}: `{from}` needs `{to}`, which needs it: no cycles of modules"))
        .collect()
}

/// The module right below the crate's root that a file belongs to; none for the root itself, and for tests.
fn top(path: &str) -> Option<&str> {
    let parts = || path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
    let first = parts().next().filter(|first| !["lib", "main", "bin"].contains(first));
    first.filter(|_| !parts().any(|part| part == "tests"))
}

/// Its lines without comments, up to its tests, numbered from 1.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_start()));
    lines.take_while(|(_, line)| !line.starts_with("mod tests {")).filter(|(_, line)| !line.starts_with("//"))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// What follows `crate::` anywhere in the file; of a list in braces, the first word of each entry.
fn needed(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let lines: Vec<_> = code(text).collect();
    for (index, (number, line)) in lines.iter().enumerate() {
        for (at, _) in line.match_indices("crate::") {
            let rest = &line[at + "crate::".len()..];
            let list = rest.strip_prefix('{').map(|rest| entries(rest, &lines[index + 1..]));
            let names = list.unwrap_or_else(|| words(rest).take(1).map(str::to_owned).collect());
            found.extend(names.into_iter().map(|name| (*number, name)));
        }
    }
    found
}

/// The entries of a list that was opened, by their first words.
fn entries(rest: &str, following: &[(usize, &str)]) -> Vec<String> {
    let text = std::iter::once(rest).chain(following.iter().map(|(_, line)| *line)).flat_map(str::chars);
    let (mut depth, mut outermost) = (1, String::new());
    for c in text {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ if depth == 1 => outermost.push(c),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    outermost.split(',').filter_map(|entry| words(entry).next()).map(str::to_owned).collect()
}

/// Arrows from or to a module that is at an end of all its arrows are in no cycle; without those, others are at an end, until none is.
fn in_cycles(mut arrows: Arrows) -> Arrows {
    loop {
        let needing: BTreeSet<String> = arrows.keys().map(|(from, _)| from.clone()).collect();
        let needed: BTreeSet<String> = arrows.keys().map(|(_, to)| to.clone()).collect();
        let before = arrows.len();
        arrows.retain(|(from, to), _| needed.contains(from) && needing.contains(to));
        if arrows.len() == before {
            return arrows;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_need_each_other_are_said_with_the_lines_that_say_so() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use c::Thing;\n"),
            ("a.rs", "use crate::b::B;\n"),
            ("b/deep.rs", "use crate::{\n    c::{a, d},\n    other,\n};\n"),
            ("c.rs", "//! As crate::b says.\nfn f() -> crate::a::A {}\n"),
        ];
        let found = complaints("src/", &files);
        let places: Vec<&str> = found.iter().filter_map(|found| found.split_once(": ")).map(|(at, _)| at).collect();
        assert_eq!(places, ["src/a.rs:1", "src/b/deep.rs:1", "src/c.rs:2"]);
    }

    #[test]
    fn what_the_root_shows_counts_for_the_module_it_comes_from() {
        let files =
            [("lib.rs", "pub use a::{A, Other};\n"), ("a.rs", "use crate::b;\n"), ("b.rs", "use crate::Other;\n")];
        assert_eq!(complaints("src/", &files).len(), 2);
    }

    #[test]
    fn an_arrow_that_leads_to_a_cycle_or_from_one_is_none_of_it_and_tests_are_free() {
        let files = [
            ("above.rs", "use crate::a;\n"),
            ("a.rs", "use crate::b;\nuse crate::below;\n"),
            ("b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n"),
            ("b/tests.rs", "use crate::a;\n"),
            ("below.rs", ""),
        ];
        assert_eq!(complaints("src/", &files), Vec::<String>::new());
    }
}
