//! A server with TLS and rules for access, for all tests of this module.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use hourhand_testkit::{Account, Installation, Server};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage};

use super::super::{ConnectError, Conninfo, connect};

/// The name that the server's certificate is made out to.
pub(crate) const NAME: &str = "db.example.com";

/// The password of `app`.
pub(crate) const HOSTILE: &str = "a/b?c#d@e%f:g h";

/// Who may come in, and how.
const RULES: &str = "
    local     all           postgres                trust
    local     all           all                     scram-sha-256
    hostssl   all           only_tls        all     scram-sha-256
    hostnossl all           only_plain      all     scram-sha-256
    hostssl   all           certified       all     cert
    host      all           only_tls,only_plain,certified all reject
    host      all           all             all     scram-sha-256
";

/// An authority that signs certificates.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign, rcgen::KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate for these names, and its key, both as PEM.
    pub(crate) fn sign(&self, common_name: &str, names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, common_name);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    pub(crate) fn issuer(&self) -> &Issuer<'static, KeyPair> {
        &self.issuer
    }
}

/// A running server.
pub(crate) struct Live {
    pub(crate) server: Server,
    /// `ca.pem`, `other.pem`, `client.pem` and its key `client.key`; the server's own `server.pem` and `server.key`.
    pub(crate) files: PathBuf,
    /// Removes the files when this is dropped; a static is not.
    temporary: Option<TempDir>,
    tls: bool,
}

impl Live {
    /// The server for tests that break nothing. It may be of a build without TLS.
    pub(crate) fn shared() -> &'static Live {
        static LIVE: OnceLock<Live> = OnceLock::new();
        LIVE.get_or_init(|| Live::start(&Installation::for_tests().unwrap()).with_files_at_home())
    }

    /// The same, if it speaks TLS.
    pub(crate) fn shared_with_tls() -> Option<&'static Live> {
        Some(Live::shared()).filter(|live| live.speaks_tls())
    }

    /// A server with TLS for a test that changes it.
    pub(crate) fn own_with_tls(installation: &Installation) -> Option<Live> {
        Some(Live::start(installation)).filter(Live::speaks_tls)
    }

    /// Moves the files to where they are removed with the server, as a static is never dropped; it cannot be restarted then.
    fn with_files_at_home(mut self) -> Live {
        let home = self.server.home().join("tls");
        fs::create_dir(&home).unwrap();
        // It is the server's user who removes them.
        if let Some(account) = Account::for_servers().unwrap() {
            account.give(&home).unwrap();
        }
        for file in fs::read_dir(&self.files).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), home.join(file.file_name())).unwrap();
        }
        self.files = home;
        self.temporary = None;
        self
    }

    fn speaks_tls(&self) -> bool {
        if !self.tls {
            eprintln!("skipped: PostgreSQL {} is built without TLS here", self.server.installation().version());
        }
        self.tls
    }

    fn start(installation: &Installation) -> Live {
        let files = tempfile::Builder::new().prefix("hourhand-tls-").tempdir_in("/tmp").unwrap();
        fs::set_permissions(files.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let authority = Authority::new("the authority");
        write(files.path(), "ca.pem", &authority.pem);
        write(files.path(), "other.pem", &Authority::new("another authority").pem);
        let (certificate, key) = authority.sign("certified", &[]);
        write(files.path(), "client.pem", &certificate);
        write(files.path(), "client.key", &key);
        give_certificate(files.path(), &authority.sign("ignored", &[NAME]));
        write(files.path(), "rules", RULES);
        let path = |name: &str| files.path().join(name).display().to_string();
        let builder = || Server::builder(installation).setting("hba_file", &path("rules"));
        let with_tls = builder()
            .setting("ssl", "on")
            .setting("ssl_cert_file", &path("server.pem"))
            .setting("ssl_key_file", &path("server.key"))
            .setting("ssl_ca_file", &path("ca.pem"))
            .start();
        let (server, tls) = match with_tls {
            Err(error) if error.to_string().contains("SSL is not supported by this build") => {
                let rules: Vec<&str> = RULES.lines().filter(|rule| !rule.contains("hostssl")).collect();
                write(files.path(), "rules", &rules.join("\n"));
                (builder().start(), false)
            }
            started => (started, true),
        };
        Live { server: server.unwrap(), files: files.path().to_owned(), temporary: Some(files), tls }
    }

    /// Makes the roles and databases that the tests know, once.
    pub(crate) async fn furnish(&self) {
        let user = whoami::username().unwrap();
        let (client, connection) = tokio_postgres::connect(&self.server.url(), NoTls).await.unwrap();
        let furnished = async {
            let present = client.simple_query("select from pg_roles where rolname = 'app'").await?;
            if present.iter().any(|message| matches!(message, SimpleQueryMessage::Row(_))) {
                return Ok(());
            }
            let mut statements = vec![String::from("create database orders"), String::from("create database plain")];
            statements.push(format!("create role app login password '{HOSTILE}'"));
            for role in ["plain", "only_tls", "only_plain", "certified", &user] {
                if role != "postgres" {
                    statements.push(format!("create role \"{role}\" login password 'simple'"));
                }
            }
            if user != "postgres" {
                statements.push(format!("create database \"{user}\""));
            } else {
                statements.push(String::from("alter role postgres password 'simple'"));
            }
            for statement in statements {
                client.simple_query(&statement).await?;
            }
            Ok::<(), Error>(())
        };
        tokio::select! {
            done = furnished => done.unwrap(),
            ended = connection => panic!("the session ended: {ended:?}"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.files.join(name).display().to_string()
    }

    /// Gives the server another certificate; it counts from its next start.
    pub(crate) fn give_certificate(&self, pair: &(String, String)) {
        give_certificate(&self.files, pair);
    }
}

fn give_certificate(files: &Path, (certificate, key): &(String, String)) {
    for (name, content) in [("server.pem", certificate), ("server.key", key)] {
        let path = write(files, name, content);
        if let Some(account) = Account::for_servers().unwrap() {
            account.give(&path).unwrap();
        }
    }
}

fn write(files: &Path, name: &str, content: &str) -> PathBuf {
    let path = files.join(name);
    fs::write(&path, content).unwrap();
    let mode = if name.ends_with(".key") { 0o600 } else { 0o644 };
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// What a session is asked to tell how it came about.
pub(crate) const FACTS: &str = "
    select concat_ws('|', current_user, current_database(), coalesce(host(inet_server_addr()), 'socket'),
           inet_server_port(), (select ssl from pg_stat_ssl where pid = pg_backend_pid()),
           replace(replace(current_setting('application_name'), 'psql', '-'), 'hourhand', '-'),
           current_setting('work_mem'), current_setting('geqo'), current_setting('transaction_read_only'))";

/// Connects as hourhand does and asks.
pub(crate) async fn ask(conninfo: &Conninfo, query: &str) -> Result<String, ConnectError> {
    let (client, _session) = open(conninfo).await?;
    Ok(answer(&client, query).await)
}

/// Connects as hourhand does.
pub(crate) async fn open(conninfo: &Conninfo) -> Result<(Client, tokio::task::JoinHandle<()>), ConnectError> {
    let (client, driver) = connect(conninfo, "hourhand", Duration::from_secs(20)).await?;
    let (notifications, _) = mpsc::channel(1);
    Ok((client, tokio::spawn(async move { drop(driver.run(notifications).await) })))
}

pub(crate) async fn answer(client: &Client, query: &str) -> String {
    let messages = client.simple_query(query).await.unwrap();
    let value = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    value.unwrap_or_default().to_owned()
}

/// Connects as psql does and asks; `None` if there is no psql here.
pub(crate) fn ask_psql(
    text: &str,
    variables: &[(String, String)],
    home: &Path,
    query: &str,
) -> Option<Result<String, String>> {
    let psql = which_psql()?;
    let mut command = Command::new(psql);
    command.env_clear().env("HOME", home).env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.args(["-X", "-A", "-t", "-w", "-c", query]);
    if !text.is_empty() {
        command.args(["-d", text]);
    }
    let output = command.output().unwrap();
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Some(if output.status.success() { Ok(words(&output.stdout)) } else { Err(words(&output.stderr)) })
}

fn which_psql() -> Option<PathBuf> {
    let beside = Installation::for_tests().ok()?.bin().join("psql");
    let on_path = std::env::var_os("PATH")?;
    let candidates = std::env::split_paths(&on_path).map(|directory| directory.join("psql"));
    let found = std::iter::once(beside).chain(candidates).find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: no psql on this machine to compare with");
    }
    found
}
