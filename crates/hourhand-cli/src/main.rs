//! The command `hourhand`: a sidecar for any language, a wrapper for one command, and the operator's tool.
//!
//! A subcommand is a module with a clap struct and a `run`, a line in [`command::Command`] and a line where that is dispatched.
//! What they share: [`globals`] (what may be said with every one of them), [`output`] (the only room that writes to standard
//! output), [`refusal`] (what an exit status means).

mod child;
mod command;
mod config;
mod door;
mod exec;
mod globals;
mod guardian;
mod init;
mod length;
mod logging;
mod near;
mod operator;
mod output;
mod refusal;
mod runtime;
mod secret;
mod up;

use std::process::ExitCode;

use clap::Parser as _;

use crate::command::Cli;
use crate::output::Output;

fn main() -> ExitCode {
    if let Some(code) = guardian::if_called() {
        return code;
    }
    secret::leave_the_process_list();
    if let Some(code) = init::if_first() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refusal::command_line(&error, exec::hint(&secret::words())),
    };
    cli.globals.color.write_global();
    logging::start(&cli.globals, cli.command.level(), cli.command.log_format());
    let output = Output::new(&cli.globals);
    match cli.command.run(&cli.globals, &output) {
        Ok(code) => code,
        Err(refusal) => refusal.say(),
    }
}
