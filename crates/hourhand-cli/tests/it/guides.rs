//! The guides to Django, Rails, Kubernetes and systemd show what is there: files, configurations and commands that are accepted.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hourhand_testkit::Signal;

use crate::command::{hourhand, run};
use crate::sidecar::{SOON, up};

/// Nobody listens there: a command whose words are right ends with 69, one whose words are wrong with 2.
const NO_DATABASE: &str = "postgres://app@127.0.0.1:1/app?connect_timeout=2";

/// A fenced block, and the file that the line before it names as "`path`:".
#[derive(Debug)]
struct Block {
    guide: &'static str,
    file: Option<String>,
    language: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    ["django", "rails", "kubernetes", "systemd"].into_iter().flat_map(blocks_of).collect()
}

fn blocks_of(guide: &'static str) -> Vec<Block> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/guides/{guide}.md"));
    let text = fs::read_to_string(path).unwrap();
    let (mut blocks, mut open, mut before) = (Vec::new(), None::<Block>, "");
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => {
                blocks.extend(open.take());
                before = "";
            }
            (Some(language), None) => {
                let file = before.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:")).map(str::to_owned);
                open = Some(Block { guide, file, language: language.to_owned(), text: String::new() });
            }
            (None, Some(block)) => block.text += &format!("{line}\n"),
            (None, None) if !line.is_empty() => before = line,
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{guide}: a block without end: {open:?}");
    blocks
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/django")
}

#[test]
fn the_django_guide_shows_the_projects_files_as_they_are() {
    let mut shown = Vec::new();
    for block in blocks_of("django") {
        let Some(file) = block.file else {
            assert!(["console", "text"].contains(&block.language.as_str()), "of no file: {block:?}");
            continue;
        };
        let text = fs::read_to_string(project().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(block.text, text, "{file}");
        shown.push(file);
    }
    let command = "orders/management/commands/sync_orders.py";
    assert_eq!(shown, ["hourhand.toml", command, "orders/sync.py", "orders/by_hand.py", "orders/views.py"]);
}

#[test]
fn a_run_by_hand_takes_15_lines() {
    let text = fs::read_to_string(project().join("orders/by_hand.py")).unwrap();
    assert!(text.contains("hourhand.begin") && text.lines().filter(|line| !line.is_empty()).count() <= 15, "{text}");
}

/// The configuration files that the guides show, also inside a manifest.
fn configurations() -> Vec<(&'static str, String)> {
    let toml = |block: Block| match block.language.as_str() {
        "toml" => Some((block.guide, block.text)),
        "yaml" => {
            let (_, inside) = block.text.split_once("hourhand.toml: |\n")?;
            let lines = inside.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
            Some((block.guide, lines.collect::<Vec<_>>().join("\n")))
        }
        _ => None,
    };
    blocks().into_iter().filter_map(toml).collect()
}

#[tokio::test]
async fn a_sidecar_accepts_every_configuration_of_the_guides() {
    let configurations = configurations();
    let guides: Vec<&str> = configurations.iter().map(|(guide, _)| *guide).collect();
    assert_eq!(guides, ["django", "rails", "kubernetes"]);
    for (guide, text) in configurations {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("hourhand.toml"), &text).unwrap();
        for program in programs(&text) {
            let stub = home.path().join(program);
            fs::create_dir_all(stub.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("/bin/true", stub).unwrap();
        }
        let mut sidecar = up(&home, &["--database", NO_DATABASE]);
        sidecar.says("up jobs=1", 1).await;
        sidecar.process.signal(Signal::TERM);
        assert_eq!(sidecar.ended(SOON), Some(0), "{guide}: {}", sidecar.log());
    }
}

/// The programs of a configuration's commands: none of the guides' is here.
fn programs(text: &str) -> impl Iterator<Item = &str> {
    text.split("command = [\"").skip(1).map(|rest| rest.split('"').next().unwrap())
}

/// The words of every `hourhand …` that a person, a unit, a crontab or a container runs by the guides.
fn commands() -> Vec<(&'static str, Vec<String>)> {
    let mut commands = Vec::new();
    for block in blocks() {
        for line in block.text.lines().map(str::trim) {
            let words: Vec<String> = match block.language.as_str() {
                "yaml" => match line.strip_prefix("command: [\"hourhand\", ") {
                    Some(rest) => serde_json::from_str(&format!("[{rest}")).unwrap(),
                    None => continue,
                },
                "console" | "crontab" | "ini" | "procfile" => match line.split_once("hourhand ") {
                    Some((_, rest)) => rest.split(" #").next().unwrap().split_whitespace().map(str::to_owned).collect(),
                    None => continue,
                },
                _ => continue,
            };
            commands.push((block.guide, words));
        }
    }
    commands
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_accepts_every_line_of_the_guides() {
    let (mut ended, mut stayed) = (0, 0);
    for (guide, words) in commands() {
        if words.iter().any(|word| word == "up") {
            let home = tempfile::tempdir().unwrap();
            let file = home.path().join("hourhand.toml");
            fs::write(&file, "[job.x]\nschedule = \"@hourly\"\ncommand = [\"true\"]\n").unwrap();
            // Its file and address are this test's; the words are the guide's.
            let at = words.iter().position(|word| word == "-c").expect("-c");
            let (mut words, address) = (words.clone(), words.iter().position(|word| word == "--listen"));
            words[at + 1] = file.display().to_string();
            words[address.expect("--listen") + 1] = "127.0.0.1:0".to_owned();
            let mut command = hourhand(&words);
            command.env("HOURHAND_DATABASE_URL", NO_DATABASE);
            let log = home.path().join("log");
            let process = hourhand_testkit::Leash::new(log).spawn(&command).unwrap();
            crate::sidecar::Up { process }.says("up jobs=1", 1).await;
            stayed += 1;
        } else {
            let mut command = hourhand(&words);
            command.env("HOURHAND_DATABASE_URL", NO_DATABASE);
            let said = tokio::task::block_in_place(|| run(&mut command));
            assert_eq!(said.code, 69, "{guide}: hourhand {words:?}: {said:?}");
            ended += 1;
        }
    }
    assert!(ended >= 3 && stayed >= 4, "{ended} that end and {stayed} that stay");
}

#[test]
fn the_manifests_of_the_guides_are_yaml() {
    let manifests: Vec<Block> = blocks().into_iter().filter(|block| block.language == "yaml").collect();
    assert!(manifests.len() >= 2, "{manifests:?}");
    let can = Command::new("python3").args(["-c", "import yaml"]).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("skipped, because python3 with its package yaml is not here");
        return;
    }
    let read = "import sys, yaml\nfor one in yaml.safe_load_all(sys.stdin):\n print(one['apiVersion'], one['kind'], one['metadata']['name'])";
    for block in manifests {
        let mut python = Command::new("python3");
        let python = python.args(["-c", read]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = python.spawn().unwrap();
        child.stdin.take().unwrap().write_all(block.text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}: {output:?}\n{}", block.guide, block.text);
        assert!(!output.stdout.is_empty(), "{}: nothing in it", block.guide);
    }
}
