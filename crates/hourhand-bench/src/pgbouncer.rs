//! A real PgBouncer in transaction mode, in front of the private server.

use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hourhand_testkit::{Account, Leash, Leashed, Signal, private_directory};
use postgres::{Client, NoTls};
use tempfile::TempDir;

use crate::fleet::until;
use crate::ground::{Ground, Place};
use crate::machine;

/// A few server connections for all: what stays on one is soon somebody else's.
const POOL_SIZE: u32 = 4;

/// The pooler; it ends when this is dropped.
pub(crate) struct Pgbouncer {
    process: Leashed,
    port: u16,
    _home: TempDir,
}

impl Pgbouncer {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start.
    pub(crate) fn start(ground: &Ground) -> Result<Self> {
        let program = machine::pgbouncer().context("pgbouncer is not installed")?;
        let account = Account::for_servers()?;
        let home = private_directory(account.as_ref())?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let file = home.path().join("pgbouncer.ini");
        std::fs::write(&file, settings(port, &ground.with(|server| server.url())))?;
        if let Some(account) = &account {
            account.give(&file)?;
        }
        let mut command = Command::new(program);
        command.arg(&file).current_dir(home.path());
        let leash = Leash::new(home.path().join("log")).signal(Signal::INT);
        let process = leash.account(account.as_ref()).litter(home.path()).spawn(&command)?;
        let url = format!("postgres://postgres@127.0.0.1:{port}/pgbouncer");
        let answers = || Client::connect(&url, NoTls).ok();
        ensure!(until(Duration::from_secs(10), answers).is_some(), "pgbouncer does not answer");
        Ok(Self { process, port, _home: home })
    }

    /// The way to that database through it.
    pub(crate) fn place(&self, place: &Place) -> Place {
        let url = format!("postgres://postgres@127.0.0.1:{}/{}", self.port, place.name);
        Place { url, name: place.name.clone(), pooled: true }
    }

    /// Ends it.
    pub(crate) fn stop(&mut self) {
        self.process.kill();
    }
}

/// As usual; clients that set something at their start are let in, as those that do ask for in their documentation.
fn settings(port: u16, server: &str) -> String {
    let rest = server.split("://").nth(1).unwrap_or_default();
    let password = rest.split('@').next().and_then(|user| user.split(':').nth(1)).unwrap_or_default();
    let address = rest.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let (host, server_port) = address.split_once(':').unwrap_or((address, "5432"));
    format!(
        "[databases]\n* = host={host} port={server_port} user=postgres password={password}\n[pgbouncer]\n\
         listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n\
         ignore_startup_parameters = extra_float_digits,options\n\
         default_pool_size = {POOL_SIZE}\nmax_client_conn = 500\nserver_round_robin = 1\nadmin_users = postgres\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pooler_is_told_the_servers_address_and_password() {
        let of = |server: &str| settings(6543, server);
        let text = of("postgres://postgres:secret@127.0.0.1:5433/postgres");
        assert!(text.contains("* = host=127.0.0.1 port=5433 user=postgres password=secret\n"), "{text}");
        assert!(text.contains("listen_port = 6543\n") && text.contains("pool_mode = transaction\n"), "{text}");
        let text = of("postgres://postgres@localhost/postgres");
        assert!(text.contains("* = host=localhost port=5432 user=postgres password=\n"), "{text}");
    }
}
