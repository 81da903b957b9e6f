//! The servers to try, in order.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::error::{ConninfoError, Place, Problem};
use super::settings::Settings;

const DEFAULT_PORT: u16 = 5432;

/// One server to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) host: Host,
    pub(super) port: u16,
}

/// How to get to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// By a name (or numeric address) that is looked up, and that its certificate should bear.
    Name(String),
    /// By an address; the name, if there is one, is for the certificate and the password file.
    Address { address: IpAddr, name: Option<String> },
    /// Through a socket in this directory; never with TLS.
    Socket(PathBuf),
}

impl Endpoint {
    /// The host as a password file spells it.
    pub(super) fn passfile_host(&self, socket_directory: &Path) -> String {
        match &self.host {
            Host::Name(name) | Host::Address { name: Some(name), .. } => name.clone(),
            Host::Address { address, name: None } => address.to_string(),
            Host::Socket(directory) if directory == socket_directory => String::from("localhost"),
            Host::Socket(directory) => directory.display().to_string(),
        }
    }

    pub(super) fn is_socket(&self) -> bool {
        matches!(self.host, Host::Socket(_))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port;
        match &self.host {
            Host::Name(name) | Host::Address { name: Some(name), .. } if name.contains(':') => {
                write!(f, "[{name}]:{port}")
            }
            Host::Name(name) | Host::Address { name: Some(name), .. } => {
                write!(f, "{}:{port}", name.to_ascii_lowercase())
            }
            Host::Address { address: IpAddr::V6(address), name: None } => write!(f, "[{address}]:{port}"),
            Host::Address { address, name: None } => write!(f, "{address}:{port}"),
            Host::Socket(directory) => write!(f, "{}:{port}", directory.display()),
        }
    }
}

/// Puts hosts, addresses and ports together; nothing at all means the usual socket directory.
pub(super) fn all(settings: &Settings, socket_directory: &Path) -> Result<Vec<Endpoint>, ConninfoError> {
    let hosts = settings.items("host");
    let addresses = addresses(settings)?;
    let count = hosts.len().max(addresses.len()).max(1);
    if !hosts.is_empty() && !addresses.is_empty() && hosts.len() != addresses.len() {
        let problem = Problem::Counts { hosts: hosts.len(), others: addresses.len(), what: "addresses (hostaddr)" };
        return Err(ConninfoError::new(settings.place("hostaddr"), problem));
    }
    let ports = ports(settings)?;
    if ports.len() > 1 && ports.len() != count {
        let problem = Problem::Counts { hosts: count, others: ports.len(), what: "ports" };
        return Err(ConninfoError::new(settings.place("port"), problem));
    }
    let endpoint = |at: usize| {
        let name = hosts.get(at).copied().filter(|name| !name.is_empty());
        let address = addresses.get(at).copied().flatten();
        let host = host(name, address, socket_directory)
            .map_err(|problem| ConninfoError::new(settings.place("host"), problem))?;
        Ok(Endpoint { host, port: ports.get(at).or(ports.first()).copied().unwrap_or(DEFAULT_PORT) })
    };
    (0..count).map(endpoint).collect()
}

fn host(name: Option<&str>, address: Option<IpAddr>, socket_directory: &Path) -> Result<Host, Problem> {
    match (name, address) {
        (name, Some(address)) => Ok(Host::Address { address, name: name.map(str::to_owned) }),
        (None, None) => Ok(Host::Socket(socket_directory.to_owned())),
        (Some(name), None) if name.starts_with('/') => Ok(Host::Socket(PathBuf::from(name))),
        (Some(name), None) if name.starts_with('@') => {
            Err(Problem::Unsupported { name: "host", reason: "sockets without a file (abstract ones) are not reached" })
        }
        (Some(name), None) => Ok(Host::Name(name.to_owned())),
    }
}

fn addresses(settings: &Settings) -> Result<Vec<Option<IpAddr>>, ConninfoError> {
    let parse = |item: &str| match item {
        "" => Ok(None),
        item => item.parse().map(Some).map_err(|_| ConninfoError::new(settings.place("hostaddr"), Problem::Address)),
    };
    settings.items("hostaddr").into_iter().map(parse).collect()
}

fn ports(settings: &Settings) -> Result<Vec<u16>, ConninfoError> {
    let place = settings.place("port");
    let parse = |item: &str| match item.trim() {
        "" => Ok(DEFAULT_PORT),
        item => item.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
            let in_url = matches!(place, Place::Part(_));
            ConninfoError::new(place.clone(), Problem::Port { in_url })
        }),
    };
    settings.items("port").into_iter().map(parse).collect()
}
