//! What the verifier makes of certificates, without a server.

use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error, RootCertStore};

use super::verifier::{Check, Trust, Verifier};

const NAME: &str = "db.example.com";
const OTHER: &str = "other.example.com";

/// Seconds since 1970: within, before and after the years in which the certificates below are valid.
const YEAR: u64 = 31_556_952;
const WITHIN: u64 = 55 * YEAR;
const BEFORE: u64 = 40 * YEAR;
const AFTER: u64 = 70 * YEAR;

fn params(common_name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2030, 1, 1);
    params
}

struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = params(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Authority { certificate: params.self_signed(&key).unwrap().into(), issuer: Issuer::new(params, key) }
    }

    fn sign(&self, common_name: &str, names: &[&str]) -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        params(common_name, names).signed_by(&key, &self.issuer).unwrap().into()
    }
}

/// What a verifier says that trusts these anchors.
fn verify(
    check: fn(Trust) -> Check,
    anchor: &CertificateDer<'static>,
    shown: &CertificateDer<'static>,
    (host, seconds): (&'static str, u64),
) -> Result<(), CertificateError> {
    let provider = rustls::crypto::ring::default_provider();
    let mut roots = RootCertStore::empty();
    roots.add(anchor.clone()).unwrap();
    let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider.clone()));
    let trust = Trust { webpki: webpki.build().unwrap(), anchors: vec![anchor.clone()] };
    let verifier = Verifier::new(check(trust), &provider);
    let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    match verifier.verify_server_cert(shown, &[], &ServerName::try_from(host).unwrap(), &[], now) {
        Ok(_) => Ok(()),
        Err(Error::InvalidCertificate(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_chain_alone_is_enough_for_any_name_and_never_dispensed_with() {
    let (authority, stranger) = (Authority::new("one"), Authority::new("another"));
    let certificate = authority.sign("ignored", &[NAME]);
    assert_eq!(verify(Check::Chain, &authority.certificate, &certificate, (NAME, WITHIN)), Ok(()));
    assert_eq!(verify(Check::Chain, &authority.certificate, &certificate, (OTHER, WITHIN)), Ok(()));
    for host in [NAME, OTHER] {
        let verified = verify(Check::Chain, &stranger.certificate, &certificate, (host, WITHIN));
        assert_eq!(verified, Err(CertificateError::UnknownIssuer), "{host}");
    }
    let renewed = Authority::new("one");
    let verified = verify(Check::Chain, &renewed.certificate, &certificate, (OTHER, WITHIN));
    assert_eq!(verified, Err(CertificateError::BadSignature));
}

#[test]
fn a_certificate_counts_between_its_dates_also_where_the_name_is_wrong() {
    let authority = Authority::new("one");
    let own = self_signed();
    for (anchor, shown) in [(&authority.certificate, &authority.sign("ignored", &[NAME])), (&own, &own)] {
        for host in [NAME, OTHER] {
            let early = verify(Check::Chain, anchor, shown, (host, BEFORE));
            let late = verify(Check::Chain, anchor, shown, (host, AFTER));
            assert!(
                matches!(early, Err(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. })),
                "{early:?}"
            );
            assert!(
                matches!(late, Err(CertificateError::Expired | CertificateError::ExpiredContext { .. })),
                "{late:?}"
            );
        }
    }
}

fn self_signed() -> CertificateDer<'static> {
    let mut params = params(NAME, &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().into()
}

#[test]
fn a_certificate_that_signed_itself_counts_only_as_its_own_authority() {
    let (own, other) = (self_signed(), self_signed());
    assert_eq!(verify(Check::ChainAndName, &own, &own, (NAME, WITHIN)), Ok(()));
    assert!(verify(Check::ChainAndName, &own, &own, (OTHER, WITHIN)).is_err());
    assert!(verify(Check::Chain, &own, &other, (NAME, WITHIN)).is_err());
}

#[test]
fn a_name_is_an_alternative_one_or_else_the_common_name() {
    let authority = Authority::new("one");
    for (common_name, names, host, fits) in [
        ("ignored", &[NAME][..], NAME, true),
        ("ignored", &["*.example.com"], NAME, true),
        ("ignored", &["*.example.com"], "a.b.example.com", false),
        ("ignored", &["10.1.2.3"], "10.1.2.3", true),
        ("ignored", &["::1"], "::1", true),
        (NAME, &[OTHER], NAME, false),
        ("10.1.2.3", &["10.1.2.4"], "10.1.2.3", false),
        (NAME, &["10.1.2.3"], NAME, true),
        (NAME, &[], NAME, true),
        ("DB.Example.Com", &[], NAME, true),
        ("*.example.com", &[], NAME, true),
        ("*.example.com", &[], "example.com", false),
        ("*.example.com", &[], "a.b.example.com", false),
        ("*", &[], NAME, false),
        ("10.1.2.3", &[], "10.1.2.3", true),
        ("db.example.com.evil.org", &[], NAME, false),
    ] {
        let shown = authority.sign(common_name, names);
        let verified = verify(Check::ChainAndName, &authority.certificate, &shown, (host, WITHIN));
        assert_eq!(verified.is_ok(), fits, "{common_name} {names:?} for {host}: {verified:?}");
    }
}
