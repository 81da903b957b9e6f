//! What may be said with every subcommand: which database, how to speak.

use std::fmt;
use std::str::FromStr;

use anstream::ColorChoice;
use clap::{ArgAction, Args, ValueEnum};
use hourhand::Exclusion;
use hourhand_core::name::{NameError, Namespace};

use crate::refusal::Refusal;
use crate::secret::Secret;

/// The variables by which libpq finds a server without a URL.
const LIBPQ_VARIABLES: [&str; 6] = ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE"];

/// The options of all subcommands.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Globals {
    /// The database: postgres://user@host/name, or key=value pairs, as psql takes them; file:PATH reads it from a file.
    ///
    /// Without it: HOURHAND_DATABASE_URL, then DATABASE_URL, then the PG* variables. Other users of the machine can read a
    /// command line, but not the environment or a file: keep passwords there (or in ~/.pgpass). A password that is given here
    /// all the same is taken out of the process list as soon as the program runs (Linux).
    #[arg(long, global = true, value_name = "URL", env = "HOURHAND_DATABASE_URL", hide_env_values = true)]
    database: Option<Secret>,

    /// The schema of hourhand's tables.
    ///
    /// [default: hourhand]
    #[arg(long, global = true, value_name = "NAME", env = "HOURHAND_SCHEMA")]
    schema: Option<String>,

    /// The namespace of the lock keys, where several applications share a database.
    #[arg(long, global = true, value_name = "NAME", env = "HOURHAND_NAMESPACE")]
    namespace: Option<String>,

    /// Where sessions that hold locks connect to, past a transaction pooler; like --database.
    #[arg(long, global = true, value_name = "URL", env = "HOURHAND_SESSION_URL", hide_env_values = true)]
    session_url: Option<Secret>,

    /// How runs exclude each other.
    ///
    /// [default: session]
    #[arg(long, global = true, value_name = "KIND", value_enum)]
    exclusion: Option<ExclusionKind>,

    /// One JSON value on standard output, and nothing else there.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Say more on standard error; twice: still more.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Say less on standard error; twice: nothing but errors that end the command.
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "verbose")]
    pub(crate) quiet: u8,

    /// Colours; NO_COLOR is honoured.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", value_parser = ColorWhen::from_str)]
    pub(crate) color: ColorWhen,
}

/// `--exclusion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExclusionKind {
    /// A session lock, which comes free with its holder.
    Session,
    /// A lease, for those who have nothing but a transaction pooler.
    Lease,
}

/// `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColorWhen(ColorChoice);

impl FromStr for ColorWhen {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<ColorWhen, &'static str> {
        match word {
            "auto" => Ok(ColorWhen(ColorChoice::Auto)),
            "always" => Ok(ColorWhen(ColorChoice::Always)),
            "never" => Ok(ColorWhen(ColorChoice::Never)),
            _ => Err("auto, always or never"),
        }
    }
}

impl fmt::Display for ColorWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => "always",
            ColorChoice::Never => "never",
            ColorChoice::Auto => "auto",
        })
    }
}

impl ColorWhen {
    /// From here on both streams decide by it.
    pub(crate) fn write_global(self) {
        self.0.write_global();
    }
}

impl Globals {
    /// The database's URL; empty if the PG* variables say all.
    ///
    /// # Errors
    ///
    /// None is given anywhere, or its file can't be read.
    pub(crate) fn database_url(&self) -> Result<String, Refusal> {
        self.database_url_if_any()?.ok_or_else(|| {
            Refusal::wrong(
                "no database: give --database, HOURHAND_DATABASE_URL, DATABASE_URL or the PG* variables of psql\n\
                 (for example: export HOURHAND_DATABASE_URL=postgres://app@db.example/app)",
            )
        })
    }

    /// The database's URL, where one is given: for those who have another place to look.
    ///
    /// # Errors
    ///
    /// Its file can't be read.
    pub(crate) fn database_url_if_any(&self) -> Result<Option<String>, Refusal> {
        if let Some(given) = &self.database {
            return given.read("--database").map(Some).map_err(Refusal::wrong);
        }
        if let Ok(found) = std::env::var("DATABASE_URL")
            && !found.is_empty()
        {
            return Secret::from(found).read("DATABASE_URL").map(Some).map_err(Refusal::wrong);
        }
        let says_all = LIBPQ_VARIABLES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        Ok(says_all.then(String::new))
    }

    /// The database's URL as the command line or HOURHAND_DATABASE_URL says it, for those who read a file before they look further.
    ///
    /// # Errors
    ///
    /// Its file can't be read.
    pub(crate) fn database_given(&self) -> Result<Option<String>, Refusal> {
        self.database.as_ref().map(|given| given.read("--database")).transpose().map_err(Refusal::wrong)
    }

    /// The schema, if the command line or the environment says one: it comes before a file's.
    pub(crate) fn schema_given(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// The schema.
    pub(crate) fn schema(&self) -> &str {
        self.schema_given().unwrap_or("hourhand")
    }

    /// The kind of exclusion, if the command line says one: it comes before a file's.
    pub(crate) fn exclusion_given(&self) -> Option<Exclusion> {
        self.exclusion.map(|kind| match kind {
            ExclusionKind::Session => Exclusion::Session,
            ExclusionKind::Lease => Exclusion::Lease,
        })
    }

    /// Where sessions connect to, if not to the database URL.
    ///
    /// # Errors
    ///
    /// Its file can't be read.
    pub(crate) fn session_url(&self) -> Result<Option<String>, Refusal> {
        self.session_url.as_ref().map(|given| given.read("--session-url")).transpose().map_err(Refusal::wrong)
    }

    /// The namespace, checked.
    ///
    /// # Errors
    ///
    /// It breaks a rule.
    pub(crate) fn namespace(&self) -> Result<Option<Namespace>, Refusal> {
        let complaint = |error: NameError| Refusal::wrong(format!("--namespace: {error}"));
        self.namespace.as_deref().map(Namespace::parse).transpose().map_err(complaint)
    }

    /// The kind of exclusion.
    pub(crate) fn exclusion(&self) -> Exclusion {
        self.exclusion_given().unwrap_or(Exclusion::Session)
    }
}

/// A number of things to be shown.
///
/// # Errors
///
/// What would be one, as a sentence.
pub(crate) fn at_least_one(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|number| *number > 0).ok_or("it is no whole number from 1 on")
}
