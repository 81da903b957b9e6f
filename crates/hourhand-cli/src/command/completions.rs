//! `hourhand completions`: for a shell to complete our words.

use std::io::Write as _;

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use super::Cli;
use crate::refusal::Refusal;

const EXAMPLES: &str = "\
Examples:
  hourhand completions bash > /etc/bash_completion.d/hourhand
  hourhand completions zsh > \"${fpath[1]}/_hourhand\"
  hourhand completions fish > ~/.config/fish/completions/hourhand.fish";

/// A script that makes your shell complete hourhand's words.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<(), Refusal> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "hourhand", &mut script);
        let mut out = std::io::stdout();
        Ok(out.write_all(&script).and_then(|()| out.flush())?)
    }
}
