//! Why a command came to nothing, and the exit status that says so to a script.

use std::io::Write as _;
use std::process::ExitCode;

use anstream::eprintln;

use crate::secret;
use hourhand_core::plain::block;

/// The command line or the configuration is wrong.
const WRONG: u8 = 2;
/// The database can't be reached: EX_UNAVAILABLE of sysexits.h.
const UNREACHABLE: u8 = 69;

/// A command's end that is not the one that was asked for.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: u8,
    text: String,
}

impl Refusal {
    /// What was asked for failed: 1.
    pub(crate) fn failed(text: impl Into<String>) -> Refusal {
        Refusal { code: 1, text: text.into() }
    }

    /// The command line or the configuration is wrong: 2.
    pub(crate) fn wrong(text: impl Into<String>) -> Refusal {
        Refusal { code: WRONG, text: text.into() }
    }

    /// The database can't be reached: 69.
    pub(crate) fn unreachable(text: impl Into<String>) -> Refusal {
        Refusal { code: UNREACHABLE, text: text.into() }
    }

    /// What it says.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Says it on standard error.
    pub(crate) fn say(&self) -> ExitCode {
        if !self.text.is_empty() {
            let red = anstyle::AnsiColor::Red.on_default().bold();
            let text = secret::without_passwords(&self.text, secret::words().into_iter().flatten());
            eprintln!("{red}error:{red:#} {}", block(&text));
        }
        ExitCode::from(self.code)
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<hourhand::Error> for Refusal {
    fn from(error: hourhand::Error) -> Refusal {
        let text = error.to_string();
        if error.is_config() || error.is_incompatible() || error.is_not_migrated() {
            Refusal::wrong(text)
        } else if error.is_unreachable() {
            Refusal::unreachable(text)
        } else {
            Refusal::failed(text)
        }
    }
}

/// Whoever read our output has gone, which is no failure: `hourhand locks | head -1`.
impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Refusal {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Refusal { code: 0, text: String::new() },
            _ => Refusal::failed(format!("could not write to standard output: {error}")),
        }
    }
}

/// What clap has to say: help to standard output, a complaint to standard error, and never a password in it.
pub(crate) fn command_line(error: &clap::Error, hint: Option<&str>) -> ExitCode {
    let rendered = error.render();
    let text = if error.use_stderr() {
        // It repeats what was typed: without colours it can be told from what would steer the terminal.
        let red = anstyle::AnsiColor::Red.on_default().bold();
        let plain = rendered.to_string();
        let hint = hint.map(|hint| format!("\n{hint}\n")).unwrap_or_default();
        block(&plain).replacen("error:", &format!("{red}error:{red:#}"), 1) + &hint
    } else {
        rendered.ansi().to_string()
    };
    let text = secret::without_passwords(&text, secret::words().into_iter().flatten());
    if !error.use_stderr() {
        let mut out = anstream::stdout();
        return match write!(out, "{text}").and_then(|()| out.flush()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => Refusal::from(error).say(),
        };
    }
    // Nobody may be listening any more; the status says it all the same.
    let _ = write!(anstream::stderr(), "{text}");
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(WRONG))
}
