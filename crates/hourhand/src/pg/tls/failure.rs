//! What goes wrong with TLS, in words that say what would be right.

use std::fmt;
use std::io;
use std::path::PathBuf;

use rustls::CertificateError;

/// Why TLS cannot be set up: the files it needs are not as they should be.
///
/// Contents of files are not repeated: one of them is a private key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("{what} {} cannot be read: {error}", .path.display())]
    Unreadable { what: &'static str, path: PathBuf, error: io::Error },
    #[error("{what} {} has no {wanted} in PEM form in it", .path.display())]
    Empty { what: &'static str, path: PathBuf, wanted: &'static str },
    #[error("{what} {} has a {wanted} in it that cannot be used: {error}", .path.display())]
    Unusable { what: &'static str, path: PathBuf, wanted: &'static str, error: rustls::Error },
    #[error("the revocation list {} cannot be used: {reason}", .path.display())]
    Revocation { path: PathBuf, reason: String },
    #[error("sslmode={mode} needs a file of trusted authorities: {}", missing_roots(.path, .mode))]
    NoRoots { mode: &'static str, path: Option<PathBuf> },
    #[error(
        "this system trusts no authorities that could be found (the package ca-certificates brings them); \
         name a file in sslrootcert"
    )]
    NoSystemRoots,
    #[error("the trusted authorities cannot be used: {0}")]
    Roots(String),
    #[error("the cryptography is not available: {0}")]
    Provider(rustls::Error),
}

fn missing_roots(path: &Option<PathBuf>, mode: &str) -> String {
    let file = path.as_ref().map_or_else(
        || String::from("name one in sslrootcert"),
        |path| format!("{} is not there; name the right one in sslrootcert", path.display()),
    );
    let system = if mode == "verify-full" { ", or write sslrootcert=system to trust those of this system" } else { "" };
    format!("{file}{system}")
}

/// Why a server that agreed to TLS could not be talked to.
#[derive(Debug)]
pub(crate) struct HandshakeError {
    cause: io::Error,
}

impl HandshakeError {
    pub(super) fn new(cause: io::Error) -> HandshakeError {
        HandshakeError { cause }
    }

    fn rustls(&self) -> Option<&rustls::Error> {
        self.cause.get_ref().and_then(|error| error.downcast_ref())
    }

    /// Whether the network failed, not the talk: trying again may help.
    pub(crate) fn is_io(&self) -> bool {
        self.rustls().is_none() && self.cause.kind() != io::ErrorKind::InvalidInput
    }
}

impl std::error::Error for HandshakeError {}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rustls() {
            Some(rustls::Error::InvalidCertificate(error)) => {
                write!(f, "the certificate of the server is not accepted: {}", Complaint(error))
            }
            Some(error) => write!(f, "no agreement on tls: {error}"),
            None => write!(f, "tls broke off: {}", self.cause),
        }
    }
}

/// What is wrong with a certificate.
struct Complaint<'a>(&'a CertificateError);

impl fmt::Display for Complaint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            CertificateError::UnknownIssuer => {
                f.write_str("it is not signed by an authority that is trusted here (sslrootcert says which are)")
            }
            CertificateError::NotValidForNameContext { expected, presented } => {
                let names = if presented.is_empty() { String::from("no name") } else { presented.join(", ") };
                write!(f, "it is made out to {names}, not to {}", expected.to_str())
            }
            CertificateError::NotValidForName => f.write_str("it is made out to another name than the host's"),
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => f.write_str("it has expired"),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                f.write_str("it is not valid yet; is the clock of this machine right?")
            }
            CertificateError::BadSignature => f.write_str(
                "it is not signed with the key that its authority has in sslrootcert (has the authority been renewed?)",
            ),
            CertificateError::Revoked => f.write_str("it has been revoked"),
            CertificateError::UnknownRevocationStatus => {
                f.write_str("no revocation list says that it still counts (sslcrl needs one for each authority)")
            }
            CertificateError::Other(error) => write!(f, "{error}"),
            error => write!(f, "{error}"),
        }
    }
}
