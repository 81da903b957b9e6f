//! What is wrong from the start is said at the start: one error, nothing started, no secret in it.

use std::process::{Command, Output};

const FEED: &str = env!("CARGO_BIN_EXE_order-feed");
const SERVICE: &str = env!("CARGO_BIN_EXE_order-sync");

/// Runs a command that is to fail; answers its one line of complaint.
fn complaint(program: &str, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = Command::new(program).args(arguments).env_clear().output().unwrap();
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(!status.success(), "{arguments:?} was taken: {stdout}");
    assert_eq!(stdout, "", "{arguments:?} started something");
    assert!(!stderr.contains("s3cret"), "{stderr}");
    stderr
}

#[test]
fn a_csv_file_with_a_broken_row_starts_no_feed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("orders.csv");
    let good = include_str!("../data/orders.csv");
    let broken = good.replace("2002,BONAP,1998-05-05", "2002,BONAP,1998-05-55");
    assert_ne!(good, broken);
    std::fs::write(&path, broken).unwrap();
    let complaint = complaint(FEED, &["--listen", "127.0.0.1:0", "--orders", path.to_str().unwrap()]);
    assert_eq!(
        complaint,
        format!("order-feed: {}, line 3: order_date \"1998-05-55\" is not a date like 1998-05-06\n", path.display())
    );
}

#[test]
fn an_address_or_a_length_that_is_none_starts_nothing() {
    let url = "postgres://app:s3cret@localhost:5432/app";
    for (arguments, expected) in [
        (&["serve", "--database-url", "postgres://app:s3cret@localhost:none/app"][..], "DATABASE_URL"),
        (&["serve", "--database-url", url, "--listen", "here"], "invalid value 'here' for '--listen"),
        (&["serve", "--database-url", url, "--lookback", "a while"], "write it like 90s"),
        (&["serve", "--database-url", url, "--scheduler", "maybe"], "[possible values: on, off]"),
        (
            &["serve", "--database-url", url, "--listen", "127.0.0.1:0", "--feed-url", "https://u:s3cret@feed"],
            "FEED_URL",
        ),
        (&["sync", "--once"], "--database-url"),
        (&["sync", "--database-url", url], "--once"),
        (&["sync", "--once", "--database-url", url], "FEED_URL is not set"),
    ] {
        let complaint = complaint(SERVICE, arguments);
        assert!(complaint.contains(expected), "{arguments:?}: {complaint}");
    }
}

#[test]
fn an_unreachable_database_is_one_error_of_migrate() {
    let complaint = complaint(SERVICE, &["migrate", "--database-url", "postgres://app:s3cret@127.0.0.1:1/app"]);
    assert!(complaint.starts_with("order-sync: ") && complaint.contains("refused"), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
}
