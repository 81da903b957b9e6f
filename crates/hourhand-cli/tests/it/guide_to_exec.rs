//! The guide's snippets, each run as it stands there.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::command::{hourhand, run};
use crate::scene::Scene;

/// The fenced blocks of the guide: language and lines.
fn blocks() -> Vec<(String, Vec<String>)> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/exec.md");
    let text = fs::read_to_string(guide).unwrap();
    let mut blocks = Vec::new();
    let mut block: Option<(String, Vec<String>)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut block) {
            (Some(_), Some(_)) => blocks.extend(block.take()),
            (Some(language), None) => block = Some((language.to_owned(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    blocks
}

/// What of a line a shell would run, by the rules of the file it stands in.
fn command(language: &str, line: &str) -> Option<String> {
    let line = line.trim();
    let command = match language {
        "crontab" => line
            .strip_prefix(|c: char| c.is_ascii_digit() || c == '*')
            .and_then(|_| line.find("hourhand"))
            .map(|at| &line[at..]),
        "console" => line.strip_prefix("$ "),
        "ini" => line.strip_prefix("ExecStart=/usr/bin/"),
        "sh" => Some(line).filter(|line| !line.starts_with('#')),
        "yaml" => {
            let words: Vec<String> = serde_json::from_str(line.strip_prefix("command: ")?).unwrap();
            return Some(words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "));
        }
        _ => None,
    };
    command.map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_exec_of_the_guide_runs_its_command() {
    let scene = Scene::new().await;
    let bin = scene.path("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(hourhand([""; 0]).get_program(), bin.join("hourhand")).unwrap();
    let lines =
        blocks().into_iter().flat_map(|(language, lines)| lines.into_iter().map(move |line| (language.clone(), line)));
    let commands: Vec<(String, String)> =
        lines.filter_map(|(language, line)| Some((language.clone(), command(&language, &line)?))).collect();
    let mut languages = BTreeSet::new();
    for (at, (language, line)) in commands.iter().filter(|(_, line)| line.contains("exec")).enumerate() {
        let program = line.split(" -- ").nth(1).or_else(|| line.split("'--' ").nth(1)).unwrap();
        let program = program.split_whitespace().next().unwrap().trim_matches('\'');
        if program != "bash" {
            let file = bin.join(program);
            fs::write(&file, format!("#!/bin/sh\necho {program} ran\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let clean = hourhand([""; 0]);
        let mut sh = std::process::Command::new("sh");
        for (name, value) in clean.get_envs() {
            match value {
                Some(value) => sh.env(name, value),
                None => sh.env_remove(name),
            };
        }
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        // A namespace each: what one snippet has done is not done for the next.
        sh.env("PATH", path).env("HOURHAND_DATABASE_URL", scene.url()).env("HOURHAND_NAMESPACE", format!("n{at}"));
        sh.env("HOURHAND_SCHEMA", format!("s{at}")).stdin(std::process::Stdio::null());
        hourhand::migrate(&scene.url(), &format!("s{at}")).await.unwrap();
        let said = tokio::task::block_in_place(|| run(sh.args(["-c", line])));
        assert_eq!(said.code, 0, "{line}: {said:?}");
        assert!(program == "bash" || said.out.contains(&format!("{program} ran")), "{line}: {said:?}");
        languages.insert(language.clone());
    }
    let all = ["console", "crontab", "ini", "sh", "yaml"];
    assert!(all.iter().all(|language| languages.contains(*language)), "{languages:?}");
}
