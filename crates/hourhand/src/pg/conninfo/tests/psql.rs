//! The same table against a server, side by side with psql.

use std::net::TcpListener;

use super::live::{FACTS, Live, ask, ask_psql};
use super::table::{Case, Words};

#[tokio::test(flavor = "multi_thread")]
async fn every_string_of_the_table_leads_where_psql_goes() {
    let Some(live) = Live::shared_with_tls() else { return };
    live.furnish().await;
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (mut compared, mut complaints) = (0, Vec::new());
    for case in Case::all().into_iter().filter(|case| case.psql.is_some()) {
        let home = tempfile::tempdir().unwrap();
        let words = Words {
            port: live.server.port(),
            dead,
            socket: live.server.home().display().to_string(),
            user: whoami::username().unwrap(),
            home: home.path().display().to_string(),
        };
        case.write_files(&words);
        let variables = case.variables(&words);
        let Some(theirs) = ask_psql(&case.text(&words), &variables, home.path(), FACTS) else { return };
        let ours = match case.parse(&words) {
            Ok(conninfo) => ask(&conninfo, FACTS).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let as_expected = match case.psql.as_deref() {
            Some("connects") => ours.is_ok() && ours == theirs,
            Some("refuses") => ours.is_err() && theirs.is_err(),
            Some(differs) => differs.starts_with("differs: ") && ours != theirs,
            None => true,
        };
        compared += 1;
        if !as_expected {
            complaints.push(format!("{}\n  expected {:?}\n  psql {theirs:?}\n  ours {ours:?}", case.title, case.psql));
        }
    }
    println!("compared {compared} strings with psql");
    assert!(complaints.is_empty(), "{} of {compared}:\n{}", complaints.len(), complaints.join("\n"));
}
