//! What the library and we have to tell on the way: to standard error, never to standard output.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

use crate::globals::Globals;

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
    let subscriber = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter);
    // Fails only if somebody has set one before us: then that one tells.
    let _ = match format {
        LogFormat::Text => subscriber.with_ansi(color).with_target(false).try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
}

fn level(usual: LevelFilter, more: u8, less: u8) -> LevelFilter {
    let at = STEPS.iter().position(|step| *step == usual).unwrap_or(2);
    STEPS[(at + usize::from(more)).saturating_sub(usize::from(less)).min(STEPS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_v_and_each_q_is_one_step_and_the_ends_hold() {
        assert_eq!(level(LevelFilter::WARN, 0, 0), LevelFilter::WARN);
        assert_eq!(level(LevelFilter::WARN, 1, 0), LevelFilter::INFO);
        assert_eq!(level(LevelFilter::INFO, 0, 2), LevelFilter::ERROR);
        assert_eq!(level(LevelFilter::WARN, 9, 0), LevelFilter::TRACE);
        assert_eq!(level(LevelFilter::WARN, 0, 9), LevelFilter::OFF);
    }
}
