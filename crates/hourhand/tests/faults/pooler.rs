//! A real PgBouncer between the tests and a server.

use std::fmt::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use hourhand_testkit::{Account, Leash, Leashed, Server, Signal, eventually, private_directory};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// How it is set.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// `session` or `transaction`.
    pub mode: &'static str,
    pub round_robin: bool,
    pub pool_size: usize,
}

pub struct Pooler {
    process: Leashed,
    port: u16,
    setting: Setting,
    home: TempDir,
    server: String,
}

fn program() -> Result<PathBuf, String> {
    let usual = ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map(|place| PathBuf::from(place).join("pgbouncer"));
    usual.into_iter().find(|path| path.is_file()).ok_or_else(|| "pgbouncer is not installed".to_owned())
}

impl Pooler {
    /// Starts one in front of that server, or says why this machine has none.
    pub async fn start(server: &Server, setting: Setting) -> Result<Pooler, String> {
        let program = program()?;
        let account = Account::for_servers().map_err(|error| error.to_string())?;
        let home = private_directory(account.as_ref()).map_err(|error| error.to_string())?;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = databases_line(server);
        let file = home.path().join("pgbouncer.ini");
        write_settings(&file, port, &server, setting);
        if let Some(account) = &account {
            account.give(&file).unwrap();
        }
        let mut command = Command::new(program);
        command.arg(&file).current_dir(home.path());
        let leash = Leash::new(home.path().join("log")).signal(Signal::INT);
        let process = leash.account(account.as_ref()).litter(home.path()).spawn(&command).unwrap();
        let pooler = Pooler { process, port, setting, home, server };
        eventually(Duration::from_secs(10), async || {
            let url = pooler.url("pgbouncer");
            tokio_postgres::connect(&url, NoTls).await.map(drop).map_err(|error| format!("{error:?} {}", pooler.log()))
        })
        .await;
        Ok(pooler)
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// A client's session through it.
    pub async fn connect(&self, database: &str) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url(database), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.process.log()).unwrap_or_default()
    }

    /// Changes the mode under its clients, as an operator would who edits the file and reloads it.
    pub fn switch(&mut self, mode: &'static str) {
        self.setting.mode = mode;
        write_settings(&self.home.path().join("pgbouncer.ini"), self.port, &self.server, self.setting);
        self.process.signal(Signal::HUP);
    }
}

fn databases_line(server: &Server) -> String {
    let url = server.url();
    let password = url.split(':').nth(2).and_then(|rest| rest.split('@').next()).unwrap().to_owned();
    format!("* = host=127.0.0.1 port={} user=postgres password={password}", server.port())
}

fn write_settings(file: &std::path::Path, port: u16, server: &str, setting: Setting) {
    let mut text = format!("[databases]\n{server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n");
    writeln!(text, "unix_socket_dir =\nauth_type = any\npool_mode = {}", setting.mode).unwrap();
    writeln!(text, "default_pool_size = {}\nmax_client_conn = 500", setting.pool_size).unwrap();
    writeln!(text, "server_round_robin = {}\nadmin_users = postgres", u8::from(setting.round_robin)).unwrap();
    std::fs::write(file, text).unwrap();
}
