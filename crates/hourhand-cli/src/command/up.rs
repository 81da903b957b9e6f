//! `hourhand up`: the sidecar.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::config;
use crate::globals::Globals;
use crate::logging::LogFormat;
use crate::refusal::Refusal;
use crate::up::{self, Orders};

const EXAMPLES: &str = "\
Examples:
  # the jobs of ./hourhand.toml
  hourhand up
  # makes or upgrades the schema first
  hourhand up -c /etc/hourhand.toml --migrate
  # with /healthz, /livez and /metrics
  hourhand up --listen 127.0.0.1:9090

A small hourhand.toml:
  database_url = \"postgres://app@db.example/app\"

  [job.order-sync]
  schedule = \"@hourly\"
  command = [\"python\", \"manage.py\", \"sync_orders\"]

Signals: SIGHUP takes up a changed file (one with mistakes is refused, and the old one stays); SIGTERM and SIGINT let runs \
under way finish within shutdown_grace; a second one stops at once.";

/// Runs the jobs of a configuration file until it is told to stop: the sidecar.
///
/// Start it beside every copy of the service; each job runs on one of them. It starts with the database away, says so once, and
/// goes on trying.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Up {
    /// The configuration file.
    #[arg(short, long, value_name = "FILE", default_value = "hourhand.toml")]
    config: PathBuf,

    /// Serve health and metrics there, such as 127.0.0.1:9090.
    #[arg(long, value_name = "ADDR", value_parser = config::address)]
    listen: Option<SocketAddr>,

    /// How to write what is said on standard error.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,

    /// Make or upgrade the schema first.
    #[arg(long)]
    migrate: bool,
}

impl Up {
    pub(crate) fn run(self, globals: &Globals) -> Result<ExitCode, Refusal> {
        up::run(&Orders { config: self.config, listen: self.listen, migrate: self.migrate, globals: globals.clone() })
    }
}
