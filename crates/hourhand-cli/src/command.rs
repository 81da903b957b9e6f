//! The subcommands: one line here, one where they are dispatched, one module each.

mod completions;
mod dashboard;
mod doctor;
mod history;
mod interventions;
mod key;
mod locks;
mod man;
mod migrate;
mod next;
mod orders;
mod requests;
mod status;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing::level_filters::LevelFilter;

use crate::globals::Globals;
use crate::logging::LogFormat;
use crate::output::Output;
use crate::refusal::Refusal;

/// What follows the list of subcommands.
const EXAMPLES: &str = "\
Examples:
  # what runs where, what is overdue, what comes next
  hourhand status
  # how its last runs ended
  hourhand history order-sync --limit 5
  # what a schedule means
  hourhand next \"30 2 * * MON-FRI\" --time-zone Europe/Berlin
  # its advisory lock's key, for any language
  hourhand key order-sync
  # makes the schema
  hourhand migrate

Exit status: 0 done; 1 what was asked for failed; 2 the command line or the configuration is wrong; \
69 the database can't be reached; others where a command says so.";

/// Periodic jobs, each on exactly one host at a time, coordinated only by PostgreSQL.
///
/// A sidecar for any language, a wrapper for one command, and the operator's tool. Times are given as RFC 3339, as a date or
/// date and time in your own time zone, or relatively ("2h", "2h ago").
#[derive(Debug, Parser)]
#[command(name = "hourhand", version, propagate_version = true, arg_required_else_help = true, after_help = EXAMPLES)]
#[command(subcommand_required = true, max_term_width = 120)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) globals: Globals,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::Up),
    Status(status::Status),
    History(history::History),
    Trigger(requests::Trigger),
    Pause(orders::Pause),
    Resume(orders::Resume),
    Cancel(orders::Cancel),
    Backfill(requests::Backfill),
    Window(interventions::Window),
    Evict(interventions::Evict),
    Forget(interventions::Forget),
    Locks(locks::Locks),
    Dashboard(dashboard::Dashboard),
    Doctor(doctor::Doctor),
    Next(next::Next),
    Key(key::Key),
    Exec(crate::exec::Exec),
    Migrate(migrate::Migrate),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Does it.
    ///
    /// # Errors
    ///
    /// It came to nothing: the refusal has the exit status.
    pub(crate) fn run(self, globals: &Globals, output: &Output) -> Result<ExitCode, Refusal> {
        let done = |()| ExitCode::SUCCESS;
        if let Some(instead) = self.without_json().filter(|_| globals.json) {
            return Err(Refusal::wrong(format!("--json: this command has no answer of its own: {instead}")));
        }
        match self {
            Command::Up(up) => up.run(globals),
            Command::Status(status) => status.run(globals, output).map(done),
            Command::History(history) => history.run(globals, output).map(done),
            Command::Trigger(trigger) => trigger.run(globals, output),
            Command::Pause(pause) => pause.run(globals, output).map(done),
            Command::Resume(resume) => resume.run(globals, output).map(done),
            Command::Cancel(cancel) => cancel.run(globals, output),
            Command::Backfill(backfill) => backfill.run(globals, output),
            Command::Window(window) => window.run(globals, output).map(done),
            Command::Evict(evict) => evict.run(globals, output).map(done),
            Command::Forget(forget) => forget.run(globals, output).map(done),
            Command::Locks(locks) => locks.run(globals, output).map(done),
            Command::Dashboard(dashboard) => dashboard.run(globals).map(done),
            Command::Doctor(doctor) => doctor.run(globals, output),
            Command::Next(next) => next.run(output).map(done),
            Command::Key(key) => key.run(globals, output).map(done),
            Command::Exec(exec) => exec.run(globals, output),
            Command::Migrate(migrate) => migrate.run(globals, output).map(done),
            Command::Completions(completions) => completions.run().map(done),
            Command::Man(man) => man.run().map(done),
        }
    }

    /// What to turn to for JSON, of commands whose standard output is not an answer.
    fn without_json(&self) -> Option<&'static str> {
        match self {
            Command::Up(_) => Some("what it says on the way is JSON with --log-format json"),
            Command::Exec(_) => Some("standard output is the command's; hourhand history --json has the run"),
            Command::Dashboard(_) => Some("what it serves at /api is JSON"),
            Command::Completions(_) | Command::Man(_) => Some("it writes files for shells and readers"),
            _ => None,
        }
    }

    /// How much it tells on the way, before `-v` and `-q`.
    pub(crate) fn level(&self) -> LevelFilter {
        match self {
            // A wrapper has nothing to say of its own: what matters it says itself, and by its exit status.
            Command::Exec(_) => LevelFilter::OFF,
            // What goes on until it is stopped tells of its life; what answers says nothing but its answer.
            Command::Up(_) | Command::Dashboard(_) => LevelFilter::INFO,
            _ => LevelFilter::WARN,
        }
    }

    /// How it tells that.
    pub(crate) fn log_format(&self) -> LogFormat {
        match self {
            Command::Up(up) => up.log_format,
            _ => LogFormat::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// Examples stand as they are written, so they have to fit; prose is wrapped by the terminal that shows it, so it is one line.
    #[test]
    fn examples_fit_a_terminal_and_prose_wraps() {
        let top = Cli::command();
        let mut wrong = Vec::new();
        for command in std::iter::once(&top).chain(top.get_subcommands()) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let prose = |line: &str| !line.is_empty() && !line.starts_with("  ") && !line.ends_with(':');
            let torn = lines.windows(2).filter(|pair| prose(pair[0]) && prose(pair[1])).map(|pair| pair[1]);
            let wide = lines.iter().filter(|line| line.starts_with("  ") && line.chars().count() > 80).copied();
            wrong.extend(torn.chain(wide).map(|line| format!("{}: {line}", command.get_name())));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn the_tree_of_commands_is_sound() {
        Cli::command().debug_assert();
    }
}
