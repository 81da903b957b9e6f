//! The table `testdata/conninfo.txt`: what each string means, without a server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use super::super::{Conninfo, ConninfoError, Environment};

/// One string of the table.
#[derive(Default)]
pub(super) struct Case {
    pub(super) title: String,
    text: String,
    variables: Vec<String>,
    files: Vec<String>,
    means: Option<String>,
    errors: Vec<String>,
    pub(super) psql: Option<String>,
}

/// What the words in braces stand for.
pub(super) struct Words {
    pub(super) port: u16,
    pub(super) dead: u16,
    pub(super) socket: String,
    pub(super) user: String,
    pub(super) home: String,
}

impl Words {
    fn fill(&self, template: &str) -> String {
        template
            .replace("{port}", &self.port.to_string())
            .replace("{dead}", &self.dead.to_string())
            .replace("{socket%}", &self.socket.replace('/', "%2F"))
            .replace("{socket}", &self.socket)
            .replace("{user}", &self.user)
            .replace("{home}", &self.home)
            .replace("<nl>", "\n")
            .replace("<nul>", "\0")
    }
}

impl Case {
    pub(super) fn all() -> Vec<Case> {
        let mut cases: Vec<Case> = Vec::new();
        for line in include_str!("../../../../testdata/conninfo.txt").lines() {
            if let Some(title) = line.strip_prefix("== ") {
                cases.push(Case { title: title.to_owned(), ..Case::default() });
            } else if let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with('#')) {
                let case = cases.last_mut().expect("a title stands before the first line");
                let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
                match key {
                    "text" => case.text = value,
                    "env" => case.variables.push(value),
                    "file" => case.files.push(value),
                    "means" => case.means = Some(value),
                    "error" => case.errors.push(value),
                    "psql" => case.psql = Some(value),
                    _ => panic!("unknown key {key} in {:?}", case.title),
                }
            }
        }
        cases
    }

    pub(super) fn text(&self, words: &Words) -> String {
        words.fill(&self.text)
    }

    pub(super) fn variables(&self, words: &Words) -> Vec<(String, String)> {
        let filled = self.variables.iter().map(|variable| words.fill(variable));
        filled.map(|it| it.split_once('=').map(|(name, value)| (name.into(), value.into())).unwrap()).collect()
    }

    /// Writes the files of the case into the home directory.
    pub(super) fn write_files(&self, words: &Words) {
        for file in &self.files {
            let (name, lines) = file.split_once(' ').unwrap();
            let path = Path::new(&words.home).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, words.fill(lines).replace(" | ", "\n") + "\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    pub(super) fn parse(&self, words: &Words) -> Result<Conninfo, ConninfoError> {
        let variables = self.variables(words);
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (&**name, &**value)).collect();
        let mut environment = Environment::of(&variables).with_home(Path::new(&words.home));
        environment.user = Some(words.user.clone());
        Conninfo::parse(&self.text(words), &environment)
    }
}

#[test]
fn every_string_of_the_table_means_what_it_says_there() {
    for case in Case::all() {
        let home = tempfile::tempdir().unwrap();
        let words = Words {
            port: 5433,
            dead: 5434,
            socket: String::from("/run/sockets"),
            user: String::from("tester"),
            home: home.path().display().to_string(),
        };
        case.write_files(&words);
        let title = &case.title;
        match (case.parse(&words), &case.means) {
            (Ok(conninfo), Some(means)) => assert_eq!(conninfo.identity(), words.fill(means), "{title}"),
            (Err(error), None) => {
                assert!(!case.errors.is_empty(), "{title}: neither means nor error");
                for part in &case.errors {
                    let part = words.fill(part);
                    assert!(error.to_string().contains(&part), "{title}: {error:?}\n  {error}\n  lacks {part}");
                }
            }
            (Ok(conninfo), None) => panic!("{title}: accepted as {}", conninfo.identity()),
            (Err(error), Some(_)) => panic!("{title}: refused: {error}"),
        }
    }
}

#[test]
fn times_are_read_in_the_units_of_libpq() {
    let parse = |settings: &str| Conninfo::parse(&format!("host=h {settings}"), &Environment::of(&[])).unwrap();
    let all = parse(
        "keepalives_idle=30 keepalives_interval=10 keepalives_count=3 tcp_user_timeout=15000 connect_timeout=' 5 '",
    );
    assert_eq!(all.config.get_keepalives_idle(), Duration::from_secs(30));
    assert_eq!(all.config.get_keepalives_interval(), Some(Duration::from_secs(10)));
    assert_eq!(all.config.get_keepalives_retries(), Some(3));
    assert_eq!(all.config.get_tcp_user_timeout(), Some(&Duration::from_secs(15)));
    assert_eq!(all.connect_timeout, Some(Duration::from_secs(5)));
    assert!(all.config.get_keepalives());

    let none = parse("keepalives=0 keepalives_idle=0 tcp_user_timeout=0 connect_timeout=-1");
    assert!(!none.config.get_keepalives());
    assert_eq!(none.config.get_tcp_user_timeout(), None);
    assert_eq!(none.connect_timeout, None);
}

#[test]
fn one_database_has_one_identity_however_it_is_written() {
    let environment = Environment::of(&[("PGPORT", "5433"), ("PGDATABASE", "orders"), ("PGPASSWORD", "x")]);
    for text in [
        "postgres://app:secret@DB:5433/orders",
        "postgresql://app@db/orders?sslmode=disable",
        "host=db user=app",
        "user=app host='db' connect_timeout=3",
        "postgres:///?host=db&user=app",
    ] {
        assert_eq!(Conninfo::parse(text, &environment).unwrap().identity(), "app@db:5433/orders", "{text}");
    }
}

#[test]
fn the_environment_of_the_process_has_its_home_and_user() {
    let environment = Environment::of_process();
    assert_eq!(environment.user, whoami::username().ok());
    assert_eq!(environment.home, std::env::home_dir());
    assert!(environment.socket_directory.is_absolute());
}
