//! Several pieces of work one after the other, none of which keeps the others from being done.

use crate::foreground::signal_received;
use anyhow::{Result, bail};
use std::time::Instant;

/// What became of a piece of work that did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Passed,
    /// It could not be had here, for this reason.
    Skipped(String),
}

/// Does the pieces in order, says on standard error what became of each, and fails if one did.
#[derive(Default)]
pub(crate) struct Legs {
    lines: Vec<String>,
    failed: Vec<&'static str>,
}

impl Legs {
    /// Does one, unless we have been told to end.
    pub(crate) fn leg(&mut self, name: &'static str, work: impl FnOnce() -> Result<Done>) {
        if signal_received() != 0 {
            return;
        }
        let begun = Instant::now();
        let outcome = work();
        let seconds = begun.elapsed().as_secs_f32();
        let line = match outcome {
            Ok(Done::Passed) => format!("{name}: passed in {seconds:.1} s"),
            Ok(Done::Skipped(reason)) => format!("{name}: skipped, because {reason}"),
            Err(error) => {
                self.failed.push(name);
                format!("{name}: failed after {seconds:.1} s: {error:#}")
            }
        };
        eprintln!("── {line}");
        self.lines.push(line);
    }

    /// The whole once more, in short.
    pub(crate) fn finish(self) -> Result<()> {
        if self.lines.len() > 1 {
            eprintln!("── all in all");
            self.lines.iter().for_each(|line| eprintln!("   {line}"));
        }
        if signal_received() != 0 {
            bail!("ended by a signal");
        }
        if !self.failed.is_empty() {
            bail!("failed: {}", self.failed.join(", "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_keeps_nobody_from_going_on_and_is_not_forgotten() {
        let mut legs = Legs::default();
        let mut done = false;
        legs.leg("first", || bail!("no"));
        legs.leg("second", || Ok(Done::Skipped("it rains".to_owned())));
        legs.leg("third", || {
            done = true;
            Ok(Done::Passed)
        });
        assert!(done);
        assert_eq!(legs.finish().unwrap_err().to_string(), "failed: first");
    }
}
