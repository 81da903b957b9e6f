//! The parameters of libpq, and what becomes of each here.
//!
//! The list is that of PostgreSQL 18. What is not honoured is not passed over in silence either, unless leaving it out
//! changes nothing that the user could have meant.

use hourhand_core::near::distance;

/// One parameter of libpq.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// The environment variable that stands in for it.
    pub(super) variable: Option<&'static str>,
    pub(super) treatment: Treatment,
}

/// What becomes of a parameter that is set.
#[derive(Debug)]
pub(super) enum Treatment {
    /// It does what it does in libpq.
    Honoured,
    /// Nothing: it has no meaning for what we do.
    Idle,
    /// Nothing, as long as it is one of these values; any other is refused for the reason.
    Only(&'static [&'static str], &'static str),
    /// It asks for something that cannot be given, and to do without would not be what was asked for.
    Refused(&'static str),
}

use Treatment::{Honoured, Idle, Only, Refused};

const fn parameter(name: &'static str, variable: Option<&'static str>, treatment: Treatment) -> Parameter {
    Parameter { name, variable, treatment }
}

/// Every parameter, by name.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter("application_name", Some("PGAPPNAME"), Honoured),
    parameter("authtype", None, Idle),
    parameter("channel_binding", Some("PGCHANNELBINDING"), Honoured),
    // The protocol of tokio-postgres is always UTF-8.
    parameter("client_encoding", Some("PGCLIENTENCODING"), Idle),
    parameter("connect_timeout", Some("PGCONNECT_TIMEOUT"), Honoured),
    parameter("dbname", Some("PGDATABASE"), Honoured),
    parameter("fallback_application_name", None, Honoured),
    parameter("gssdelegation", Some("PGGSSDELEGATION"), Only(&["0"], GSSAPI)),
    parameter("gssencmode", Some("PGGSSENCMODE"), Only(&["disable", "prefer"], GSSAPI)),
    parameter("gsslib", Some("PGGSSLIB"), Idle),
    parameter("host", Some("PGHOST"), Honoured),
    parameter("hostaddr", Some("PGHOSTADDR"), Honoured),
    parameter("keepalives", None, Honoured),
    parameter("keepalives_count", None, Honoured),
    parameter("keepalives_idle", None, Honoured),
    parameter("keepalives_interval", None, Honoured),
    parameter("krbsrvname", Some("PGKRBSRVNAME"), Idle),
    parameter("load_balance_hosts", Some("PGLOADBALANCEHOSTS"), Honoured),
    parameter("max_protocol_version", Some("PGMAXPROTOCOLVERSION"), Idle),
    parameter("min_protocol_version", Some("PGMINPROTOCOLVERSION"), Only(&["3.0"], "protocol 3.0 is spoken")),
    parameter("oauth_client_id", None, Refused(OAUTH)),
    parameter("oauth_client_secret", None, Refused(OAUTH)),
    parameter("oauth_issuer", None, Refused(OAUTH)),
    parameter("oauth_scope", None, Refused(OAUTH)),
    parameter("options", Some("PGOPTIONS"), Honoured),
    parameter("passfile", Some("PGPASSFILE"), Honoured),
    parameter("password", Some("PGPASSWORD"), Honoured),
    parameter("port", Some("PGPORT"), Honoured),
    parameter("replication", None, Only(&["0", "no", "off", "false"], "it does not speak the replication protocol")),
    parameter("require_auth", Some("PGREQUIREAUTH"), Refused("use channel_binding=require to keep passwords safe")),
    parameter("requirepeer", Some("PGREQUIREPEER"), Refused("the user behind a socket is not checked")),
    parameter("requiressl", Some("PGREQUIRESSL"), Honoured),
    parameter("scram_client_key", None, Refused("give the password")),
    parameter("scram_server_key", None, Refused("give the password")),
    parameter("service", Some("PGSERVICE"), Honoured),
    parameter("servicefile", Some("PGSERVICEFILE"), Honoured),
    parameter("ssl_max_protocol_version", Some("PGSSLMAXPROTOCOLVERSION"), Honoured),
    parameter("ssl_min_protocol_version", Some("PGSSLMINPROTOCOLVERSION"), Honoured),
    parameter("sslcert", Some("PGSSLCERT"), Honoured),
    parameter("sslcertmode", Some("PGSSLCERTMODE"), Honoured),
    parameter("sslcompression", Some("PGSSLCOMPRESSION"), Idle),
    parameter("sslcrl", Some("PGSSLCRL"), Honoured),
    parameter(
        "sslcrldir",
        Some("PGSSLCRLDIR"),
        Refused("put the revocation lists into one file and name it in sslcrl"),
    ),
    parameter("sslkey", Some("PGSSLKEY"), Honoured),
    parameter("sslkeylogfile", None, Refused("it writes no secrets of a session to a file")),
    parameter("sslmode", Some("PGSSLMODE"), Honoured),
    parameter("sslnegotiation", Some("PGSSLNEGOTIATION"), Honoured),
    parameter("sslpassword", None, Refused("keys under a password cannot be read; name a key without one in sslkey")),
    parameter("sslrootcert", Some("PGSSLROOTCERT"), Honoured),
    parameter("sslsni", Some("PGSSLSNI"), Honoured),
    parameter("target_session_attrs", Some("PGTARGETSESSIONATTRS"), Honoured),
    parameter("tcp_user_timeout", None, Honoured),
    parameter("tty", None, Idle),
    parameter("user", Some("PGUSER"), Honoured),
];

const GSSAPI: &str = "it does not speak GSSAPI";
const OAUTH: &str = "it does not speak OAuth";

/// Parameters that other programs read from the same URLs. libpq refuses them too; we can say whose they are.
const FOREIGN: &[(&str, &str)] = &[
    ("binary_parameters", "Go pq's"),
    ("connection_limit", "Prisma's"),
    ("currentSchema", "JDBC's"),
    ("default_query_exec_mode", "pgx's"),
    ("pgbouncer", "Prisma's"),
    ("pool", "ActiveRecord's"),
    ("pool_max_conns", "pgx's"),
    ("pool_min_conns", "pgx's"),
    ("pool_mode", "PgBouncer's"),
    ("pool_timeout", "Prisma's"),
    ("prepareThreshold", "JDBC's"),
    ("prepared_statement_cache_size", "SQLAlchemy's"),
    ("prepared_statements", "ActiveRecord's"),
    ("schema", "Prisma's"),
    ("search_path", "pgx's"),
    ("socket_timeout", "Prisma's"),
    ("socketTimeout", "JDBC's"),
    ("sslaccept", "Prisma's"),
    ("sslidentity", "Prisma's"),
    ("ssl", "JDBC's"),
    ("statement-cache-capacity", "sqlx's"),
    ("statement_cache_mode", "pgx's"),
    ("statement_cache_size", "Prisma's"),
    ("supa", "Supabase's"),
    ("uselibpqcompat", "node-postgres's"),
    ("workaround", "Supabase's"),
];

/// The parameter of this name.
pub(super) fn find(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.name == name)
}

/// Whose parameter it is, if another program is known to read it.
pub(super) fn foreign(name: &str) -> Option<(&'static str, &'static str)> {
    FOREIGN.iter().find(|(foreign, _)| *foreign == name).copied()
}

/// The parameter that was probably meant, if one is near enough.
///
/// Near is: the same letters but for case, `-` and `_`, or at most a third of them mistyped.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    // A name is short; what is longer is no name, and the distance would cost its square.
    if name.len() > 40 {
        return None;
    }
    let plain = name.to_ascii_lowercase().replace(['-', '_'], "");
    if let Some((_, meant)) = OTHER_WORDS.iter().find(|(other, _)| *other == plain) {
        return Some(meant);
    }
    let (distance, nearest) = PARAMETERS
        .iter()
        .map(|parameter| (distance(&plain, &parameter.name.replace('_', "")), parameter.name))
        .min_by_key(|(distance, _)| *distance)?;
    (distance * 3 <= plain.len()).then_some(nearest)
}

/// What people write who know the thing by another word.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("database", "dbname"),
    ("db", "dbname"),
    ("hostname", "host"),
    ("keepalivesretries", "keepalives_count"),
    ("pass", "password"),
    ("pwd", "password"),
    ("server", "host"),
    ("timeout", "connect_timeout"),
    ("username", "user"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_stand_in_order_and_once() {
        assert!(PARAMETERS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn a_mistyped_name_leads_to_the_one_that_was_meant() {
        for (typed, meant) in [
            ("sslmod", "sslmode"),
            ("ssl_mode", "sslmode"),
            ("sslMode", "sslmode"),
            ("ssl-root-cert", "sslrootcert"),
            ("usr", "user"),
            ("hots", "host"),
            ("prot", "port"),
            ("pasword", "password"),
            ("aplication_name", "application_name"),
            ("connection_timeout", "connect_timeout"),
            ("keepalives_retries", "keepalives_count"),
            ("database", "dbname"),
        ] {
            assert_eq!(nearest(typed), Some(meant), "{typed}");
        }
        assert_eq!(nearest("colour"), None);
        assert_eq!(nearest(&"x".repeat(100_000)), None);
    }
}
