//! `hourhand man`: the manual pages, made from what `--help` says, so that the two never differ.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_mangen::Man as Page;

use super::Cli;
use crate::refusal::Refusal;

/// Writes the manual pages into a directory: hourhand.1, and one for each subcommand.
#[derive(Args, Debug)]
#[command(hide = true)]
pub(crate) struct Man {
    /// The directory; made if need be.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Man {
    pub(crate) fn run(&self) -> Result<(), Refusal> {
        let failed = |error| Refusal::failed(format!("{}: {error}", self.directory.display()));
        std::fs::create_dir_all(&self.directory).map_err(failed)?;
        // `help` is clap's own; its page would say nothing.
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        let pages = std::iter::once(("hourhand".to_owned(), command.clone())).chain(
            command
                .get_subcommands()
                .filter(|subcommand| !subcommand.is_hide_set())
                .map(|subcommand| (format!("hourhand-{}", subcommand.get_name()), subcommand.clone())),
        );
        for (name, command) in pages {
            let mut text = Vec::new();
            Page::new(command).title(name.as_str()).render(&mut text).map_err(failed)?;
            std::fs::write(self.directory.join(format!("{name}.1")), text).map_err(failed)?;
        }
        Ok(())
    }
}
