use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;

fn variable(name: &str) -> Option<String> {
    match name {
        "REINDEX_TOKEN" => Some("hush-hush".to_owned()),
        "PASSWORD" => Some("hush".to_owned()),
        _ => None,
    }
}

fn read(text: &str) -> Result<Config, Refused> {
    Config::read(Source { path: "hourhand.toml".into(), text: text.to_owned() }, &variable)
}

fn told(text: &str) -> String {
    read(text).expect_err("refused").to_string()
}

/// `testdata/config/*.toml`, and beside each what is said of it.
#[test]
fn every_mistake_is_said_at_once_with_its_place_and_what_would_be_right() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/config");
    let paths = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect();
    cases.sort();
    assert!(!cases.is_empty());
    for path in cases {
        let said = told(&std::fs::read_to_string(&path).unwrap()) + "\n";
        let golden = path.with_extension("txt");
        if std::env::var_os("UPDATE_TESTDATA").is_some() {
            std::fs::write(&golden, &said).unwrap();
        }
        assert_eq!(said, std::fs::read_to_string(&golden).unwrap_or_default(), "{}", path.display());
        assert!(!said.contains("hush"), "a secret in {said}");
    }
}

#[test]
fn a_whole_file_is_read_as_it_is_meant() {
    let config = read(
        r#"
        database_url = "postgres://app:${PASSWORD}@db/shop"
        time_zone = "Asia/Seoul"
        start_delay = "90s"
        runs_max = 4
        listen = "localhost:9090"

        [job.order-sync]
        schedule = "@hourly"
        command = ["python", "manage.py", "sync_orders"]
        lookback = "10m"
        timeout = "20m"
        retry = { attempts = 3, backoff = "30s" }

        [job.reindex]
        schedule = "30 2 * * *"
        time_zone = "Europe/Vienna"
        http = { url = "http://127.0.0.1:8000/reindex", headers = { authorization = "Bearer ${REINDEX_TOKEN}" } }
        on_success = { url = "https://hc.example/ping/hush" }
        "#,
    )
    .unwrap();
    assert_eq!(config.top.database_url, Some(Secret::new("postgres://app:hush@db/shop")));
    assert_eq!(config.top.start_delay, Some(jiff::SignedDuration::from_secs(90)));
    assert_eq!(config.top.listen, Some("127.0.0.1:9090".parse().unwrap()));
    let [sync, reindex] = config.jobs.as_slice() else { panic!("{config:?}") };
    assert_eq!((sync.schedule.time_zone(), reindex.schedule.time_zone()), ("Asia/Seoul", "Europe/Vienna"));
    let Work::Command(command) = &sync.work else { panic!("{sync:?}") };
    assert_eq!((command.argv.len(), command.stop_grace), (3, Duration::from_secs(10)));
    let Work::Http(endpoint) = &reindex.work else { panic!("{reindex:?}") };
    assert_eq!((endpoint.method.as_str(), endpoint.url.uri().path()), ("POST", "/reindex"));
    assert_eq!(endpoint.headers[0].1.to_str().unwrap(), "Bearer hush-hush");
    assert!(reindex.hooks.on_success.is_some());
    assert!(!format!("{config:?}").contains("hush@") && !format!("{config:?}").contains("hush-hush"));
}

#[test]
fn a_secret_may_come_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("url"), "postgres://app:hush@db/shop\n").unwrap();
    let text = "database_url = \"file:url\"\n[job.a]\nschedule = \"@hourly\"\ncommand = [\"true\"]\n";
    let source = Source { path: directory.path().join("hourhand.toml"), text: text.to_owned() };
    let config = Config::read(source, &variable).unwrap();
    assert_eq!(config.top.database_url, Some(Secret::new("postgres://app:hush@db/shop")));
}

#[test]
fn what_the_library_refuses_of_a_key_is_said_with_its_place() {
    let text = "database_url = \"postgres://db/shop\"\n[job.a]\nschedule = \"@hourly\"\ncommand = [\"true\"]\n";
    let key_of = |line: &str| if line.starts_with("database") { "database_url" } else { "" };
    let refused = read(text).unwrap().refuse("database: no such parameter\njobs: too many", key_of).to_string();
    let wanted =
        "hourhand.toml:1:1: database: no such parameter\n  database_url = \"…\"\n  ^^^^^^^^^^^^\njobs: too many";
    assert_eq!(refused, wanted);
}

#[test]
fn two_readings_of_one_file_are_equal_and_a_changed_policy_shows() {
    let text = "[job.a]\nschedule = \"@hourly\"\ncommand = [\"true\"]\nlookback = \"1m\"\n";
    let jobs = |text: &str| read(text).unwrap().jobs;
    assert_eq!(jobs(text), jobs(text));
    assert_ne!(jobs(text), jobs(&text.replace("1m", "2m")));
}

#[test]
fn the_file_in_the_guide_is_read_as_it_stands_there() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/sidecar.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let shown: Vec<&str> =
        guide.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert_eq!(shown.len(), 1);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("report-request.json"), "{}").unwrap();
    let source = Source { path: directory.path().join("hourhand.toml"), text: shown[0].to_owned() };
    let set = |name: &str| variable(name).or_else(|| (name == "PGPASSWORD").then(|| "hush".to_owned()));
    let config = Config::read(source, &set).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(
        config.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(),
        ["order-sync", "reindex", "report"]
    );
}

/// The guide names every key, so that nobody has to read the source.
#[test]
fn the_guide_names_every_key() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/sidecar.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let told = told("x = 1\n[job.a]\nwrong_word = 1\n");
    let lists = told.lines().filter_map(|line| line.trim().strip_prefix("right: one of "));
    let keys: Vec<&str> = lists.flat_map(|list| list.split(", ")).filter(|key| *key != "job").collect();
    assert!(keys.len() > 20, "{keys:?}");
    for key in keys {
        assert!(
            guide.contains(&format!("`{key}`")) || guide.contains(&format!("\n{key} = ")),
            "{key} is not in the guide"
        );
    }
}
