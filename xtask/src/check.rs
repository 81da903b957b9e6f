//! `cargo xtask check`: what can be said of the code without running it.

use crate::arguments::Arguments;
use crate::cargo::{cargo, root};
use crate::foreground;
use crate::legs::{Done, Legs};
use crate::tidy;
use anyhow::{Result, bail};
use std::process::Command;

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    arguments.finish()?;
    let mut legs = Legs::default();
    legs.leg("tidy", || {
        let complaints = tidy::complaints(&root())?;
        complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
        if complaints.is_empty() { Ok(Done::Passed) } else { bail!("{} places", complaints.len()) }
    });
    legs.leg("format", || passes(&mut cargo(&["fmt", "--all", "--check"])));
    legs.leg("clippy", || {
        let everything = ["clippy", "--workspace", "--all-targets", "--all-features", "--", "--deny", "warnings"];
        passes(&mut cargo(&everything))
    });
    legs.leg("documentation", || {
        let mut doc = cargo(&["doc", "--workspace", "--all-features", "--no-deps"]);
        passes(doc.env("RUSTDOCFLAGS", "--deny warnings"))
    });
    legs.finish()
}

fn passes(command: &mut Command) -> Result<Done> {
    foreground::run(command).map(|()| Done::Passed)
}
