//! Completions, manual pages and help: made of one tree of commands, so that none of them lags behind.

use crate::command::say;

/// Every subcommand that people are told of.
fn subcommands() -> Vec<String> {
    let help = say(&["--help"]).out;
    let list = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).map(str::to_owned).collect::<Vec<_>>()
}

#[test]
fn every_subcommand_has_help_with_examples() {
    let subcommands = subcommands();
    assert!(subcommands.len() > 4, "{subcommands:?}");
    for word in subcommands.iter().filter(|word| !word.is_empty() && *word != "help") {
        let help = say(&[word, "--help"]);
        assert_eq!(help.code, 0);
        let examples = help.out.split_once("Examples:\n").map_or("", |(_, examples)| examples);
        assert!(examples.contains(&format!("  hourhand {word}")), "{word}: {}", help.out);
    }
}

#[test]
fn completions_know_every_subcommand() {
    for shell in ["bash", "zsh", "fish"] {
        let script = say(&["completions", shell]);
        assert_eq!(script.code, 0);
        for word in subcommands().iter().filter(|word| !word.is_empty()) {
            assert!(script.out.contains(word.as_str()), "{shell}: {word}");
        }
    }
}

#[test]
fn bash_takes_its_completions() {
    let script = say(&["completions", "bash"]).out;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), script).unwrap();
    // What bash would offer after `hourhand ne<Tab>`.
    let ask = "source \"$0\"; COMP_WORDS=(hourhand ne); COMP_CWORD=1; _hourhand hourhand ne hourhand; echo \"${COMPREPLY[*]}\"";
    let bash = std::process::Command::new("bash").args(["--norc", "-c", ask]).arg(file.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&bash.stdout), "next\n", "{}", String::from_utf8_lossy(&bash.stderr));
}

#[test]
fn there_is_a_manual_page_for_the_command_and_for_each_subcommand() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(say(&["man", directory.path().to_str().unwrap()]).code, 0);
    let page = |name: &str| std::fs::read_to_string(directory.path().join(format!("{name}.1"))).unwrap();
    assert!(page("hourhand").contains(".SH SYNOPSIS"));
    for word in subcommands().iter().filter(|word| !word.is_empty() && *word != "help") {
        let text = page(&format!("hourhand-{word}"));
        assert!(text.contains(".SH SYNOPSIS") && text.contains("Examples:"), "{text}");
    }
}
