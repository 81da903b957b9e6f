//! 0 done, 1 what was asked for failed, 2 the command line or the configuration is wrong, 69 the database can't be reached.

use crate::command::{hourhand, run, say};

#[test]
fn a_wrong_command_line_is_2() {
    say(&[]).refused(2, "Usage:");
    say(&["nonsense"]).refused(2, "unrecognized subcommand");
    say(&["key"]).refused(2, "<NAME>");
    say(&["key", "order-sync", "--color", "purple"]).refused(2, "auto, always or never");
    say(&["key", "a\u{308}"]).refused(2, "composed form (NFC)");
    say(&["key", "order-sync", "--namespace", "a:b"]).refused(2, "--namespace: the namespace \"a:b\" has a ':'");
    say(&["next", "0 0 30 2 *"]).refused(2, "there is no day 30 in February");
    say(&["next", "@hourly", "--time-zone", "Europe/Berlim"]).refused(2, "Europe/Berlin");
    say(&["next", "@hourly", "--from", "tomorrow"]).refused(2, "--from: \"tomorrow\" is not an instant");
    say(&["migrate", "--print", "--schema", "No Name"]).refused(2, "not a plain name");
    say(&["migrate", "--after", "1"]).refused(2, "--print");
}

#[test]
fn a_length_without_a_unit_a_schedule_without_quotes_and_a_word_that_is_no_text_are_2() {
    use std::os::unix::ffi::OsStrExt as _;
    let exec = |options: &[&str]| {
        say(&[&["exec", "job"], options, &["--database", "postgres://db/app", "--", "true"]].concat())
    };
    for option in ["--timeout", "--wait", "--stop-grace", "--lookback", "--ttl"] {
        exec(&[option, "5"]).refused(2, "it has no unit: a number with a unit: \"30s\"");
    }
    say(&["trigger", "job", "--expires", "5"]).refused(2, "it has no unit");
    say(&["locks", "--watch", "--every", "5"]).refused(2, "it has no unit");
    for words in ["every 90s", "30 2 * * *", "99"] {
        let said = exec(&[&["--if-due"], words.split(' ').collect::<Vec<_>>().as_slice()].concat());
        said.refused(2, "a schedule is one word: quote it");
    }
    exec(&["--if-due", "continuous"]).refused(2, "--if-due: `continuous` has no occurrences that could be due");
    exec(&["--ttl", "0s"]).refused(2, "ttl: 0");
    assert_eq!(exec(&["--ttl", "0s"]).err.lines().count(), 1, "said once");
    say(&["next", "30", "2", "README.md", "src", "*"]).refused(2, "quote the schedule as one word");
    assert_eq!(say(&["next", "every", "90s", "-n", "0"]).out, "every 90 seconds\n");
    let no_text = std::ffi::OsStr::from_bytes(b"\xff");
    run(&mut hourhand([std::ffi::OsStr::new("key"), no_text])).refused(2, "invalid UTF-8");
    let url = std::ffi::OsStr::new("postgres://ann:s3cret-of-ann@127.0.0.1:1/app");
    let words = ["exec", "job", "--database"].map(std::ffi::OsStr::new);
    let said = run(hourhand(words).args([url, std::ffi::OsStr::new("--"), no_text]));
    said.refused(69, "127.0.0.1:1");
}

#[test]
fn json_of_what_has_no_answer_is_refused_with_where_it_is_to_be_had() {
    for (words, naming) in [
        (&["up"][..], "--log-format json"),
        (&["exec", "job", "--", "true"], "hourhand history --json"),
        (&["dashboard"], "/api"),
        (&["completions", "bash"], "shells"),
    ] {
        run(hourhand(["--json"]).args(words)).refused(2, naming);
    }
}

#[test]
fn everything_that_is_wrong_with_several_names_is_said_at_once() {
    let said = say(&["key", "", "order-sync", "hourhand"]);
    said.refused(2, "the name is empty");
    said.refused(2, "kept for the lock of migrations");
}

#[test]
fn no_database_anywhere_is_2_and_names_the_places() {
    let said = say(&["migrate"]);
    for place in ["--database", "HOURHAND_DATABASE_URL", "DATABASE_URL", "PG*"] {
        said.refused(2, place);
    }
}

#[test]
fn a_database_that_cannot_be_reached_is_69_wherever_its_url_came_from() {
    // Port 1 is nobody's; `connect_timeout` only so that a surprise is short.
    let url = "postgres://ann@127.0.0.1:1/app?connect_timeout=2";
    say(&["migrate", "--database", url]).refused(69, "127.0.0.1:1");
    run(hourhand(["migrate"]).env("HOURHAND_DATABASE_URL", url).env("DATABASE_URL", "nonsense://")).refused(69, ":1");
    run(hourhand(["migrate"]).env("DATABASE_URL", url)).refused(69, "127.0.0.1:1");
    run(hourhand(["migrate"]).env("PGHOST", "127.0.0.1").env("PGPORT", "1").env("PGUSER", "ann")).refused(69, ":1");
}

#[test]
fn an_unreadable_url_is_2() {
    say(&["migrate", "--database", "postgres://db/app?sslmod=require"]).refused(2, "sslmode");
    say(&["migrate", "--database", "file:no/such/file"]).refused(2, "--database: could not read no/such/file");
}

#[test]
fn whoever_stops_reading_is_no_failure() {
    let mut child = hourhand(["completions", "bash"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_could_not_be_written_is_1() {
    for words in [&["--help"][..], &["next", "@hourly"], &["completions", "bash"], &["help", "up"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        run(hourhand(words).stdout(full)).refused(1, "could not write to standard output: No space left on device");
    }
}

#[test]
fn a_list_of_nothing_is_2() {
    say(&["history", "--limit", "0"]).refused(2, "it is no whole number from 1 on");
}
