//! Verifies as much of a server's certificate as `sslmode` asks for.
//!
//! webpki, which rustls verifies with, is stricter than the OpenSSL that libpq verifies with. Three kinds of certificate
//! that PostgreSQL's own manual teaches to make would fail for that alone, and are let through here where libpq does so:
//!
//! * one that signed itself and stands in `sslrootcert` as its own authority (webpki: an authority is no server);
//! * one without `subjectAltName`, whose common name is the host's (webpki: a common name is no name);
//! * one of X.509 version 1, under modes that do not look at the certificate (webpki cannot read it).
//!
//! Invariant: whatever is not looked at, the handshake's signature is. Who shows a certificate has its key, or
//! channel binding would bind to nothing.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::{Certificate, Version};

/// What is verified of a certificate.
#[derive(Debug)]
pub(super) enum Check {
    Nothing,
    Chain(Trust),
    ChainAndName(Trust),
}

/// Whose signature counts.
#[derive(Debug)]
pub(super) struct Trust {
    pub(super) webpki: Arc<WebPkiServerVerifier>,
    pub(super) anchors: Vec<CertificateDer<'static>>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Verifier {
    check: Check,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(super) fn new(check: Check, provider: &CryptoProvider) -> Verifier {
        Verifier { check, algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = Shown { certificate, intermediates, host, now };
        if !matches!(self.check, Check::Nothing) {
            refuse_version_1(certificate)?;
        }
        match &self.check {
            Check::Nothing => {}
            Check::Chain(trust) => self.verify_chain(trust, &shown)?,
            Check::ChainAndName(trust) => {
                self.verify_chain(trust, &shown)?;
                verify_name(certificate, host)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        refuse_version_1(certificate)?;
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if ParsedCertificate::try_from(certificate).is_ok() {
            return verify_tls13_signature(message, certificate, signature, &self.algorithms);
        }
        // Of version 1: its key can be had all the same.
        let key = parse(certificate)?.tbs_certificate.subject_public_key_info.to_der().map_err(|_| unreadable())?;
        let key = SubjectPublicKeyInfoDer::from(key);
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// What the server showed, and to whom.
struct Shown<'a> {
    certificate: &'a CertificateDer<'a>,
    intermediates: &'a [CertificateDer<'a>],
    host: &'a ServerName<'a>,
    now: UnixTime,
}

impl Verifier {
    /// Whether an authority that is trusted has signed, now and without having revoked it; whatever the name.
    fn verify_chain(&self, trust: &Trust, shown: &Shown<'_>) -> Result<(), Error> {
        if trust.anchors.iter().any(|anchor| anchor == shown.certificate) {
            return verify_validity(shown.certificate, shown.now);
        }
        let verified =
            trust.webpki.verify_server_cert(shown.certificate, shown.intermediates, shown.host, &[], shown.now);
        match verified {
            Ok(_) => Ok(()),
            // The name is webpki's last question (a test holds it to that), so the chain is good and not revoked. That
            // the chain is good is asked once more: it must not hang on an order that nobody promised.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => verify_server_cert_signed_by_trust_anchor(
                &ParsedCertificate::try_from(shown.certificate)?,
                &roots(&trust.anchors),
                shown.intermediates,
                shown.now,
                self.algorithms.all,
            ),
            Err(error) => Err(error),
        }
    }
}

fn roots(anchors: &[CertificateDer<'static>]) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(anchors.iter().cloned());
    roots
}

/// A certificate of the first version can be neither verified nor, before TLS 1.3, talked with.
#[derive(Debug, thiserror::Error)]
#[error(
    "it is of X.509 version 1, which cannot be verified; make it anew with a subjectAltName, then it is of version 3"
)]
struct VersionOne;

fn refuse_version_1(certificate: &CertificateDer<'_>) -> Result<(), Error> {
    if parse(certificate)?.tbs_certificate.version == Version::V1 {
        return Err(CertificateError::Other(OtherError(Arc::new(VersionOne))).into());
    }
    Ok(())
}

/// Whether the certificate has begun and not ended.
fn verify_validity(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let validity = parse(certificate)?.tbs_certificate.validity;
    if now.as_secs() < validity.not_before.to_unix_duration().as_secs() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now.as_secs() > validity.not_after.to_unix_duration().as_secs() {
        return Err(CertificateError::Expired.into());
    }
    Ok(())
}

/// Whether the certificate is made out to the host: by its alternative names, or, only if it has none of the host's kind
/// (name or address), by its common name (RFC 6125 §6.4.4, and libpq).
fn verify_name(certificate: &CertificateDer<'_>, host: &ServerName<'_>) -> Result<(), Error> {
    let parsed = parse(certificate)?;
    let alternatives = parsed.tbs_certificate.get::<SubjectAltName>().map_err(|_| unreadable())?;
    let by_address = matches!(host, ServerName::IpAddress(_));
    let alternatives: Vec<String> = alternatives
        .iter()
        .flat_map(|(_, names)| names.0.iter())
        .filter(|name| matches!(name, GeneralName::IpAddress(_)) == by_address)
        .filter_map(host_name)
        .collect();
    let (names, matches) = if alternatives.is_empty() {
        let names = common_names(&parsed);
        let matches = names.iter().any(|name| is_for(name, &host.to_str()));
        (names, matches)
    } else {
        (alternatives, verify_server_name(&ParsedCertificate::try_from(certificate)?, host).is_ok())
    };
    if matches {
        return Ok(());
    }
    Err(CertificateError::NotValidForNameContext { expected: host.to_owned(), presented: names }.into())
}

/// The name, if it is one that a host can have.
fn host_name(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.to_string()),
        GeneralName::IpAddress(address) => {
            let bytes = address.as_bytes();
            let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
            v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

fn common_names(certificate: &Certificate) -> Vec<String> {
    let parts = certificate.tbs_certificate.subject.0.iter().flat_map(|part| part.0.iter());
    parts
        .filter(|attribute| attribute.oid == COMMON_NAME)
        .filter_map(|attribute| std::str::from_utf8(attribute.value.value()).ok())
        .map(str::to_owned)
        .collect()
}

/// Whether a common name is the host's; `*.` at its beginning stands for one label.
fn is_for(name: &str, host: &str) -> bool {
    let of_domain = |domain: &str| host.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(domain));
    name.eq_ignore_ascii_case(host) || name.strip_prefix("*.").is_some_and(of_domain)
}

fn parse(certificate: &CertificateDer<'_>) -> Result<Certificate, Error> {
    Certificate::from_der(certificate).map_err(|_| unreadable())
}

fn unreadable() -> Error {
    CertificateError::BadEncoding.into()
}
