//! No password, nor a piece of one, in anything that is shown.
//!
//! Every password here holds the word `hunter2`, between letters made to confuse a parser. Wherever the parser cuts,
//! the word must turn up in nothing that can be printed.

use std::fmt::{Debug, Display};

use proptest::prelude::*;

use super::super::{Conninfo, Environment};
use super::live::{Live, ask};

const SECRET: &str = "hunter2";

/// The ways to write a password without thinking about it.
const TEMPLATES: [&str; 12] = [
    "postgres://app:PASSWORD@127.0.0.1:5432/orders",
    "postgresql://app:PASSWORD@127.0.0.1/orders?sslmode=disable",
    "postgres://app:PASSWORD@127.0.0.1,127.0.0.2/orders?target_session_attrs=any",
    "postgres://app:PASSWORD@/orders?host=/tmp",
    "postgres://app:PASSWORD@127.0.0.1:5432/orders?sslmod=require",
    "postgres://127.0.0.1/orders?user=app&password=PASSWORD",
    "postgres://127.0.0.1/orders?password=PASSWORD&user=app",
    "host=127.0.0.1 user=app password=PASSWORD dbname=orders",
    "host=127.0.0.1 user=app password='PASSWORD' dbname=orders",
    "password=PASSWORD host=127.0.0.1 colour=red",
    "jdbc:postgresql://127.0.0.1/orders?password=PASSWORD",
    "app:PASSWORD@127.0.0.1/orders",
];

const PASSWORDS: [&str; 22] = [
    "hunter2",
    "/hunter2",
    "a/hunter2",
    "12/hunter2",
    "12/hunter2?x=y",
    "a@hunter2",
    "hunter2@hunter2",
    "a:hunter2",
    "a?hunter2",
    "a#hunter2",
    "a%hunter2",
    "%zzhunter2",
    "%00hunter2",
    "%ffhunter2",
    "a hunter2",
    "a hunter2=hunter2",
    "a' hunter2=hunter2",
    "'hunter2",
    "\\hunter2",
    "a&hunter2=b",
    "[hunter2",
    "a,hunter2/x,hunter2",
];

/// Everything that can be shown of a string, in one.
fn shown(text: &str, variables: &[(&str, &str)]) -> String {
    fn both(shown: &(impl Debug + Display)) -> String {
        format!("{shown} {shown:?} {shown:#?}")
    }
    match Conninfo::parse(text, &Environment::of(variables)) {
        Ok(conninfo) => format!("{} {conninfo:?}", conninfo.identity()),
        Err(error) => both(&error),
    }
}

#[test]
fn no_error_shows_a_piece_of_a_password_that_was_not_encoded() {
    for template in TEMPLATES {
        for password in PASSWORDS {
            let text = template.replace("PASSWORD", password);
            let shown = shown(&text, &[]);
            assert!(!shown.contains(SECRET), "{text}\n  shows {shown}");
        }
    }
}

#[test]
fn no_error_shows_a_password_of_the_environment() {
    for password in PASSWORDS {
        let shown = shown("sslmode=nonsense", &[("PGPASSWORD", password)]);
        assert!(!shown.contains(SECRET), "{password}\n  shows {shown}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_error_shows_a_piece_of_any_password(
        before in "[a-z0-9/?#@%:&=,' \\\\\\[\\]]{0,8}",
        after in "[a-z0-9/?#@%:&=,' \\\\\\[\\]]{0,8}",
        template in 0..TEMPLATES.len(),
    ) {
        let text = TEMPLATES[template].replace("PASSWORD", &format!("{before}{SECRET}{after}"));
        let shown = shown(&text, &[]);
        prop_assert!(!shown.contains(SECRET), "{text}\n  shows {shown}");
    }

    #[test]
    fn an_encoded_url_of_any_password_is_read_back(password in "[^\0]{1,20}") {
        let encoded: String = password.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let conninfo = Conninfo::parse(&format!("postgres://app:{encoded}@h/d"), &Environment::of(&[])).unwrap();
        prop_assert_eq!(conninfo.config.get_password(), Some(password.as_bytes()));
    }

    #[test]
    fn a_quoted_value_of_any_password_is_read_back(password in "[^\0]{1,20}") {
        let quoted = password.replace('\\', "\\\\").replace('\'', "\\'");
        let conninfo = Conninfo::parse(&format!("password='{quoted}' host=h"), &Environment::of(&[])).unwrap();
        prop_assert_eq!(conninfo.config.get_password(), Some(password.as_bytes()));
    }

    #[test]
    fn no_text_at_all_makes_the_parser_panic(text in "\\PC{0,80}") {
        let _ = Conninfo::parse(&text, &Environment::of(&[]));
        let _ = Conninfo::parse(&format!("postgres://{text}"), &Environment::of(&[]));
    }
}

#[tokio::test]
async fn no_failure_to_connect_shows_the_password() {
    let live = Live::shared();
    live.furnish().await;
    let port = live.server.port();
    for rest in
        [format!("127.0.0.1:{port}/orders"), format!("127.0.0.1:{port}/nothing"), String::from("127.0.0.1:1/orders")]
    {
        let conninfo = Conninfo::parse(&format!("postgres://app:{SECRET}@{rest}"), &Environment::of(&[])).unwrap();
        let error = ask(&conninfo, "select 1").await.unwrap_err();
        let shown = format!("{error} {error:?} {error:#?}");
        assert!(!shown.contains(SECRET), "{rest}\n  shows {shown}");
    }
}
