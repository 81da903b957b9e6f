//! The private server on which everybody is measured, and what it counts.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use hourhand_testkit::{Installation, Server, Shutdown};
use postgres::{Client, NoTls};

/// As a server is run: everything that is said to be durable is.
const SETTINGS: [(&str, &str); 4] =
    [("fsync", "on"), ("full_page_writes", "on"), ("shared_buffers", "128MB"), ("max_connections", "2000")];

/// The server.
#[derive(Debug)]
pub(crate) struct Ground {
    server: Mutex<Server>,
    /// Of its first database.
    url: String,
    version: String,
    counts_statements: bool,
    made: AtomicU32,
}

/// A database of it, for one fleet.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Its superuser's URL.
    pub(crate) url: String,
    /// Its name.
    pub(crate) name: String,
    /// Whether a transaction pooler stands between.
    pub(crate) pooled: bool,
}

impl Ground {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// If there is no PostgreSQL, or it does not start.
    pub(crate) fn start() -> Result<Self> {
        let installation = Installation::for_tests()?;
        let builder =
            || SETTINGS.iter().fold(Server::builder(&installation), |b, (name, value)| b.setting(name, value));
        // Not every installation brings the extension.
        let counting = builder().setting("shared_preload_libraries", "pg_stat_statements").start();
        let (server, counts_statements) = match counting {
            Ok(server) => (server, true),
            Err(_) => (builder().start()?, false),
        };
        let (version, url) = (installation.version().to_owned(), server.url());
        let ground = Self { version, url, server: Mutex::new(server), counts_statements, made: AtomicU32::new(0) };
        if counts_statements {
            ground.client()?.batch_execute("create extension pg_stat_statements")?;
        }
        Ok(ground)
    }

    /// PostgreSQL's version.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// An empty database.
    ///
    /// # Errors
    ///
    /// If the server refuses.
    pub(crate) fn place(&self) -> Result<Place> {
        let name = format!("bench_{}", self.made.fetch_add(1, Ordering::Relaxed));
        self.client()?.batch_execute(&format!("create database {name}"))?;
        Ok(Place { url: self.with(|server| server.url_for(&name)), name, pooled: false })
    }

    /// Statements begun in that database so far: every round trip, those that begin and end transactions too. Without
    /// `pg_stat_statements`, transactions.
    ///
    /// # Errors
    ///
    /// If the server refuses.
    pub(crate) fn statements(&self, place: &Place) -> Result<f64> {
        let sql = if self.counts_statements {
            "select coalesce(sum(calls), 0)::float8 from pg_stat_statements s join pg_database d on d.oid = s.dbid where datname = $1"
        } else {
            "select (xact_commit + xact_rollback)::float8 from pg_stat_database where datname = $1"
        };
        Ok(self.client()?.query_one(sql, &[&place.name])?.get(0))
    }

    /// Connections to that database now.
    ///
    /// # Errors
    ///
    /// If the server refuses.
    pub(crate) fn connections(&self, place: &Place) -> Result<f64> {
        let sql =
            "select count(*)::float8 from pg_stat_activity where datname = $1 and backend_type = 'client backend'";
        Ok(self.client()?.query_one(sql, &[&place.name])?.get(0))
    }

    /// Statements of hourhand's own in that database so far: each begins with a comment. The settings of a session, which go in one round
    /// trip and are many statements, are not among them.
    ///
    /// # Errors
    ///
    /// If the server refuses, or does not count statements.
    pub(crate) fn own_statements(&self, place: &Place) -> Result<f64> {
        let sql = "select coalesce(sum(calls) filter (where s.query like '--%'), 0)::float8 \
             from pg_stat_statements s join pg_database d on d.oid = s.dbid where datname = $1";
        Ok(self.client()?.query_one(sql, &[&place.name])?.get(0))
    }

    /// Sessions that were ever opened to that database, as far as they have said so: a session says it when it ends, at the latest.
    ///
    /// # Errors
    ///
    /// If the server refuses.
    pub(crate) fn sessions(&self, place: &Place) -> Result<f64> {
        let sql = "select sessions::float8 from pg_stat_database where datname = $1";
        Ok(self.client()?.query_one(sql, &[&place.name])?.get(0))
    }

    /// Stops the server, leaves it down for that long, and starts it again.
    ///
    /// # Errors
    ///
    /// If it does not stop or start.
    pub(crate) fn restart(&self, down: Duration) -> Result<()> {
        self.with(|server| {
            // One that does not end in time is killed: it is down as well, and has more to do when it starts.
            if let Err(error) = server.stop(Shutdown::Fast) {
                eprintln!("── {error:#}");
            }
            std::thread::sleep(down);
            server.start_again()
        })
    }

    /// Something is done with the server itself.
    pub(crate) fn with<T>(&self, what: impl FnOnce(&mut Server) -> T) -> T {
        what(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn client(&self) -> Result<Client> {
        Client::connect(&self.url, NoTls).context("the private server does not answer")
    }
}
