//! A private PostgreSQL server: started in a directory of its own, broken at will, gone afterwards.
//!
//! The postmaster is started directly, not through `pg_ctl`, and held by a [`Leash`]: it ends with us even if we are
//! killed, and its directory with it. It is *ready* when its own `postmaster.pid` says so: that file names the process,
//! so another server that happens to listen on the port is never taken for it.
//!
//! Its port lies below the range from which systems take ports for outgoing connections. In that range a client that
//! keeps trying to reach a stopped server on this machine may be given the server's own port, and be connected to itself.

use crate::account::{Account, private_directory};
use crate::command::POLL_INTERVAL;
use crate::installation::Installation;
use crate::leash::{Leash, Leashed};
use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PORTS: Range<u16> = 20_000..32_000;
const PORT_TRIES_MAX: usize = 20;

/// How long initdb, a start or a stop may take on a busy machine; usually 0.5 s, 0.1 s and 0.1 s.
const INITDB_WITHIN: Duration = Duration::from_secs(60);
const READY_WITHIN: Duration = Duration::from_secs(60);
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// How many lines of its log a server shows when it is dropped by a panic.
const LOG_LINES_SHOWN: usize = 40;

/// What every server gets unless told otherwise: quick, as nothing in it has to outlast the machine, and in English.
const SETTINGS: [(&str, &str); 7] = [
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("jit", "off"),
    ("shared_buffers", "32MB"),
    ("max_connections", "100"),
    ("log_line_prefix", "%m [%p] %q%u@%d %a "),
    ("log_lock_waits", "on"),
];

/// How a server is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Ends all sessions and transactions, then itself, leaving nothing to recover.
    Fast,
    /// Ends everything at once, as if it had crashed: it recovers when it starts again.
    Immediate,
}

/// How to start a [`Server`]; made by [`Server::builder`].
#[derive(Debug)]
pub struct ServerBuilder {
    installation: Installation,
    settings: Vec<(String, String)>,
}

impl ServerBuilder {
    /// A setting as in `postgresql.conf`. The last one said of a name counts.
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Makes the data directory, starts the server and waits until it accepts connections. Blocks for about a second.
    ///
    /// # Errors
    ///
    /// If no directory or port can be had, or the server does not start; then with the last of its log.
    pub fn start(self) -> Result<Server> {
        let account = Account::for_servers()?;
        let home = private_directory(account.as_ref())?;
        let password = password()?;
        let mut server = Server {
            installation: self.installation,
            settings: self.settings,
            account,
            home,
            password,
            port: 0,
            process: None,
        };
        server.initdb()?;
        server.start_on_a_free_port()?;
        Ok(server)
    }
}

/// A running server of our own; ended, and its directory removed, when dropped.
///
/// Its methods block, most of them for a tenth of a second: in a test that needs its runtime meanwhile, use a
/// multi-threaded one. Dropped by a panic it shows the last of its log.
#[derive(Debug)]
pub struct Server {
    installation: Installation,
    settings: Vec<(String, String)>,
    account: Option<Account>,
    /// Ends before `home` is removed.
    process: Option<Leashed>,
    home: TempDir,
    password: String,
    port: u16,
}

impl Server {
    /// Starts a server with the usual settings.
    ///
    /// # Errors
    ///
    /// As [`ServerBuilder::start`].
    pub fn start(installation: &Installation) -> Result<Self> {
        Self::builder(installation).start()
    }

    /// Starts a server for many tests at once, each in a [`Database`](crate::Database) of its own.
    ///
    /// # Errors
    ///
    /// As [`ServerBuilder::start`].
    pub fn shared(installation: &Installation) -> Result<Self> {
        Self::builder(installation).setting("max_connections", "300").start()
    }

    /// A copy of this server that follows it: a hot standby, asynchronous, with the same settings on a port of its own. Blocks
    /// for some seconds.
    ///
    /// # Errors
    ///
    /// If the installation has no `pg_basebackup`, or copy or start fail.
    pub fn standby(&self) -> Result<Self> {
        let mut standby = Self {
            installation: self.installation.clone(),
            settings: self.settings.clone(),
            account: self.account.clone(),
            home: private_directory(self.account.as_ref())?,
            password: self.password.clone(),
            port: 0,
            process: None,
        };
        standby.copy(self)?;
        standby.start_on_a_free_port()?;
        Ok(standby)
    }

    /// Prepares a server whose settings differ.
    pub fn builder(installation: &Installation) -> ServerBuilder {
        let settings = SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        ServerBuilder { installation: installation.clone(), settings }
    }

    /// The superuser's URL of the database `postgres`. It holds a password, made for this server.
    pub fn url(&self) -> String {
        self.url_for("postgres")
    }

    /// The superuser's URL of another database.
    pub fn url_for(&self, database: &str) -> String {
        format!("postgres://postgres:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// The port on 127.0.0.1; it stays the same when the server is restarted.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the postmaster, if it is running.
    pub fn pid(&mut self) -> Option<u32> {
        self.running().map(|process| process.pid())
    }

    /// The directory that holds its data (`data`), its log (`log`) and its Unix socket, which asks for no password.
    ///
    /// All of it goes with the server. If we are killed, the server's user removes it: a directory made here by root has
    /// to be given to that user ([`Account::give`]), or it stays.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// What the server is.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// All that it has written to its log.
    pub fn log(&self) -> String {
        fs::read(self.log_path()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Stops it and starts it again.
    ///
    /// # Errors
    ///
    /// As [`Server::stop`] and [`Server::start_again`].
    pub fn restart(&mut self, shutdown: Shutdown) -> Result<()> {
        self.stop(shutdown)?;
        self.start_again()
    }

    /// Stops it, keeping its data. A frozen one is woken first.
    ///
    /// # Errors
    ///
    /// If it had to be killed.
    pub fn stop(&mut self, shutdown: Shutdown) -> Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        process.thaw();
        let signal = match shutdown {
            Shutdown::Fast => Signal::INT,
            Shutdown::Immediate => Signal::QUIT,
        };
        process.stop(signal, STOP_WITHIN)
    }

    /// Kills all its processes with `kill -9`, as a crash of its machine would.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts it again on the same port with the same data, after it was stopped or killed.
    ///
    /// # Errors
    ///
    /// If it does not start, with the last of its log, or is running already.
    pub fn start_again(&mut self) -> Result<()> {
        ensure!(self.running().is_none(), "the server on port {} is running already", self.port);
        self.spawn()?;
        self.await_ready()
    }

    /// Stops all its processes in mid-air: connections stay open, and nothing answers on them.
    pub fn freeze(&mut self) {
        if let Some(process) = self.running() {
            process.freeze();
        }
    }

    /// Wakes a frozen server.
    pub fn thaw(&mut self) {
        if let Some(process) = self.running() {
            process.thaw();
        }
    }

    fn running(&mut self) -> Option<&mut Leashed> {
        let process = self.process.as_mut()?;
        process.is_running().then_some(process)
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn log_path(&self) -> PathBuf {
        self.home.path().join("log")
    }

    /// Everybody on this machine can reach the port, so it asks for a password; the socket lies behind a closed door.
    fn initdb(&self) -> Result<()> {
        let secret = self.home.path().join("password");
        fs::write(&secret, &self.password)?;
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600))?;
        let mut initdb = self.installation.command("initdb");
        initdb.args(["--no-sync", "--encoding=UTF8", "--locale=C", "--username=postgres"]);
        initdb.args(["--auth-local=trust", "--auth-host=password", "--pwfile"]).arg(&secret);
        initdb.arg("--pgdata").arg(self.data()).current_dir(self.home.path());
        if let Some(account) = &self.account {
            account.give(&secret)?;
        }
        let mut initdb = self.leash(Signal::TERM).spawn(&initdb)?;
        let ended = initdb.wait(INITDB_WITHIN)?;
        ensure!(ended.is_some_and(|status| status.success()), "initdb failed; it said:\n{}", tail(&self.log()));
        fs::remove_file(&secret)?;
        Ok(())
    }

    fn copy(&self, primary: &Self) -> Result<()> {
        let bin = self.installation.bin();
        ensure!(bin.join("pg_basebackup").is_file(), "{} has no pg_basebackup", bin.display());
        let mut copy = self.installation.command("pg_basebackup");
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--username=postgres", "--no-password"]);
        copy.arg("--host").arg(primary.home()).args(["--port", &primary.port.to_string()]);
        copy.arg("--pgdata").arg(self.data()).current_dir(self.home.path());
        let ended = self.leash(Signal::TERM).spawn(&copy)?.wait(INITDB_WITHIN)?;
        ensure!(ended.is_some_and(|status| status.success()), "pg_basebackup failed; it said:\n{}", tail(&self.log()));
        Ok(())
    }

    fn start_on_a_free_port(&mut self) -> Result<()> {
        for _ in 0..PORT_TRIES_MAX {
            self.port = free_port()?;
            self.spawn()?;
            match self.await_ready() {
                Ok(()) => return Ok(()),
                // Somebody took the port between our look and its start: another, then.
                Err(_) if !is_free(self.port) => {}
                Err(error) => return Err(error),
            }
        }
        bail!("lost {PORT_TRIES_MAX} free ports to others before the server could take them")
    }

    fn spawn(&mut self) -> Result<()> {
        let mut postgres = self.installation.command("postgres");
        postgres.arg("-D").arg(self.data()).current_dir(self.home.path());
        let socket = format!("unix_socket_directories={}", self.home.path().display());
        let ours = ["listen_addresses=127.0.0.1".to_owned(), format!("port={}", self.port), socket];
        let theirs = self.settings.iter().map(|(name, value)| format!("{name}={value}"));
        for setting in ours.into_iter().chain(theirs) {
            postgres.args(["-c", &setting]);
        }
        self.process = Some(self.leash(Signal::QUIT).spawn(&postgres)?);
        Ok(())
    }

    fn leash(&self, signal: Signal) -> Leash<'_> {
        Leash::new(self.log_path()).signal(signal).litter(self.home.path()).account(self.account.as_ref())
    }

    fn await_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + READY_WITHIN;
        while !self.is_ready() {
            if self.running().is_none() {
                bail!("the server ended while it started; its log:\n{}", tail(&self.log()));
            }
            if Instant::now() >= deadline {
                bail!("the server was not ready within {READY_WITHIN:?}; its log:\n{}", tail(&self.log()));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// The first line of `postmaster.pid` is the process id, the eighth the status.
    fn is_ready(&mut self) -> bool {
        let Some(pid) = self.pid() else { return false };
        let Ok(text) = fs::read_to_string(self.data().join("postmaster.pid")) else { return false };
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        lines.first().is_some_and(|line| *line == pid.to_string())
            && lines.get(7).is_some_and(|status| matches!(*status, "ready" | "standby"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the last of the log of the server on port {}:\n{}", self.port, tail(&self.log()));
        }
        self.stop(Shutdown::Immediate).ok();
    }
}

fn free_port() -> Result<u16> {
    for _ in 0..PORT_TRIES_MAX {
        let [high, low] = random::<2>()?;
        let port = PORTS.start + u16::from_be_bytes([high, low]) % (PORTS.end - PORTS.start);
        if is_free(port) {
            return Ok(port);
        }
    }
    bail!("no free port was found between {} and {}", PORTS.start, PORTS.end)
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

fn password() -> Result<String> {
    Ok(random::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).context("no randomness")?;
    Ok(bytes)
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..].join("\n")
}
