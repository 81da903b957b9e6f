//! A password that is given is not told: not to the process list, not to standard error, at no level.

use std::io::Write as _;
use std::time::Duration;

use hourhand_testkit::eventually;

use crate::command::{hourhand, run, say};

const PASSWORD: &str = "s3cret-of-ann";

#[test]
fn no_complaint_repeats_it() {
    let url = format!("postgres://ann:{PASSWORD}@127.0.0.1:1/app?connect_timeout=2");
    for words in [
        vec!["migrate", "--database", &url, "-vvv"],
        vec!["key", "--session-url", &url],
        vec!["migrate", &url],
        vec!["migrate", "--schema", &url, "--database", &url],
        vec!["migrate", "--databse", &url],
    ] {
        let said = say(&words);
        assert_ne!(said.code, 0, "{said:?}");
        assert!(!said.err.contains(PASSWORD) && !said.out.contains(PASSWORD), "{words:?}: {said:?}");
    }
}

#[test]
fn help_does_not_show_what_the_environment_holds() {
    let url = format!("postgres://ann:{PASSWORD}@db/app");
    let mut command = hourhand(["--help"]);
    let said = run(command.env("HOURHAND_DATABASE_URL", &url).env("HOURHAND_SESSION_URL", &url));
    assert!(said.code == 0 && !said.out.contains(PASSWORD), "{said:?}");
}

#[test]
fn a_file_can_hold_it() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "postgres://ann:{PASSWORD}@127.0.0.1:1/app?connect_timeout=2").unwrap();
    let said = say(&["migrate", "--database", &format!("file:{}", file.path().display())]);
    said.refused(69, "127.0.0.1:1");
}

/// The server that never answers keeps the command alive while its line is read.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn the_process_list_does_not_show_it_and_the_command_still_knows_it() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let url = format!("postgres://ann:{PASSWORD}@127.0.0.1:{port}/app");
    for words in [
        vec!["migrate".to_owned(), "--database".to_owned(), url.clone()],
        vec![format!("--database={url}"), "migrate".to_owned()],
    ] {
        let mut child = hourhand(&words).stderr(std::process::Stdio::null()).spawn().unwrap();
        let path = format!("/proc/{}/cmdline", child.id());
        let line = eventually(Duration::from_secs(5), async || {
            let line = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).replace('\0', " ");
            if line.contains("file:/dev/fd/") { Ok(line) } else { Err(line) }
        })
        .await;
        assert!(!line.contains(PASSWORD) && line.contains("migrate"), "{line}");
        // It found the server: so it knows the string.
        silent.set_nonblocking(true).unwrap();
        eventually(Duration::from_secs(5), async || silent.accept().map(drop).map_err(|error| error.to_string())).await;
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
