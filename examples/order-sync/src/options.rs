//! The command line, and the environment that stands in for it.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hourhand::Schedule;

use crate::terms::{Terms, length};

/// Keeps a local copy of the orders of a slow, rate-limited outside service, and serves it.
#[derive(Debug, Parser)]
#[command(name = "order-sync", version)]
pub struct Options {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What order-sync can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the orders; one of all serving processes syncs them, every hour.
    Serve(ServeOptions),
    /// Sync now and end, from cron or a shell: the same sync under the same lock.
    /// Ends with 0: done, 1: failed, 75: somebody else is at it.
    Sync(SyncOptions),
    /// Make or upgrade the tables, this service's and hourhand's. Starts nothing.
    Migrate(DatabaseOptions),
}

/// `order-sync serve`
#[derive(Debug, Args)]
pub struct ServeOptions {
    /// Where to listen; port 0 takes a free one. The address is the one line on standard output.
    #[arg(long, env = "ORDER_SYNC_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Whether this process may run the sync. Off, it serves all the same.
    #[arg(long, env = "ORDER_SYNC_SCHEDULER", value_enum, default_value_t = Switch::On)]
    pub scheduler: Switch,
    /// After the process's start, before its first run: keeps clear of health checks.
    #[arg(long, env = "ORDER_SYNC_START_DELAY", default_value = "90s", value_parser = length)]
    pub start_delay: Duration,
    /// Connections for requests and for the sync's own writes. The scheduler has one of its own besides.
    #[arg(long, env = "ORDER_SYNC_POOL_SIZE", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub pool_size: u32,
    /// NAME:PASSWORD for the dashboard at /jobs. Without it, the dashboard is served on a loopback address only.
    #[arg(long, env = "ORDER_SYNC_DASHBOARD_USER", hide_env_values = true)]
    pub dashboard_user: Option<String>,
    /// The job and its scheduler.
    #[command(flatten)]
    pub job: JobOptions,
}

/// `order-sync sync`
#[derive(Debug, Args)]
pub struct SyncOptions {
    /// Sync once. The only way so far, and therefore to be asked for by name.
    #[arg(long, required = true)]
    pub once: bool,
    /// The job and its scheduler: the same as those of the serving processes, since it is the same job.
    #[command(flatten)]
    pub job: JobOptions,
}

/// The database.
#[derive(Debug, Clone, Args)]
pub struct DatabaseOptions {
    /// The service's PostgreSQL.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database_url: String,
}

/// The job: what all processes of the service have to agree on.
#[derive(Debug, Clone, Args)]
pub struct JobOptions {
    /// The database.
    #[command(flatten)]
    pub database: DatabaseOptions,
    /// The outside order service. Without it the orders are served but not synced.
    #[arg(long, env = "FEED_URL", hide_env_values = true)]
    pub feed_url: Option<String>,
    /// How often it may be called.
    #[command(flatten)]
    pub terms: Terms,
    /// The longest a call of the feed may take.
    #[arg(long, env = "FEED_CALL_MAX", default_value = "10s", value_parser = length)]
    pub call_max: Duration,
    /// How long to wait for a feed that asks for rest before the run fails, for a later one to go on.
    #[arg(long, env = "FEED_PATIENCE", default_value = "2m", value_parser = length)]
    pub patience: Duration,
    /// When to sync: a cron expression, @hourly, or `every 90s`.
    #[arg(long, env = "ORDER_SYNC_SCHEDULE", default_value = "@hourly", value_parser = schedule)]
    pub schedule: Schedule,
    /// How far each window reaches back into the one before: longer than an order can be late, and than the clocks of feed
    /// and database can differ.
    #[arg(long, env = "ORDER_SYNC_LOOKBACK", default_value = "10m", value_parser = length)]
    pub lookback: Duration,
    /// How far back the very first window reaches: three years.
    #[arg(long, env = "ORDER_SYNC_INITIAL_WINDOW", default_value = "26280h", value_parser = length)]
    pub initial_window: Duration,
    /// The longest a run may take. What it has saved stays, and the next one goes on from there.
    #[arg(long, env = "ORDER_SYNC_TIMEOUT", default_value = "50m", value_parser = length)]
    pub timeout: Duration,
    /// How long a dead process may keep its lock, at most.
    #[arg(long, env = "ORDER_SYNC_TTL", default_value = "15s", value_parser = length)]
    pub ttl: Duration,
    /// This process's name, shown to people.
    #[arg(long, env = "ORDER_SYNC_NODE", default_value_t = default_node())]
    pub node: String,
}

impl JobOptions {
    /// The feed's address; an empty one is none.
    pub fn feed_url(&self) -> Option<&str> {
        self.feed_url.as_deref().filter(|url| !url.trim().is_empty())
    }
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// On
    On,
    /// Off
    Off,
}

fn schedule(text: &str) -> Result<Schedule, String> {
    Schedule::parse(text, "UTC").map_err(|error| error.to_string())
}

fn default_node() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "localhost".to_owned());
    format!("{host}/{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn the_help_shows_no_secret() {
        let mut command = Options::command();
        for name in ["serve", "sync", "migrate"] {
            let help = command.find_subcommand_mut(name).unwrap().render_long_help().to_string();
            assert!(help.contains("DATABASE_URL"));
            assert!(!help.contains("DATABASE_URL=") && !help.contains("FEED_URL="), "{help}");
        }
    }

    #[test]
    fn an_empty_feed_url_is_none() {
        let parse = |url: &str| {
            let options = Options::parse_from(["order-sync", "serve", "--database-url", "d", "--feed-url", url]);
            let Command::Serve(serve) = options.command else { panic!("not serve") };
            serve.job.feed_url().map(str::to_owned)
        };
        assert_eq!(parse(""), None);
        assert_eq!(parse("http://feed"), Some("http://feed".to_owned()));
    }
}
