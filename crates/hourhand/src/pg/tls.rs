//! Encryption of the session, as libpq does it.
//!
//! rustls verifies always; libpq verifies what it is told to. What `sslmode` means here is what it means to psql:
//!
//! | sslmode | encrypted | the certificate of the server |
//! | --- | --- | --- |
//! | `disable` | never | |
//! | `allow` | only if the server refuses us without | not looked at |
//! | `prefer` (if nothing is said) | if the server can | not looked at |
//! | `require` | always | not looked at |
//! | `verify-ca` | always | signed by an authority in `sslrootcert` |
//! | `verify-full` | always | so signed, and made out to the host's name |
//!
//! *Not looked at* keeps out listeners, not impostors. As in libpq a file of authorities that is there
//! (`sslrootcert`, or `~/.postgresql/root.crt`) raises the first rows to the checks of `verify-ca`.
//!
//! One thing differs on purpose: `verify-full` without any such file trusts the authorities that this system trusts, as
//! libpq does for `sslrootcert=system`. libpq refuses; but URLs of providers say `sslmode=verify-full` and no more, and
//! the check is no weaker. `verify-ca` needs its file: any stranger can have a certificate of a public authority.
//!
//! A socket in the file system is never encrypted, whatever is asked for. The cryptography is `ring`'s, given
//! explicitly: hourhand lives in processes that may have chosen, or not chosen, another one as their default.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::ClientConfig;
use tokio_postgres::Socket;
use tokio_postgres::config::{SslMode as Negotiation, SslNegotiation};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres_rustls::MakeRustlsConnect;

mod failure;
mod material;
mod verifier;

#[cfg(test)]
mod tests;

pub(crate) use failure::{HandshakeError, TlsError};

/// How much encryption is asked for; the words are libpq's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SslMode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl SslMode {
    /// Every mode by its word.
    pub(crate) const WORDS: [(&'static str, SslMode); 6] = [
        ("disable", SslMode::Disable),
        ("allow", SslMode::Allow),
        ("prefer", SslMode::Prefer),
        ("require", SslMode::Require),
        ("verify-ca", SslMode::VerifyCa),
        ("verify-full", SslMode::VerifyFull),
    ];

    pub(crate) fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, mode)| *mode == self).map_or("", |(word, _)| word)
    }
}

/// A file that TLS takes something from.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    /// Whether somebody asked for this file; else it is the usual one, which need not be there.
    pub(crate) named: bool,
}

/// Whose signature under a certificate counts.
#[derive(Debug, Clone)]
pub(crate) enum Roots {
    /// The authorities in a file.
    File(Option<Source>),
    /// The authorities that this system trusts.
    System,
}

/// How connections are encrypted and what is verified. Files are named here and read at each connection, so that
/// renewed certificates count without a restart.
#[derive(Debug, Clone)]
pub(crate) struct TlsPolicy {
    pub(crate) mode: SslMode,
    pub(crate) roots: Roots,
    /// Certificates that no longer count.
    pub(crate) revoked: Option<Source>,
    /// The certificate that this client shows, and its key.
    pub(crate) identity: Option<(Source, Source)>,
    /// Whether the host's name is told to the server, unencrypted (`sslsni`).
    pub(crate) tell_name: bool,
    /// The oldest and the newest version of TLS that may be spoken.
    pub(crate) versions: (Version, Version),
    /// Whether TLS begins without asking the server first (`sslnegotiation=direct`, PostgreSQL 17).
    pub(crate) direct: bool,
}

/// The versions of TLS that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    Tls12,
    Tls13,
}

impl TlsPolicy {
    /// Reads all that encryption needs and makes ready for connecting.
    ///
    /// # Errors
    ///
    /// If a file that is needed is missing or has something else in it. With `disable` no file is looked at.
    pub(crate) fn connector(&self) -> Result<Connector, TlsError> {
        if self.mode == SslMode::Disable {
            return Connector::unverified();
        }
        material::client_config(self).map(Connector::new)
    }

    /// The ways to try, in order; the next one only if the server's answer leaves hope for it.
    pub(crate) fn attempts(&self) -> &'static [Negotiation] {
        match self.mode {
            SslMode::Disable => &[Negotiation::Disable],
            SslMode::Allow => &[Negotiation::Disable, Negotiation::Require],
            SslMode::Prefer => &[Negotiation::Prefer, Negotiation::Disable],
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => &[Negotiation::Require],
        }
    }

    /// The file of authorities that was asked for, if it is not there and this mode does without it (as libpq does).
    pub(crate) fn missing_roots(&self) -> Option<&Path> {
        match &self.roots {
            Roots::File(Some(source)) if source.named && self.mode != SslMode::Disable => {
                Some(source.path.as_path()).filter(|path| self.mode < SslMode::VerifyCa && !path.exists())
            }
            Roots::File(_) | Roots::System => None,
        }
    }

    /// How TLS begins.
    pub(crate) fn negotiation(&self) -> SslNegotiation {
        if self.direct { SslNegotiation::Direct } else { SslNegotiation::Postgres }
    }
}

/// A stream to the server, encrypted or not.
pub(crate) type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// Begins TLS on a socket to the server; used for one attempt to connect.
///
/// It is `tokio-postgres-rustls` with two additions: errors keep their type, and it is known afterwards whether the
/// server agreed to TLS at all.
#[derive(Clone)]
pub(crate) struct Connector {
    rustls: MakeRustlsConnect,
    begun: Arc<AtomicBool>,
}

impl Connector {
    fn new(config: ClientConfig) -> Connector {
        Connector { rustls: MakeRustlsConnect::new(config), begun: Arc::default() }
    }

    /// For connections that will not be encrypted, where a connector is asked for all the same. Reads no file.
    pub(crate) fn unverified() -> Result<Connector, TlsError> {
        material::plain_config().map(Connector::new)
    }

    /// The same, for an attempt that has not begun.
    pub(crate) fn fresh(&self) -> Connector {
        Connector { rustls: self.rustls.clone(), begun: Arc::default() }
    }

    /// Whether the server agreed to TLS.
    pub(crate) fn begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Stream;
    type TlsConnect = Handshake;
    type Error = std::convert::Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, Self::Error> {
        let rustls = MakeTlsConnect::<Socket>::make_tls_connect(&mut self.rustls, host)?;
        Ok(Handshake { rustls, begun: Arc::clone(&self.begun) })
    }
}

/// One handshake that may come.
pub(crate) struct Handshake {
    rustls: <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect,
    begun: Arc<AtomicBool>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Stream;
    type Error = HandshakeError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, HandshakeError>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        self.begun.store(true, Ordering::Relaxed);
        let handshake = self.rustls.connect(socket);
        Box::pin(async move { handshake.await.map_err(|error: io::Error| HandshakeError::new(error)) })
    }
}
