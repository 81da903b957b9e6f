//! A connection of its own for each call: a job calls once an hour, a pool would have nothing to keep.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::Uri;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

/// How long to wait for a server to take the connection, and for TLS to be agreed on.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A connection, with TLS or without.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Why there is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotConnected {
    pub(super) why: String,
    /// The service may be away for a moment. Else somebody has to mend something.
    pub(super) transient: bool,
}

/// Connects to the host of a URL.
pub(super) async fn open(url: &Uri) -> Result<Box<dyn Stream>, NotConnected> {
    let late = |_| NotConnected { why: format!("no connection within {CONNECT_MAX:?}"), transient: true };
    timeout(CONNECT_MAX, open_unbounded(url)).await.map_err(late)?
}

async fn open_unbounded(url: &Uri) -> Result<Box<dyn Stream>, NotConnected> {
    let is_tls = url.scheme_str() == Some("https");
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let port = url.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let refused = |error: io::Error| NotConnected { why: format!("could not connect: {error}"), transient: true };
    let stream = TcpStream::connect((host, port)).await.map_err(refused)?;
    // Small requests, answered at once: nothing is gained by waiting for more to send.
    stream.set_nodelay(true).map_err(refused)?;
    if !is_tls {
        return Ok(Box::new(stream));
    }
    let broken = |why: String| NotConnected { why, transient: false };
    let name =
        ServerName::try_from(host.to_owned()).map_err(|_| broken(format!("TLS: {host:?} is no name of a host")))?;
    let connector = TlsConnector::from(tls().map_err(|why| broken(why.clone()))?);
    let agreed = connector.connect(name, stream).await;
    Ok(Box::new(agreed.map_err(|error| broken(format!("TLS: {error}")))?))
}

/// The certificates that this machine trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` say otherwise), read at the first need: they are
/// a megabyte of memory that most sidecars have no use for.
fn tls() -> Result<Arc<ClientConfig>, &'static String> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    CONFIG.get_or_init(read_tls).as_ref().map(Arc::clone)
}

fn read_tls() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(format!(
            "TLS: this machine trusts no certificates{why}: install ca-certificates, or set SSL_CERT_FILE"
        ));
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| format!("TLS: {error}"))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
