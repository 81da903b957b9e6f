//! What a text of the file stands for: `${NAME}` is taken from the environment, `file:` from a file.
//!
//! So that the file itself can be committed, and secrets come the way the platform gives them. A variable that is not set is a
//! complaint, not an empty text: an empty password tried against a server is a riddle an hour later. What was put in is not read
//! again, so a value that itself holds `${` stands for itself.

use std::fmt;
use std::path::Path;

/// A text that may hold a secret: it is never shown, not even by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, for whom it is meant.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What is wrong with a text, and what would be right.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: String,
    pub(super) right: String,
}

/// The text with every `${NAME}` replaced by what the environment says; `$${` stands for `${` itself.
pub(super) fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, Vec<Fault>> {
    let (mut expanded, mut faults) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(literal) = before.strip_suffix('$') {
            expanded.push_str(literal);
            expanded.push_str("${");
            rest = &from[2..];
            continue;
        }
        expanded.push_str(before);
        let Some((name, after)) = from[2..].split_once('}') else {
            faults.push(Fault {
                what: "`${` is not closed".to_owned(),
                right: "`${NAME}`, or `$${` for the signs themselves".to_owned(),
            });
            return Err(faults);
        };
        match replacement(name, variable) {
            Ok(value) => expanded.push_str(&value),
            Err(fault) => faults.push(fault),
        }
        rest = after;
    }
    expanded.push_str(rest);
    if faults.is_empty() { Ok(expanded) } else { Err(faults) }
}

fn replacement(name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, Fault> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if !is_name(name) {
        let what = "`${…}` does not hold the name of an environment variable".to_owned();
        return Err(Fault { what, right: "`${NAME}`, or `$${` for the signs themselves".to_owned() });
    }
    let missing = || Fault {
        what: format!("the environment variable {name} is not set"),
        right: format!("set {name}, or write `$${{{name}}}` for the signs themselves"),
    };
    variable(name).ok_or_else(missing)
}

/// What the file of `file:PATH` holds, without the line's end that editors add.
pub(super) fn from_file(path: &str, directory: &Path) -> Result<String, Fault> {
    let path = directory.join(path);
    let read = std::fs::read_to_string(&path).map_err(|error| Fault {
        what: format!("could not read {}: {error}", path.display()),
        right: "`file:` and the path of a readable text file; relative paths start from this file's directory"
            .to_owned(),
    });
    read.map(|text| text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "t0".to_owned())
    }

    #[test]
    fn variables_are_taken_from_the_environment() {
        assert_eq!(expand("Bearer ${TOKEN}, ${TOKEN}", &variable), Ok("Bearer t0, t0".to_owned()));
        assert_eq!(expand("costs $5 and $${TOKEN}", &variable), Ok("costs $5 and ${TOKEN}".to_owned()));
    }

    #[test]
    fn every_missing_variable_is_named() {
        let faults = expand("${A} ${TOKEN} ${B}", &variable).unwrap_err();
        let named: Vec<&str> = faults.iter().map(|fault| fault.what.as_str()).collect();
        assert_eq!(named, ["the environment variable A is not set", "the environment variable B is not set"]);
        assert!(expand("${A", &variable).is_err() && expand("${}", &variable).is_err());
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Some(Secret::new("hush"))), "Some(…)");
    }
}
