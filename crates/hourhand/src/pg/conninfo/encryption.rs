//! Makes the policy for TLS out of the settings.

use super::environment::Environment;
use super::error::ConninfoError;
use super::settings::Settings;
use crate::pg::tls::{Roots, Source, SslMode, TlsPolicy, Version};

/// What the settings say about encryption; the usual files are those in `~/.postgresql`.
pub(super) fn policy(settings: &Settings, environment: &Environment) -> Result<TlsPolicy, ConninfoError> {
    let source = |name: &str, usual: &str| match settings.path(name) {
        Some(path) => Some(Source { path, named: true }),
        None => environment.at_home(".postgresql").map(|home| Source { path: home.join(usual), named: false }),
    };
    let roots = match settings.text("sslrootcert") {
        Some("system") => Roots::System,
        _ => Roots::File(source("sslrootcert", "root.crt")),
    };
    let shows_certificate = settings.choice("sslcertmode", &[("disable", false), ("allow", true)])?.unwrap_or(true);
    let certificate = source("sslcert", "postgresql.crt").zip(source("sslkey", "postgresql.key"));
    let policy = TlsPolicy {
        mode: mode(settings, &roots)?,
        roots,
        revoked: source("sslcrl", "root.crl"),
        identity: certificate.filter(|_| shows_certificate),
        tell_name: settings.number("sslsni")? != Some(0),
        versions: versions(settings)?,
        direct: settings.choice("sslnegotiation", &[("postgres", false), ("direct", true)])?.unwrap_or(false),
    };
    if policy.direct && policy.mode < SslMode::Require {
        let expected = String::from("postgres (direct needs sslmode=require, verify-ca or verify-full)");
        return Err(settings.wrong("sslnegotiation", expected));
    }
    Ok(policy)
}

/// The mode; with the authorities of the system it is `verify-full` and can be nothing less.
fn mode(settings: &Settings, roots: &Roots) -> Result<SslMode, ConninfoError> {
    let asked = match settings.choice("sslmode", &SslMode::WORDS)? {
        Some(mode) => Some(mode),
        // What sslmode was before PostgreSQL 8.
        None => settings.number("requiressl")?.filter(|number| *number == 1).map(|_| SslMode::Require),
    };
    match (roots, asked) {
        (Roots::System, None | Some(SslMode::VerifyFull)) => Ok(SslMode::VerifyFull),
        (Roots::System, Some(_)) => Err(settings.wrong(
            "sslmode",
            String::from("verify-full (sslrootcert=system allows no less: anybody can have a public certificate)"),
        )),
        (Roots::File(_), asked) => Ok(asked.unwrap_or(SslMode::Prefer)),
    }
}

fn versions(settings: &Settings) -> Result<(Version, Version), ConninfoError> {
    let newest = [("TLSv1.2", Version::Tls12), ("TLSv1.3", Version::Tls13)];
    // Older versions as the least are no wish for them.
    let oldest = [
        ("TLSv1", Version::Tls12),
        ("TLSv1.1", Version::Tls12),
        ("TLSv1.2", Version::Tls12),
        ("TLSv1.3", Version::Tls13),
    ];
    let oldest = settings.choice("ssl_min_protocol_version", &oldest)?.unwrap_or(Version::Tls12);
    let newest = settings.choice("ssl_max_protocol_version", &newest)?.unwrap_or(Version::Tls13);
    if oldest > newest {
        return Err(settings.wrong("ssl_max_protocol_version", String::from("a version at or above the least one")));
    }
    Ok((oldest, newest))
}
