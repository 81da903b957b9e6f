//! Connects: tries the servers in turn and ends with a session that is what was asked for.
//!
//! As in libpq the next server is tried when this one is away or of the wrong kind, and not when it refuses us: a wrong
//! password is wrong everywhere, and trying it on every server locks accounts. The one exception to "no second try" is
//! the change of encryption that `sslmode` `allow` and `prefer` stand for.
//!
//! Time: the caller's limit holds for all together. Each server has an equal part of it, whatever the ones before
//! used, and so has each address of a server: a dead first server never costs the second its turn.

use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::config::SslMode as Negotiation;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Notification, Socket};

use super::Conninfo;
use super::endpoint::{Endpoint, Host};
use super::failure::{Blame, ConnectError, Failure, Reason};
use super::passfile::{Lookup, Wanted};
use super::target::{Target, mismatch};
use crate::pg::tls::{Connector, Stream};

/// The half of a connection that moves the bytes. Nothing is sent or received unless [`Driver::run`] is polled.
#[must_use = "a session goes nowhere unless its driver is run"]
pub(crate) struct Driver {
    connection: Connection<Socket, Stream>,
}

impl Driver {
    /// Runs until the session ends: with an error if the server or the network ended it, without if the client was
    /// dropped. Dropping the future closes the socket.
    ///
    /// Notifications go into the channel. A notification is a hint that waits for nobody: while the channel is full,
    /// further ones are dropped, so that a slow reader does not hold up the answers to statements.
    pub(crate) async fn run(self, notifications: mpsc::Sender<Notification>) -> Result<(), tokio_postgres::Error> {
        self.run_and_hear(|notification| drop(notifications.try_send(notification))).await
    }

    /// The same, with something else to do about a notification.
    pub(crate) async fn run_and_hear(mut self, hear: impl Fn(Notification)) -> Result<(), tokio_postgres::Error> {
        while let Some(message) = poll_fn(|context| self.connection.poll_message(context)).await {
            match message? {
                AsyncMessage::Notification(notification) => hear(notification),
                AsyncMessage::Notice(notice) => tracing::debug!("postgresql says {notice}"),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Opens one session, within the limit.
///
/// `application_name` is what the session calls itself, unless the user gave it a name.
///
/// # Errors
///
/// If no server let us in. [`ConnectError`] says what happened at each and whether waiting helps. Dropping the future
/// closes whatever it had opened.
pub(crate) async fn connect(
    conninfo: &Conninfo,
    application_name: &str,
    limit: Duration,
) -> Result<(Client, Driver), ConnectError> {
    let mut search = Search::new(conninfo, application_name)?;
    let rounds = conninfo.target.rounds();
    let mut endpoints: Vec<&Endpoint> = conninfo.endpoints.iter().collect();
    if conninfo.shuffled {
        shuffle(&mut endpoints);
    }
    let turns = u32::try_from(rounds.len() * endpoints.len()).unwrap_or(u32::MAX);
    for target in rounds {
        search.failures.clear();
        for endpoint in &endpoints {
            match search.try_endpoint(endpoint, *target, limit / turns).await {
                Ok(session) => return Ok(session),
                Err(Blame::Server) => {}
                Err(Blame::Access | Blame::Config) => return Err(ConnectError::new(search.failures)),
            }
        }
    }
    Err(ConnectError::new(search.failures))
}

/// What is carried from one server to the next.
struct Search<'a> {
    conninfo: &'a Conninfo,
    config: Config,
    connector: Connector,
    failures: Vec<Failure>,
}

type Session = (Client, Driver);

impl<'a> Search<'a> {
    fn new(conninfo: &'a Conninfo, application_name: &str) -> Result<Search<'a>, ConnectError> {
        let connector = if conninfo.may_encrypt() { conninfo.tls.connector() } else { Connector::unverified() };
        let connector = connector.map_err(|error| {
            let (server, reason) = (conninfo.identity(), Reason::TlsSetup(error));
            ConnectError::new(vec![Failure { server, reason, hint: None }])
        })?;
        let mut config = conninfo.config.clone();
        if !conninfo.names_application {
            config.application_name(application_name);
        }
        Ok(Search { conninfo, config, connector, failures: Vec::new() })
    }

    /// Tries one server within its limit.
    async fn try_endpoint(&mut self, endpoint: &Endpoint, target: Target, limit: Duration) -> Result<Session, Blame> {
        let limit = self.conninfo.connect_timeout.map_or(limit, |own| own.min(limit));
        match timeout(limit, self.try_addresses(endpoint, target, limit)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.fail(endpoint.to_string(), Reason::TimedOut(limit))),
        }
    }

    /// Tries every address of one server.
    async fn try_addresses(&mut self, endpoint: &Endpoint, target: Target, limit: Duration) -> Result<Session, Blame> {
        let addresses = match self.addresses(endpoint).await {
            Ok(addresses) => addresses,
            Err(error) => return Err(self.fail(endpoint.to_string(), Reason::NoAddress(error))),
        };
        let (config, hint) = self.config_for(endpoint);
        let limit = limit / u32::try_from(addresses.len()).unwrap_or(u32::MAX);
        let mut blame = Blame::Server;
        for address in addresses {
            let server = match (&endpoint.host, address) {
                (Host::Name(name), Some(address)) if *name != address.to_string() => format!("{endpoint} [{address}]"),
                _ => endpoint.to_string(),
            };
            let config = at_address(&config, endpoint, address);
            blame = match timeout(limit, self.try_encryptions(&config, endpoint, target)).await {
                Ok(Ok(session)) => return Ok(session),
                Ok(Err(reasons)) => self.fail_with(&server, reasons, hint.as_deref()),
                Err(_) => self.fail(server, Reason::TimedOut(limit)),
            };
            if blame != Blame::Server {
                break;
            }
        }
        Err(blame)
    }

    /// The addresses of a server, at least one; `None` for a socket.
    async fn addresses(&self, endpoint: &Endpoint) -> std::io::Result<Vec<Option<IpAddr>>> {
        let name = match &endpoint.host {
            Host::Socket(_) => return Ok(vec![None]),
            Host::Address { address, .. } => return Ok(vec![Some(*address)]),
            Host::Name(name) => name,
        };
        let mut addresses = Vec::new();
        for found in tokio::net::lookup_host((name.as_str(), endpoint.port)).await? {
            if !addresses.contains(&Some(found.ip())) {
                addresses.push(Some(found.ip()));
            }
        }
        if addresses.is_empty() {
            return Err(std::io::Error::other("it has no address"));
        }
        if self.conninfo.shuffled {
            shuffle(&mut addresses);
        }
        Ok(addresses)
    }

    /// The configuration with the server's password, and what to say of it should the server not like it.
    fn config_for(&self, endpoint: &Endpoint) -> (Config, Option<String>) {
        let mut config = self.config.clone();
        config.port(endpoint.port).ssl_negotiation(self.conninfo.tls.negotiation());
        if config.get_password().is_some() {
            return (config, None);
        }
        let Some(passfile) = &self.conninfo.passfile else {
            return (config, Some(String::from("no password was given")));
        };
        let wanted = Wanted {
            host: &endpoint.passfile_host(&self.conninfo.socket_directory),
            port: endpoint.port,
            dbname: &self.conninfo.dbname,
            user: &self.conninfo.user,
        };
        let file = passfile.path.display();
        let hint = match passfile.look_up(&wanted) {
            Lookup::Found(password) => {
                config.password(password);
                format!("the password is the one in {file}")
            }
            Lookup::NoLine => format!("no password was given, and no line in {file} fits"),
            Lookup::NoFile => format!("no password was given, and there is no {file}"),
            Lookup::Ignored(why) => format!("no password was given, and {file} is ignored: {why}"),
        };
        (config, Some(hint))
    }

    /// Tries one address with and without encryption, as far as `sslmode` allows both.
    async fn try_encryptions(
        &self,
        config: &Config,
        endpoint: &Endpoint,
        target: Target,
    ) -> Result<Session, Vec<Reason>> {
        const NONE: &[Negotiation] = &[Negotiation::Disable];
        let ways = if endpoint.is_socket() { NONE } else { self.conninfo.tls.attempts() };
        let mut reasons = Vec::new();
        for way in ways {
            let mut config = config.clone();
            config.ssl_mode(*way);
            let connector = self.connector.fresh();
            match open(&config, connector.clone(), target).await {
                Ok(session) => {
                    let (encrypted, sslmode) = (connector.begun(), self.conninfo.tls.mode.word());
                    tracing::debug!(server = %endpoint, encrypted, sslmode, "connected to postgresql");
                    return Ok(session);
                }
                Err(reason) => {
                    // Without encryption begun, "prefer" has tried the other way already.
                    let other_way = *way == Negotiation::Disable || connector.begun();
                    let hopeless = !other_way || !reason.hopes_for_other_encryption();
                    reasons.push(reason);
                    if hopeless {
                        break;
                    }
                }
            }
        }
        Err(reasons)
    }

    fn fail(&mut self, server: String, reason: Reason) -> Blame {
        let blame = reason.blame();
        self.failures.push(Failure { server, reason, hint: None });
        blame
    }

    /// The same for several reasons, the last of which counts.
    fn fail_with(&mut self, server: &str, reasons: Vec<Reason>, hint: Option<&str>) -> Blame {
        let mut blame = Blame::Server;
        for reason in reasons {
            blame = reason.blame();
            let hint = hint.filter(|_| reason.is_about_password()).map(str::to_owned);
            self.failures.push(Failure { server: server.to_owned(), reason, hint });
        }
        blame
    }
}

/// The configuration for one address. The name goes along: the server's certificate is held against it.
fn at_address(config: &Config, endpoint: &Endpoint, address: Option<IpAddr>) -> Config {
    let mut config = config.clone();
    match &endpoint.host {
        Host::Socket(directory) => config.host_path(directory),
        Host::Name(name) | Host::Address { name: Some(name), .. } => config.host(name),
        Host::Address { address, name: None } => config.host(address.to_string()),
    };
    if let Some(address) = address {
        config.hostaddr(address);
    }
    config
}

/// Opens one session in one way, and sees whether it is what was asked for.
async fn open(config: &Config, connector: Connector, target: Target) -> Result<Session, Reason> {
    let required = config.get_ssl_mode() == Negotiation::Require;
    let reason = |error| Reason::of(error, connector.begun(), required);
    let (client, mut connection) = config.connect(connector.clone()).await.map_err(reason)?;
    match mismatch(target, &client, &mut connection).await.map_err(reason)? {
        None => Ok((client, Driver { connection })),
        Some(is) => Err(Reason::WrongKind { is, wanted: target }),
    }
}

/// Puts items in random order. The keys of std's hash maps are random, which is enough to share load.
fn shuffle<T>(items: &mut [T]) {
    let keys = RandomState::new();
    let mut at = 0_usize;
    items.sort_by_cached_key(|_| {
        at += 1;
        keys.hash_one(at)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffling_comes_to_every_order() {
        let mut firsts: Vec<u8> =
            (0..200).map(|_| [1, 2, 3]).map(|mut items| (shuffle(&mut items), items[0]).1).collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts, [1, 2, 3]);
    }
}
