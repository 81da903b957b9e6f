//! Reads certificates and keys, and makes rustls's configuration of them.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use super::failure::TlsError;
use super::verifier::{Check, Trust, Verifier};
use super::{Roots, Source, SslMode, TlsPolicy, Version};

/// What a server is told that is greeted with TLS at once: several protocols may share the port.
const ALPN: &[u8] = b"postgresql";

/// A configuration that verifies nothing and shows nothing.
pub(super) fn plain_config() -> Result<ClientConfig, TlsError> {
    let provider = provider();
    let verifier = Verifier::new(Check::Nothing, &provider);
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(TlsError::Provider)?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

/// The configuration that the policy asks for.
pub(super) fn client_config(policy: &TlsPolicy) -> Result<ClientConfig, TlsError> {
    let provider = provider();
    let check = check(policy, &provider)?;
    let verifier = Arc::new(Verifier::new(check, &provider));
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&versions(policy)).map_err(TlsError::Provider)?;
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config =
        match identity(policy)? {
            None => builder.with_no_client_auth(),
            Some((chain, key, path)) => builder.with_client_auth_cert(chain, key).map_err(|error| {
                TlsError::Unusable { what: CERTIFICATE, path: path.to_owned(), wanted: "certificate", error }
            })?,
        };
    config.enable_sni = policy.tell_name;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

const CERTIFICATE: &str = "the client's certificate (sslcert)";
const KEY: &str = "the client's key (sslkey)";
const ROOTS: &str = "the file of trusted authorities (sslrootcert)";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn versions(policy: &TlsPolicy) -> Vec<&'static SupportedProtocolVersion> {
    let (oldest, newest) = policy.versions;
    [(Version::Tls13, &rustls::version::TLS13), (Version::Tls12, &rustls::version::TLS12)]
        .into_iter()
        .filter(|(version, _)| (oldest..=newest).contains(version))
        .map(|(_, supported)| supported)
        .collect()
}

/// What has to be checked, by the mode and by the files that are there.
fn check(policy: &TlsPolicy, provider: &Arc<CryptoProvider>) -> Result<Check, TlsError> {
    let file = match &policy.roots {
        Roots::System => return Ok(Check::ChainAndName(trust(system_roots()?, policy, provider)?)),
        Roots::File(source) => source.as_ref(),
    };
    let anchors = match file {
        Some(source) => read(ROOTS, &source.path)?,
        None => None,
    };
    let named = file.filter(|source| source.named).map(|source| source.path.clone());
    match (anchors, policy.mode) {
        (Some(pem), mode) => {
            let path = file.map(|source| source.path.clone()).unwrap_or_default();
            let anchors = certificates(&pem).filter(|anchors| !anchors.is_empty()).ok_or(TlsError::Empty {
                what: ROOTS,
                path,
                wanted: "certificate",
            })?;
            let trust = trust(anchors, policy, provider)?;
            Ok(if mode == SslMode::VerifyFull { Check::ChainAndName(trust) } else { Check::Chain(trust) })
        }
        (None, SslMode::VerifyFull) if named.is_none() => {
            Ok(Check::ChainAndName(trust(system_roots()?, policy, provider)?))
        }
        (None, mode @ (SslMode::VerifyCa | SslMode::VerifyFull)) => {
            let path = named.or_else(|| file.map(|source| source.path.clone()));
            Err(TlsError::NoRoots { mode: mode.word(), path })
        }
        (None, SslMode::Disable | SslMode::Allow | SslMode::Prefer | SslMode::Require) => Ok(Check::Nothing),
    }
}

fn system_roots() -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() { Err(TlsError::NoSystemRoots) } else { Ok(found) }
}

fn trust(
    anchors: Vec<CertificateDer<'static>>,
    policy: &TlsPolicy,
    provider: &Arc<CryptoProvider>,
) -> Result<Trust, TlsError> {
    let mut roots = RootCertStore::empty();
    // One authority that cannot be read must not cost the others; without any, the next step says so.
    roots.add_parsable_certificates(anchors.iter().cloned());
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let (lists, path) = revocation_lists(policy)?;
    let webpki = builder.with_crls(lists).build().map_err(|error| match path {
        Some(path) => TlsError::Revocation { path: path.to_owned(), reason: error.to_string() },
        None => TlsError::Roots(error.to_string()),
    })?;
    Ok(Trust { webpki, anchors })
}

type Lists = Vec<CertificateRevocationListDer<'static>>;

fn revocation_lists(policy: &TlsPolicy) -> Result<(Lists, Option<&Path>), TlsError> {
    const LISTS: &str = "the revocation list (sslcrl)";
    let Some(source) = &policy.revoked else { return Ok((Vec::new(), None)) };
    let Some(pem) = needed(LISTS, source)? else { return Ok((Vec::new(), None)) };
    let lists: Result<Lists, _> = CertificateRevocationListDer::pem_slice_iter(&pem).collect();
    match lists {
        Ok(lists) if !lists.is_empty() => Ok((lists, Some(&source.path))),
        Ok(_) | Err(_) => Err(TlsError::Empty { what: LISTS, path: source.path.clone(), wanted: "revocation list" }),
    }
}

type Identity<'a> = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, &'a Path);

/// The certificate to show and its key, if there is one.
fn identity(policy: &TlsPolicy) -> Result<Option<Identity<'_>>, TlsError> {
    let Some((certificate, key)) = &policy.identity else { return Ok(None) };
    let Some(pem) = needed(CERTIFICATE, certificate)? else { return Ok(None) };
    let chain = certificates(&pem).filter(|chain| !chain.is_empty()).ok_or_else(|| TlsError::Empty {
        what: CERTIFICATE,
        path: certificate.path.clone(),
        wanted: "certificate",
    })?;
    let unreadable = |error| TlsError::Unreadable { what: KEY, path: key.path.clone(), error };
    let pem = fs::read(&key.path).map_err(unreadable)?;
    let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|_| TlsError::Empty {
        what: KEY,
        path: key.path.clone(),
        wanted: "private key without password",
    })?;
    Ok(Some((chain, key, &certificate.path)))
}

fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().ok()
}

/// The content of a file, which has to be there if it was named.
fn needed(what: &'static str, source: &Source) -> Result<Option<Vec<u8>>, TlsError> {
    match read(what, &source.path)? {
        None if source.named => {
            let error = io::Error::from(io::ErrorKind::NotFound);
            Err(TlsError::Unreadable { what, path: source.path.clone(), error })
        }
        content => Ok(content),
    }
}

/// The content of a file, if it is there.
fn read(what: &'static str, path: &Path) -> Result<Option<Vec<u8>>, TlsError> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(TlsError::Unreadable { what, path: path.to_owned(), error }),
    }
}
