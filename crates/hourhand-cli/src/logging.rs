//! What the library and we have to tell on the way: to standard error, never to standard output.

use std::borrow::Cow;
use std::io::{self, Write};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

use crate::globals::Globals;
use hourhand_core::plain::steers;

const STEPS: [LevelFilter; 6] = [
    LevelFilter::OFF,
    LevelFilter::ERROR,
    LevelFilter::WARN,
    LevelFilter::INFO,
    LevelFilter::DEBUG,
    LevelFilter::TRACE,
];

/// How it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For collectors: one JSON object a line.
    Json,
}

/// Starts it: at the subcommand's own level, moved by `-v` and `-q`; RUST_LOG says otherwise where it is set.
pub(crate) fn start(globals: &Globals, usual: LevelFilter, format: LogFormat) {
    let level = level(usual, globals.verbose, globals.quiet);
    let filter = match std::env::var("RUST_LOG") {
        Ok(directives) if !directives.is_empty() => EnvFilter::new(directives),
        Ok(_) | Err(_) => EnvFilter::new(format!("hourhand={level},hourhand_core={level},warn")),
    };
    let color = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let careful = move || Careful { json: format == LogFormat::Json, color };
    let subscriber = tracing_subscriber::fmt().with_writer(careful).with_env_filter(filter);
    // Fails only if somebody has set one before us: then that one tells.
    let _ = match format {
        LogFormat::Text => subscriber.with_ansi(color).with_target(false).try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
}

/// Standard error, where nothing that a job, a server or a name says steers a terminal.
struct Careful {
    json: bool,
    color: bool,
}

impl Write for Careful {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(self.shown(&String::from_utf8_lossy(event)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl Careful {
    /// One event. Our own colours stay: the escape characters in fields and messages are escaped before they come here.
    fn shown<'a>(&self, event: &'a str) -> Cow<'a, str> {
        let stays = |sign: char| matches!(sign, '\n' | '\t') || (sign == '\u{1b}' && self.color && !self.json);
        if !event.chars().any(|sign| steers(sign) && !stays(sign)) {
            return Cow::Borrowed(event);
        }
        let shown = event.chars().map(|sign| match sign {
            sign if !steers(sign) || stays(sign) => sign.to_string(),
            // All of them are of the basic plane: one unit of UTF-16.
            sign if self.json => format!("\\u{:04x}", u32::from(sign)),
            sign => format!("\\x{{{:02x}}}", u32::from(sign)),
        });
        Cow::Owned(shown.collect())
    }
}

fn level(usual: LevelFilter, more: u8, less: u8) -> LevelFilter {
    let at = STEPS.iter().position(|step| *step == usual).unwrap_or(2);
    STEPS[(at + usize::from(more)).saturating_sub(usize::from(less)).min(STEPS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_steers_no_terminal_and_stays_json() {
        let hostile = "job \u{202e}gnp.exe\u{9b}31m\n";
        let shown = |json, color, text: &str| Careful { json, color }.shown(text).into_owned();
        assert_eq!(shown(false, false, hostile), "job \\x{202e}gnp.exe\\x{9b}31m\n");
        assert_eq!(shown(false, true, "\u{1b}[32mINFO\u{1b}[0m up\n"), "\u{1b}[32mINFO\u{1b}[0m up\n");
        let line = shown(true, true, "{\"job\":\"\u{202e}x\u{7f}\"}\n");
        assert_eq!(line, "{\"job\":\"\\u202ex\\u007f\"}\n");
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
    }

    #[test]
    fn each_v_and_each_q_is_one_step_and_the_ends_hold() {
        assert_eq!(level(LevelFilter::WARN, 0, 0), LevelFilter::WARN);
        assert_eq!(level(LevelFilter::WARN, 1, 0), LevelFilter::INFO);
        assert_eq!(level(LevelFilter::INFO, 0, 2), LevelFilter::ERROR);
        assert_eq!(level(LevelFilter::WARN, 9, 0), LevelFilter::TRACE);
        assert_eq!(level(LevelFilter::WARN, 0, 9), LevelFilter::OFF);
    }
}
