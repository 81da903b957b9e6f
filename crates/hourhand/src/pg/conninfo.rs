//! Where to connect and how, as libpq would read it.
//!
//! People paste what their provider shows, what psql takes, or nothing at all because `PGHOST` and `.pgpass` say it.
//! tokio-postgres reads part of that and with other meanings (no variable, no file, `tcp_user_timeout` in seconds), so
//! this module reads it: [`Conninfo::parse`] turns text and [`Environment`] into a list of servers and one
//! configuration, [`connect`] tries the servers in order. What decides, from the strongest:
//!
//! 1. the connection string, a URL or `name=value` pairs ([`text`], [`url`]);
//! 2. the service it or `PGSERVICE` names ([`service`]);
//! 3. the environment ([`parameter`] has the variables);
//! 4. libpq's defaults: the socket directory, port 5432, the user's name for user and database;
//! 5. for the password alone, the password file ([`passfile`]), asked anew at each connection.
//!
//! Nothing goes into the start-up packet that the user did not put there, but for the application's name: poolers
//! refuse `options`.
//!
//! Invariant: no error, no `Debug` and no event contains a password or a piece of one ([`error`] says how). `Conninfo`
//! compares and shows itself by [`Conninfo::identity`] alone.

use std::fmt;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::ChannelBinding;

mod connect;
mod encryption;
mod endpoint;
mod environment;
mod error;
mod failure;
mod parameter;
mod passfile;
mod service;
mod settings;
mod target;
mod text;
mod url;

#[cfg(test)]
mod tests;

pub(crate) use connect::connect;
pub(crate) use environment::Environment;
pub(crate) use error::ConninfoError;
pub(crate) use failure::ConnectError;

use crate::pg::tls::TlsPolicy;
use endpoint::Endpoint;
use error::{Place, Problem};
use passfile::Passfile;
use settings::Settings;
use target::Target;

/// Where to connect and how.
///
/// Made once and used for every connection. Files it refers to (password file, certificates) are read at each
/// connection, so that what is renewed there counts.
#[derive(Clone)]
pub(crate) struct Conninfo {
    /// What is the same for all servers; it names none.
    config: Config,
    user: String,
    dbname: String,
    endpoints: Vec<Endpoint>,
    /// Whether the servers are tried in random order.
    shuffled: bool,
    target: Target,
    tls: TlsPolicy,
    passfile: Option<Passfile>,
    /// The directory whose sockets count as `localhost` in the password file.
    socket_directory: std::path::PathBuf,
    /// Whether the application's name was chosen by the user, who then keeps it.
    names_application: bool,
    /// The user's own limit for one attempt.
    connect_timeout: Option<Duration>,
}

impl Conninfo {
    /// Reads a connection string and completes it from the environment.
    ///
    /// The text may be empty: then the environment says all. Service file and certificates are read to find mistakes
    /// now and not at night; no name is looked up and nothing is sent.
    ///
    /// # Errors
    ///
    /// If a part cannot be read, a parameter is unknown or cannot be honoured, or a file that is needed is missing. The
    /// error says where and what would be right, and repeats nothing of the text.
    pub(crate) fn parse(text: &str, environment: &Environment) -> Result<Conninfo, ConninfoError> {
        let mut settings = text::read(text)?;
        service::apply(&mut settings, environment)?;
        settings.fill_from(environment)?;
        settings.refuse_unsupported()?;

        let user = settings.text("user").or(environment.user.as_deref());
        let user = user.ok_or(ConninfoError::new(Place::Default, Problem::NoUser))?.to_owned();
        let dbname = settings.text("dbname").unwrap_or(&user).to_owned();
        let endpoints = endpoint::all(&settings, &environment.socket_directory)?;
        let tls = encryption::policy(&settings, environment)?;
        let mut config = config(&settings)?;
        config.user(&user).dbname(&dbname);
        let conninfo = Conninfo {
            config,
            user,
            dbname,
            endpoints,
            shuffled: settings.choice("load_balance_hosts", &[("disable", false), ("random", true)])?.unwrap_or(false),
            target: settings.choice("target_session_attrs", Target::WORDS)?.unwrap_or(Target::Any),
            tls,
            passfile: passfile(&settings, environment),
            socket_directory: environment.socket_directory.clone(),
            names_application: application_name(&settings).is_some(),
            connect_timeout: settings.duration("connect_timeout", Duration::from_secs)?,
        };
        conninfo.check_tls(settings.place("sslmode"))?;
        Ok(conninfo)
    }

    /// Which database this is, for people and for comparison: `user@host:port,host:port/database`.
    ///
    /// Two strings that lead to the same servers, user and database have the same identity, however they are written.
    pub(crate) fn identity(&self) -> String {
        let hosts: Vec<String> = self.endpoints.iter().map(Endpoint::to_string).collect();
        format!("{}@{}/{}", self.user, hosts.join(","), self.dbname)
    }

    /// Whether a connection may be encrypted; sockets never are.
    fn may_encrypt(&self) -> bool {
        !self.endpoints.iter().all(Endpoint::is_socket)
    }

    /// Reads what TLS needs, to find mistakes early.
    fn check_tls(&self, place: Place) -> Result<(), ConninfoError> {
        if !self.may_encrypt() {
            return Ok(());
        }
        if let Some(path) = self.tls.missing_roots() {
            let (file, sslmode) = (path.display(), self.tls.mode.word());
            tracing::warn!("sslrootcert names {file}, which is not there: sslmode={sslmode} verifies no certificate");
        }
        self.tls.connector().map(drop).map_err(|error| ConninfoError::new(place, Problem::Tls(error)))
    }
}

impl fmt::Debug for Conninfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Conninfo").field(&self.identity()).finish()
    }
}

/// What is the same for all servers.
fn config(settings: &Settings) -> Result<Config, ConninfoError> {
    let mut config = Config::new();
    if let Some(password) = settings.text("password") {
        config.password(password);
    }
    if let Some(options) = settings.text("options") {
        config.options(options);
    }
    if let Some(name) = application_name(settings) {
        config.application_name(name);
    }
    let bindings = [
        ("disable", ChannelBinding::Disable),
        ("prefer", ChannelBinding::Prefer),
        ("require", ChannelBinding::Require),
    ];
    if let Some(binding) = settings.choice("channel_binding", &bindings)? {
        config.channel_binding(binding);
    }
    if let Some(keepalives) = settings.number("keepalives")? {
        config.keepalives(keepalives != 0);
    }
    if let Some(idle) = settings.duration("keepalives_idle", Duration::from_secs)? {
        config.keepalives_idle(idle);
    }
    if let Some(interval) = settings.duration("keepalives_interval", Duration::from_secs)? {
        config.keepalives_interval(interval);
    }
    if let Some(count) = settings.number("keepalives_count")?.and_then(|count| u32::try_from(count).ok()) {
        config.keepalives_retries(count);
    }
    // Milliseconds, as in libpq; tokio-postgres's own strings have seconds.
    if let Some(limit) = settings.duration("tcp_user_timeout", Duration::from_millis)? {
        config.tcp_user_timeout(limit);
    }
    Ok(config)
}

fn application_name(settings: &Settings) -> Option<&str> {
    settings.text("application_name").or(settings.text("fallback_application_name"))
}

fn passfile(settings: &Settings, environment: &Environment) -> Option<Passfile> {
    let path = settings.path("passfile").or_else(|| environment.at_home(".pgpass"))?;
    Some(Passfile { path })
}
