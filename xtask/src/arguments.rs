//! The arguments after the word: a few options, taken out one by one.

use anyhow::{Context, Result, ensure};
use std::ffi::OsString;

/// What has not been taken yet.
#[derive(Debug, Default)]
pub(crate) struct Arguments(Vec<OsString>);

impl Arguments {
    pub(crate) fn new(arguments: impl Iterator<Item = OsString>) -> Self {
        Self(arguments.collect())
    }

    /// Takes out every `--name VALUE` and `--name=VALUE`, up to `--`.
    pub(crate) fn take_values(&mut self, name: &str) -> Result<Vec<String>> {
        let mut values = Vec::new();
        while let Some(at) = self.position(|argument| argument == name || is_joined(argument, name)) {
            let argument = self.0.remove(at);
            let value = match argument.to_str().and_then(|text| text.split_once('=')) {
                Some((_, value)) => value.to_owned(),
                None if at < self.0.len() => {
                    self.0.remove(at).into_string().ok().with_context(|| format!("the value of {name} is not UTF-8"))?
                }
                None => anyhow::bail!("{name} wants a value"),
            };
            values.push(value);
        }
        Ok(values)
    }

    /// Takes out a `--name VALUE` that may be given once.
    pub(crate) fn take_value(&mut self, name: &str) -> Result<Option<String>> {
        let mut values = self.take_values(name)?;
        ensure!(values.len() <= 1, "{name} is given {} times", values.len());
        Ok(values.pop())
    }

    /// Takes out `--name`, and says whether it was there.
    pub(crate) fn take_flag(&mut self, name: &str) -> bool {
        let found = self.position(|argument| argument == name);
        found.map(|at| self.0.remove(at)).is_some()
    }

    /// Complains about whatever is left.
    pub(crate) fn finish(self) -> Result<()> {
        ensure!(self.0.is_empty(), "does not know {:?}; `cargo xtask help` says what there is", self.0);
        Ok(())
    }

    /// Whatever is left, for another program.
    pub(crate) fn rest(self) -> Vec<OsString> {
        self.0
    }

    fn position(&self, is_it: impl Fn(&str) -> bool) -> Option<usize> {
        let ours = self.0.iter().take_while(|argument| *argument != "--");
        ours.map(|argument| argument.to_str().unwrap_or_default()).position(is_it)
    }
}

fn is_joined(argument: &str, name: &str) -> bool {
    argument.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::new(line.split(' ').map(OsString::from))
    }

    #[test]
    fn values_are_taken_from_anywhere_before_the_dashes_and_the_rest_is_left() {
        let mut arguments = arguments("--only suite takeover --only=newer -- --only x");
        assert_eq!(arguments.take_values("--only").unwrap(), ["suite", "newer"]);
        assert_eq!(arguments.rest(), ["takeover", "--", "--only", "x"]);
    }

    #[test]
    fn a_missing_value_and_one_too_many_are_said() {
        assert_eq!(arguments("--major").take_value("--major").unwrap_err().to_string(), "--major wants a value");
        let twice = arguments("--major 15 --major 16").take_value("--major").unwrap_err();
        assert_eq!(twice.to_string(), "--major is given 2 times");
    }

    #[test]
    fn what_nobody_knows_is_said() {
        let error = arguments("--mayor 15").finish().unwrap_err().to_string();
        assert!(error.contains("--mayor"), "{error}");
    }
}
