//! A call over TLS: to a service whose certificate this machine trusts, and to one whose it does not.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::serve::Listener;
use hourhand_testkit::Leash;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

use super::{Up, World};
use crate::command::hourhand;

struct Tls(TcpListener, TlsAcceptor);

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = self.0.accept().await.unwrap();
            // Who does not trust the certificate hangs up.
            if let Ok(stream) = self.1.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A service at `https://localhost:PORT`; its certificate, and its port.
async fn service() -> (String, u16) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let app = Router::new().fallback(async || "by TLS\n");
    let tls = Tls(listener, TlsAcceptor::from(Arc::new(config)));
    tokio::spawn(async move { axum::serve(tls, app).await.unwrap() });
    (made.cert.pem(), port)
}

/// A sidecar for which this file holds the certificates that the machine trusts.
fn up(world: &World, trusted: &str) -> Up {
    let file = world.home.path().join("trusted.pem");
    std::fs::write(&file, trusted).unwrap();
    let mut command = hourhand(["up", "--color", "never"]);
    command.current_dir(world.home.path()).env("SSL_CERT_FILE", &file);
    Up { process: Leash::new(world.home.path().join("log")).spawn(&command).unwrap() }
}

async fn first_end(trust_it: bool) -> (String, String, String) {
    let (world, (certificate, port)) = (World::new().await, service().await);
    world
        .configure(&format!("[job.sync]\nschedule = \"every 1s\"\nhttp = {{ url = \"https://localhost:{port}/\" }}\n"));
    let (another, _) = service().await;
    let _up = up(&world, if trust_it { &certificate } else { &another });
    world.first_end("sync").await
}

#[tokio::test]
async fn a_trusted_service_is_called() {
    let (outcome, error, output) = first_end(true).await;
    assert_eq!((outcome.as_str(), error.as_str(), output.as_str()), ("succeeded", "", "by TLS\n"));
}

#[tokio::test]
async fn a_service_that_nobody_vouches_for_is_not() {
    let (outcome, error, _) = first_end(false).await;
    assert_eq!(outcome, "failed");
    assert!(error.contains("TLS: ") && error.contains("certificate"), "{error}");
}
