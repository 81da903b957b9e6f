//! What `sslmode` and its files do, against a server and side by side with psql.

use std::fs;
use std::path::Path;
use std::process::Command;

use hourhand_testkit::{Installation, Server, Shutdown};
use rcgen::{CertificateParams, CertificateRevocationListParams, DnType, KeyPair, RevokedCertParams, SerialNumber};

use super::super::{Conninfo, Environment};
use super::live::{Authority, Live, NAME, ask, ask_psql};

const ENCRYPTED: &str = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";

/// What a connection has to come to.
enum Outcome {
    /// It stands, encrypted or not.
    Encrypted,
    Plain,
    /// It is refused with these words.
    Refused(&'static str),
}
use Outcome::{Encrypted, Plain, Refused};

/// Where the tests connect to.
struct Bench<'a> {
    server: &'a Server,
    home: &'a Path,
}

impl Bench<'_> {
    /// Connects as we do and as psql does; both have to come to the same.
    async fn check(&self, settings: &str, expected: Outcome) {
        let port = self.server.port();
        let text =
            format!("host={NAME} hostaddr=127.0.0.1 port={port} user=plain password=simple dbname=orders {settings}");
        let ours = self.ask(&text).await;
        match (&ours, &expected) {
            (Ok(answer), Encrypted) => assert_eq!(answer, "t", "{settings}"),
            (Ok(answer), Plain) => assert_eq!(answer, "f", "{settings}"),
            (Err(error), Refused(words)) => assert!(error.contains(words), "{settings}: {error}"),
            (ours, _) => panic!("{settings}: {ours:?}"),
        }
        if let Some(theirs) = ask_psql(&text, &[], self.home, ENCRYPTED) {
            assert_eq!(ours.as_ref().ok(), theirs.as_ref().ok(), "{settings}: psql says {theirs:?}, we {ours:?}");
        }
    }

    async fn ask(&self, text: &str) -> Result<String, String> {
        let environment = Environment::of(&[]).with_home(self.home);
        let conninfo = Conninfo::parse(text, &environment).map_err(|error| error.to_string())?;
        ask(&conninfo, ENCRYPTED).await.map_err(|error| error.to_string())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sslmode_encrypts_and_verifies_as_much_as_it_does_in_psql() {
    const UNTRUSTED: &str = "it is not signed by an authority that is trusted here";
    let Some(live) = Live::shared_with_tls() else { return };
    live.furnish().await;
    let home = tempfile::tempdir().unwrap();
    let bench = Bench { server: &live.server, home: home.path() };
    let (ca, other) = (live.path("ca.pem"), live.path("other.pem"));
    for (settings, expected) in [
        ("sslmode=disable", Plain),
        ("sslmode=allow", Plain),
        ("sslmode=prefer", Encrypted),
        ("sslmode=require", Encrypted),
        ("sslmode=require sslsni=0", Encrypted),
        ("sslmode=require channel_binding=require", Encrypted),
        ("sslmode=require ssl_max_protocol_version=TLSv1.2", Encrypted),
        ("sslmode=verify-ca sslrootcert=CA", Encrypted),
        ("sslmode=verify-ca sslrootcert=CA host=other.example.com", Encrypted),
        ("sslmode=verify-ca sslrootcert=OTHER", Refused(UNTRUSTED)),
        ("sslmode=verify-ca sslrootcert=OTHER host=other.example.com", Refused(UNTRUSTED)),
        ("sslmode=verify-full sslrootcert=CA", Encrypted),
        ("sslmode=verify-full sslrootcert=CA host=DB.Example.com", Encrypted),
        ("sslmode=verify-full sslrootcert=CA channel_binding=require", Encrypted),
        ("sslmode=verify-full sslrootcert=CA ssl_max_protocol_version=TLSv1.2", Encrypted),
        (
            "sslmode=verify-full sslrootcert=CA host=other.example.com",
            Refused("it is made out to db.example.com, not to other.example.com"),
        ),
        ("sslmode=verify-full sslrootcert=OTHER", Refused(UNTRUSTED)),
        // A file of authorities that is there counts for the weaker modes too.
        ("sslmode=require sslrootcert=CA", Encrypted),
        ("sslmode=require sslrootcert=OTHER", Refused(UNTRUSTED)),
        ("sslmode=prefer sslrootcert=OTHER", Plain),
        ("sslmode=allow sslrootcert=OTHER", Plain),
        // The rules for access want it otherwise.
        ("sslmode=disable user=only_tls", Refused("(28000)")),
        ("sslmode=allow user=only_tls", Encrypted),
        ("sslmode=prefer user=only_tls", Encrypted),
        ("sslmode=require user=only_plain", Refused("(28000)")),
        ("sslmode=prefer user=only_plain", Plain),
        ("sslmode=allow user=only_plain", Plain),
        // The client shows a certificate.
        ("sslmode=require user=certified sslcert=FILES/client.pem sslkey=FILES/client.key", Encrypted),
        ("sslmode=require user=certified", Refused("(28000)")),
    ] {
        let files = live.files.display().to_string();
        let settings = settings.replace("CA", &ca).replace("OTHER", &other).replace("FILES", &files);
        bench.check(&settings, expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_in_the_home_directory_count_as_in_psql() {
    let Some(live) = Live::shared_with_tls() else { return };
    live.furnish().await;
    let home = tempfile::tempdir().unwrap();
    let bench = Bench { server: &live.server, home: home.path() };
    let at_home = home.path().join(".postgresql");
    fs::create_dir(&at_home).unwrap();

    fs::copy(live.path("other.pem"), at_home.join("root.crt")).unwrap();
    bench.check("sslmode=require", Refused("not signed by an authority")).await;
    fs::copy(live.path("ca.pem"), at_home.join("root.crt")).unwrap();
    bench.check("sslmode=require", Encrypted).await;
    bench.check("sslmode=verify-full", Encrypted).await;
    fs::copy(live.path("client.pem"), at_home.join("postgresql.crt")).unwrap();
    fs::copy(live.path("client.key"), at_home.join("postgresql.key")).unwrap();
    bench.check("sslmode=require user=certified", Encrypted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn full_verification_without_a_file_trusts_what_the_system_trusts() {
    let Some(live) = Live::shared_with_tls() else { return };
    live.furnish().await;
    let home = tempfile::tempdir().unwrap();
    let bench = Bench { server: &live.server, home: home.path() };
    let port = live.server.port();
    for settings in ["sslmode=verify-full", "sslrootcert=system", "sslmode=verify-full sslrootcert=system"] {
        let text =
            format!("host={NAME} hostaddr=127.0.0.1 port={port} user=plain password=simple dbname=orders {settings}");
        let error = bench.ask(&text).await.unwrap_err();
        // A system may come without any; our own authority is in none.
        let words = ["not signed by an authority that is trusted here", "this system trusts no authorities"];
        assert!(words.iter().any(|words| error.contains(words)), "{settings}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_begins_at_once_where_the_server_and_the_user_agree_to_that() {
    let Ok(installation) = Installation::find(17..=99) else {
        eprintln!("skipped: no PostgreSQL 17 or newer on this machine");
        return;
    };
    let Some(live) = Live::own_with_tls(&installation) else { return };
    live.furnish().await;
    let home = tempfile::tempdir().unwrap();
    let bench = Bench { server: &live.server, home: home.path() };
    let (port, ca) = (live.server.port(), live.path("ca.pem"));
    let text = format!("host={NAME} hostaddr=127.0.0.1 port={port} user=plain password=simple dbname=orders");
    let direct = format!("{text} sslnegotiation=direct");
    assert_eq!(bench.ask(&format!("{direct} sslmode=require")).await.unwrap(), "t");
    assert_eq!(bench.ask(&format!("{direct} sslmode=verify-full sslrootcert={ca}")).await.unwrap(), "t");
    assert_eq!(bench.ask(&format!("{text} sslmode=require channel_binding=require")).await.unwrap(), "t");
    let error = bench.ask(&format!("{direct} sslmode=prefer")).await.unwrap_err();
    assert!(error.contains("direct needs sslmode=require, verify-ca or verify-full"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_certificate_is_refused_whatever_its_name() {
    let Some(live) = Live::own_with_tls(&Installation::for_tests().unwrap()) else { return };
    live.furnish().await;
    let authority = Authority::new("the authority of lists");
    let home = tempfile::tempdir().unwrap();
    let (ca, list) = (home.path().join("ca.pem"), home.path().join("list.pem"));
    fs::write(&ca, &authority.pem).unwrap();
    let mut params = CertificateParams::new([String::from(NAME)]).unwrap();
    params.serial_number = Some(SerialNumber::from(4711_u64));
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority.issuer()).unwrap();
    let live = with_certificate(live, &(certificate.pem(), key.serialize_pem()));
    let bench = Bench { server: &live.server, home: home.path() };
    let settings = format!("sslrootcert={} sslcrl={}", ca.display(), list.display());

    fs::write(&list, revocations(&authority, 1)).unwrap();
    bench.check(&format!("sslmode=verify-full {settings}"), Encrypted).await;
    fs::write(&list, revocations(&authority, 4711)).unwrap();
    bench.check(&format!("sslmode=verify-full {settings}"), Refused("it has been revoked")).await;
    bench.check(&format!("sslmode=verify-ca {settings} host=other.example.com"), Refused("it has been revoked")).await;
}

fn revocations(authority: &Authority, serial: u64) -> String {
    let now = rcgen::date_time_ymd(2020, 1, 1);
    let revoked = RevokedCertParams {
        serial_number: SerialNumber::from(serial),
        revocation_time: now,
        reason_code: None,
        invalidity_date: None,
    };
    let params = CertificateRevocationListParams {
        this_update: now,
        next_update: rcgen::date_time_ymd(2100, 1, 1),
        crl_number: SerialNumber::from(1_u64),
        issuing_distribution_point: None,
        revoked_certs: vec![revoked],
        key_identifier_method: rcgen::KeyIdMethod::Sha256,
    };
    params.signed_by(authority.issuer()).unwrap().pem().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_as_the_manual_of_postgresql_makes_them_are_accepted() {
    let Some(live) = Live::own_with_tls(&Installation::for_tests().unwrap()) else { return };
    live.furnish().await;
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("root.pem");
    let verify = |mode: &str| format!("sslmode={mode} sslrootcert={}", root.display());

    // Self-signed, its own authority, and without alternative names.
    let pair = self_signed(NAME);
    fs::write(&root, &pair.0).unwrap();
    let live = with_certificate(live, &pair);
    let bench = Bench { server: &live.server, home: home.path() };
    bench.check(&verify("verify-full"), Encrypted).await;
    bench.check(&verify("verify-ca"), Encrypted).await;
    let other = format!("{} host=other.example.com", verify("verify-full"));
    bench.check(&other, Refused("it is made out to db.example.com, not to other.example.com")).await;

    // Signed by an authority, without alternative names; `*.` stands for one label.
    let authority = Authority::new("an authority");
    fs::write(&root, &authority.pem).unwrap();
    let live = with_certificate(live, &authority.sign("*.example.com", &[]));
    let bench = Bench { server: &live.server, home: home.path() };
    bench.check(&verify("verify-full"), Encrypted).await;
    bench.check(&format!("{} host=a.b.example.com", verify("verify-full")), Refused("made out to *.example.com")).await;

    // Alternative names count alone, if there are any.
    let live = with_certificate(live, &authority.sign(NAME, &["other.example.com"]));
    let bench = Bench { server: &live.server, home: home.path() };
    bench.check(&verify("verify-full"), Refused("made out to other.example.com, not to db.example.com")).await;
    bench.check(&format!("{} host=other.example.com", verify("verify-full")), Encrypted).await;

    // An address instead of a name.
    let live = with_certificate(live, &authority.sign(NAME, &["127.0.0.1"]));
    let bench = Bench { server: &live.server, home: home.path() };
    bench.check(&format!("{} host=127.0.0.1", verify("verify-full")), Encrypted).await;
    bench.check(&format!("{} host=127.0.0.2", verify("verify-full")), Refused("made out to 127.0.0.1, not to")).await;
    bench.check(&verify("verify-full"), Encrypted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_version_1_is_good_for_encryption_alone() {
    let Some(live) = Live::own_with_tls(&Installation::for_tests().unwrap()) else { return };
    live.furnish().await;
    let home = tempfile::tempdir().unwrap();
    let Some(pair) = version_1(home.path()) else {
        eprintln!("skipped: no openssl on this machine to make a certificate of version 1");
        return;
    };
    let live = with_certificate(live, &pair);
    let bench = Bench { server: &live.server, home: home.path() };
    bench.check("sslmode=require", Encrypted).await;
    bench.check("sslmode=require channel_binding=require", Encrypted).await;
    let root = home.path().join("ca.pem");
    let text = format!(
        "host={NAME} hostaddr=127.0.0.1 port={} user=plain password=simple dbname=orders sslmode=verify-ca sslrootcert={}",
        live.server.port(),
        root.display()
    );
    let error = bench.ask(&text).await.unwrap_err();
    assert!(error.contains("it is of X.509 version 1"), "{error}");
}

/// The server with another certificate.
fn with_certificate(mut live: Live, pair: &(String, String)) -> Live {
    live.give_certificate(pair);
    live.server.restart(Shutdown::Fast).unwrap();
    live
}

fn self_signed(name: &str) -> (String, String) {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// A certificate of X.509 version 1 and its key, made by `openssl x509 -req` without extensions; its authority is left
/// in `ca.pem`.
fn version_1(directory: &Path) -> Option<(String, String)> {
    let authority = Authority::new("an old authority");
    fs::write(directory.join("ca.pem"), &authority.pem).unwrap();
    fs::write(directory.join("ca.key"), authority.issuer().key().serialize_pem()).unwrap();
    let openssl = |arguments: &str| {
        let run = Command::new("openssl").args(arguments.split(' ')).current_dir(directory).output().ok()?;
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        Some(())
    };
    openssl("req -new -nodes -newkey rsa:2048 -subj /CN=db.example.com -keyout old.key -out old.csr")?;
    openssl("x509 -req -in old.csr -days 3 -CA ca.pem -CAkey ca.key -CAcreateserial -out old.pem")?;
    let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    Some((read("old.pem"), read("old.key")))
}
