//! A fresh database for one test.

use crate::installation::Installation;
use crate::server::Server;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_postgres::{Client, NoTls};

/// The variable that holds a superuser's URL of the server for [`Database`].
pub const URL_VARIABLE: &str = "HOURHAND_TEST_DATABASE_URL";

/// A name longer than 63 bytes would be cut, and two tests could share what is left.
const LABEL_LENGTH_MAX: usize = 40;

/// An empty database of its own, dropped with all its sessions when this is dropped.
///
/// Advisory locks belong to one database, so two tests with a database each never see each other's. Roles belong to the
/// whole server: name them after [`Database::name`].
///
/// Its methods panic instead of returning errors: there is nothing else a test could do.
#[derive(Debug)]
pub struct Database {
    server_url: String,
    name: String,
}

impl Database {
    /// Makes one on the server that `HOURHAND_TEST_DATABASE_URL` names. Without it, on one that this process starts at
    /// the first call and that ends with the process: `cargo xtask test` spares each test process that second.
    ///
    /// # Panics
    ///
    /// If there is no server, or it refuses.
    pub async fn create() -> Self {
        Self::create_on(std::env::var(URL_VARIABLE).unwrap_or_else(|_| own_server_url())).await
    }

    /// Makes one on the server of this superuser's URL: a private one, that is to be broken.
    ///
    /// # Panics
    ///
    /// If the server refuses.
    pub async fn create_on(server_url: impl Into<String>) -> Self {
        let (server_url, name) = (server_url.into(), fresh_name());
        let client = connect(&server_url).await;
        let made = client.batch_execute(&format!("create database \"{name}\"")).await;
        made.unwrap_or_else(|error| panic!("could not make database {name}: {}", told(&error)));
        Self { server_url, name }
    }

    /// Its name, unlike that of any other test.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The superuser's URL of it.
    pub fn url(&self) -> String {
        with_database(&self.server_url, &self.name)
    }

    /// A session of a superuser's, driven by the current runtime until it is dropped.
    ///
    /// # Panics
    ///
    /// If the server refuses it.
    pub async fn connect(&self) -> Client {
        connect(&self.url()).await
    }
}

impl Drop for Database {
    /// From a thread and runtime of its own: this one may be in the middle of anything, and must not wait in itself.
    fn drop(&mut self) {
        let (url, name) = (self.server_url.clone(), self.name.clone());
        let drop_it = move || -> anyhow::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
                tokio::spawn(connection);
                Ok(client.batch_execute(&format!("drop database if exists \"{name}\" with (force)")).await?)
            })
        };
        let ended = std::thread::spawn(drop_it).join();
        if let Ok(Err(error)) = ended {
            eprintln!("database {} is left behind: {error:#}", self.name);
        }
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .unwrap_or_else(|error| panic!("no session on the test server (see {URL_VARIABLE}): {}", told(&error)));
    tokio::spawn(connection);
    client
}

/// The error with its causes; tokio-postgres says no more than "db error" by itself.
fn told(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(found) = cause {
        text += &format!(": {found}");
        cause = found.source();
    }
    text
}

/// The server of this process alone. Nothing drops it: it is on a leash, and ends with the process.
fn own_server_url() -> String {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let start = || Installation::for_tests().and_then(|installation| Server::shared(&installation));
    let server = SERVER.get_or_init(|| {
        start().unwrap_or_else(|error| panic!("no server for tests: set {URL_VARIABLE}, or: {error:#}"))
    });
    server.url()
}

/// Starts with the test's name, so that a session in the server's log or in `pg_stat_activity` can be told to a test.
fn fresh_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let thread = std::thread::current();
    let test = thread.name().and_then(|name| name.rsplit("::").next()).unwrap_or("test");
    let label: String =
        test.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(LABEL_LENGTH_MAX).collect();
    format!("{label}_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The URL with its path, which names the database, replaced.
fn with_database(url: &str, database: &str) -> String {
    let (place, parameters) = url.split_once('?').map_or((url, None), |(place, rest)| (place, Some(rest)));
    let after_scheme = place.find("://").map_or(0, |at| at + 3);
    let end_of_host = place[after_scheme..].find('/').map_or(place.len(), |at| after_scheme + at);
    let parameters = parameters.map(|parameters| format!("?{parameters}")).unwrap_or_default();
    format!("{}/{database}{parameters}", &place[..end_of_host])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_of_a_url_is_replaced_wherever_it_stands() {
        assert_eq!(with_database("postgres://u:p@h:5/postgres", "x"), "postgres://u:p@h:5/x");
        assert_eq!(with_database("postgres://h", "x"), "postgres://h/x");
        assert_eq!(with_database("postgres://h/a?sslmode=disable", "x"), "postgres://h/x?sslmode=disable");
        assert_eq!(with_database("postgres:///a?host=/tmp/s", "x"), "postgres:///x?host=/tmp/s");
    }

    #[test]
    fn names_differ_and_fit() {
        let (one, other) = (fresh_name(), fresh_name());
        assert_ne!(one, other);
        assert!(one.starts_with("names_differ") && one.len() < 63, "{one}");
    }
}
