//! The lines that the README and the guides to command and sidecar show to type, run by a shell as they stand there.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{hourhand, run};
use crate::world::World;

const PAGES: [&str; 3] = ["README.md", "docs/guides/command.md", "docs/guides/sidecar.md"];

/// What is not run here, and why.
const ELSEWHERE: [(&str, &str); 4] = [
    ("cargo xtask", "builds and runs the whole: CI types the same words"),
    ("psql -c \"create role", "makes a role of the whole server; `migrations` does it under a name of its own"),
    ("hourhand migrate --grant-to app", "the same, for roles of its own"),
    ("hourhand up", "goes on until it is stopped; `sidecar` and `guides` start it with these words"),
];

/// The lines that a person would type, without prompt and remark.
fn lines() -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for page in PAGES {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)).unwrap();
        let mut language = None;
        for line in text.lines() {
            match (line.strip_prefix("```"), language) {
                (Some(word), None) => language = Some(word),
                (Some(_), Some(_)) => language = None,
                (None, Some("console")) => lines.extend(line.strip_prefix("$ ").map(|line| (page, line.to_owned()))),
                (None, Some("sh")) if !line.is_empty() => lines.push((page, line.to_owned())),
                (None, _) => {}
            }
        }
    }
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_runs_as_it_stands_or_is_run_elsewhere() {
    let world = World::new().await;
    let node = world.resident().await;
    let bin = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(hourhand([""; 0]).get_program(), bin.path().join("hourhand")).unwrap();
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap());
    let has_jq = Command::new("jq").arg("--version").output().is_ok();
    let mut ran = 0;
    for (page, line) in lines() {
        if ELSEWHERE.iter().any(|(begins, _)| line.starts_with(begins)) {
            continue;
        }
        // A job that is there, and this test's database.
        let mut line = line.replace(" NAME ", " order-sync ").replace(" --database postgres://app@db.example/app", "");
        if !has_jq && let Some((before, _)) = line.split_once(" | jq") {
            line = before.to_owned();
        }
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("set -o pipefail; {line}")]).env("PATH", &path).env("TZ", "UTC");
        shell.env("HOURHAND_DATABASE_URL", world.database.url()).env_remove("RUST_LOG");
        let said = tokio::task::block_in_place(|| run(&mut shell));
        assert_eq!(said.code, 0, "{page}: {line}: {said:?}");
        ran += 1;
    }
    assert!(ran >= 12, "{ran} lines");
    node.shutdown().await;
}

#[test]
fn what_is_run_elsewhere_is_still_shown() {
    let lines = lines();
    for (begins, why) in ELSEWHERE {
        assert!(lines.iter().any(|(_, line)| line.starts_with(begins)), "{begins}: {why}");
    }
}
