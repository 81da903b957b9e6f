//! Where the orders lie: on a private PostgreSQL, or in a database of the demo's own on somebody's server.

use anyhow::{Context, Result, bail, ensure};
use hourhand_testkit::{Installation, SUPPORTED, Server};
use postgres::{Client, Config, NoTls};
use std::fs::File;
use std::io::Read;

const VARIABLE: &str = "DATABASE_URL";

/// The service's own role, which is no superuser: hourhand asks for nothing that its tables' owner may not do.
const ROLE: &str = "order_sync";

/// As strict as the database of the people who asked for this: no sync could keep a statement or a transaction open while
/// it waits for the feed.
const STRICT: [(&str, &str); 2] = [("statement_timeout", "30s"), ("idle_in_transaction_session_timeout", "60s")];

/// A database for the demo, gone with it.
pub(crate) struct Place {
    kind: Kind,
    /// For the demo's own session, which puts a trigger on the orders.
    pub(crate) owner_url: String,
    /// For the service.
    pub(crate) service_url: String,
}

enum Kind {
    Private(Box<Server>),
    /// On the server of this URL, the database of this name.
    Foreign(String, String),
}

impl Place {
    /// On the server that `DATABASE_URL` names, or else on a private one, found or fetched.
    pub(crate) fn find() -> Result<Self> {
        match std::env::var(VARIABLE) {
            Ok(url) if !url.is_empty() => Self::on(&url).with_context(|| {
                format!("{VARIABLE} names no server for the demo (without it, the demo starts a private one)")
            }),
            _ => Self::private(),
        }
    }

    fn private() -> Result<Self> {
        let installation = Installation::find_or_fetch(SUPPORTED)?;
        let server = Server::builder(&installation).start()?;
        let mut superuser = connect(&server.url())?;
        let password = password()?;
        superuser.batch_execute(&format!("create role {ROLE} login password '{password}'"))?;
        make(&mut superuser, ROLE, &format!("owner {ROLE}"))?;
        let service_url = format!("postgres://{ROLE}:{password}@127.0.0.1:{}/{ROLE}", server.port());
        Ok(Self { owner_url: server.url_for(ROLE), service_url, kind: Kind::Private(Box::new(server)) })
    }

    fn on(url: &str) -> Result<Self> {
        let name = format!("hourhand_demo_{}", std::process::id());
        let ours = with_database(url, &name)?;
        make(&mut connect(url)?, &name, "")?;
        Ok(Self { kind: Kind::Foreign(url.to_owned(), name), owner_url: ours.clone(), service_url: ours })
    }

    /// What it is, for a person.
    pub(crate) fn told(&self) -> String {
        match &self.kind {
            Kind::Private(server) => {
                let installation = server.installation();
                let (version, bin) = (installation.version(), installation.bin().display());
                format!("a private PostgreSQL {version} of {bin}, on port {}", server.port())
            }
            Kind::Foreign(_, name) => format!("database {name}, made for the demo on the server of {VARIABLE}"),
        }
    }

    /// The server's log, if it is ours.
    pub(crate) fn log(&self) -> Option<String> {
        match &self.kind {
            Kind::Private(server) => Some(server.log()),
            Kind::Foreign(..) => None,
        }
    }

    /// Fails if the server has ended by itself.
    pub(crate) fn ensure_up(&mut self) -> Result<()> {
        match &mut self.kind {
            Kind::Private(server) => ensure!(server.pid().is_some(), "the database server has ended by itself"),
            Kind::Foreign(..) => {}
        }
        Ok(())
    }
}

impl Drop for Place {
    /// A private server ends by itself.
    fn drop(&mut self) {
        let Kind::Foreign(url, name) = &self.kind else { return };
        let drop = format!("drop database if exists {name} with (force)");
        if let Err(error) = connect(url).and_then(|mut client| Ok(client.batch_execute(&drop)?)) {
            eprintln!("database {name} is left behind: {error:#}");
        }
    }
}

fn make(client: &mut Client, name: &str, more: &str) -> Result<()> {
    let version: i32 = client.query_one("select current_setting('server_version_num')::int", &[])?.get(0);
    ensure!(version >= 140_000, "PostgreSQL 14 or newer is needed, and this is {}", version / 10_000);
    client.batch_execute(&format!("create database {name} {more}")).context("no database can be made there")?;
    for (setting, value) in STRICT {
        client.batch_execute(&format!("alter database {name} set {setting} = '{value}'"))?;
    }
    Ok(())
}

pub(crate) fn connect(url: &str) -> Result<Client> {
    let mut config: Config = url.parse()?;
    config.application_name("xtask demo");
    Ok(config.connect(NoTls)?)
}

/// The URL with its path, which names the database, replaced.
fn with_database(url: &str, database: &str) -> Result<String> {
    let (place, parameters) = url.split_once('?').map_or((url, None), |(place, rest)| (place, Some(rest)));
    let Some((scheme @ ("postgres" | "postgresql"), rest)) = place.split_once("://") else {
        bail!("it is no postgres:// URL")
    };
    let host = rest.split('/').next().unwrap_or_default();
    let parameters = parameters.map(|parameters| format!("?{parameters}")).unwrap_or_default();
    Ok(format!("{scheme}://{host}/{database}{parameters}"))
}

fn password() -> Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).context("no randomness")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_of_a_url_is_replaced_and_all_else_is_kept() {
        let replaced = |url| with_database(url, "x").unwrap();
        assert_eq!(replaced("postgres://u:p@h:5/postgres"), "postgres://u:p@h:5/x");
        assert_eq!(replaced("postgresql://h"), "postgresql://h/x");
        assert_eq!(replaced("postgres:///a?host=/tmp/s"), "postgres:///x?host=/tmp/s");
    }

    #[test]
    fn what_is_no_url_of_a_postgres_is_refused() {
        for wrong in ["", "host=h dbname=d", "mysql://h/d"] {
            assert!(with_database(wrong, "x").is_err(), "{wrong:?} was taken");
        }
    }
}
