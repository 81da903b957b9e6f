//! What the server itself can do: the statements of a run, sent by `pgbench` on one connection, with nobody deciding anything between them.
//!
//! The statements are hourhand's own, each for a thousand jobs, as a node sends them when that many are due. Their parameters are
//! put in as expressions, which costs the server a little.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::fleet::{Fleet, Load, Started};
use crate::ground::Ground;
use crate::subject::Subject;

/// As many as a node puts into one statement.
const JOBS: usize = 1000;

const MARK: &str = "pgbench";

/// The runs a second that one connection can start and end.
///
/// # Errors
///
/// If `pgbench` is not installed beside the server's programs, or fails.
pub(crate) fn runs_a_second(ground: &Ground, ours: &Subject, span: Duration) -> Result<f64> {
    let place = ground.place()?;
    let load = Load { jobs: JOBS, every: 86_400, body: Duration::ZERO };
    let Started::Ready(registered) = Fleet::start(ours, &place, load, 1)? else { return Ok(f64::NAN) };
    drop(registered);
    let home = tempfile::tempdir()?;
    let file = home.path().join("runs.sql");
    std::fs::write(&file, script())?;
    let mut pgbench: Command = ground.with(|server| server.installation().command("pgbench"));
    pgbench.args(["--no-vacuum", "--client=1", "--time", &span.as_secs().to_string(), "--file"]).arg(&file);
    let said = pgbench.arg(&place.url).env("PGOPTIONS", format!("-c hourhand.session={MARK}")).output();
    let said = said.context("pgbench can't be run")?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    ensure!(said.status.success(), "pgbench: {}", String::from_utf8_lossy(&said.stderr));
    let tps = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse::<f64>().ok());
    Ok(tps.with_context(|| format!("pgbench said no tps: {text}"))? * JOBS as f64)
}

/// A thousand runs: look, locks, start, end, unlock.
fn script() -> String {
    let all = |kind: &str, value: &str| format!("array_fill({value}::{kind}, array[{JOBS}])");
    let column = |name: &str| format!("(select array_agg({name} order by name) from hourhand.job)");
    let fingerprints = "(select array_agg(fingerprint order by job) from hourhand.definition)".to_owned();
    let (names, keys, epochs) = (column("name"), column("key"), column("epoch"));
    let (none, nobody) = (|kind: &str| all(kind, "null"), "null::text".to_owned());
    let look = [names.clone(), nobody.clone(), fingerprints.clone(), "false".to_owned()];
    let start = [
        names.clone(),
        all("timestamptz", "clock_timestamp()"),
        epochs.clone(),
        all("text", "'schedule'"),
        all("float8", "0"),
        all("bigint", "0"),
        none("timestamptz"),
        "'pgbench'::text".to_owned(),
        nobody,
        none("timestamptz"),
        none("float8"),
        all("text", "'coalesced'"),
        fingerprints,
        none("bigint"),
        none("timestamptz"),
        none("boolean"),
        none("bigint"),
    ];
    let end = [
        names,
        epochs,
        all("text", "'succeeded'"),
        none("text"),
        none("text"),
        all("boolean", "true"),
        all("boolean", "false"),
        all("float8", "0"),
        all("bigint", "0"),
        none("timestamptz"),
        "true".to_owned(),
    ];
    [
        put(include_str!("../../hourhand/src/pg/sql/look.sql"), &look),
        put(include_str!("../../hourhand/src/pg/sql/try_locks.sql"), &[keys.clone(), format!("'{MARK}'")]),
        put(include_str!("../../hourhand/src/pg/sql/start.sql"), &start),
        put(include_str!("../../hourhand/src/pg/sql/end.sql"), &end),
        put(include_str!("../../hourhand/src/pg/sql/unlock.sql"), &[keys]),
    ]
    .concat()
}

/// The statement without its comments, with expressions for its parameters.
fn put(statement: &str, parameters: &[String]) -> String {
    let code: Vec<&str> = statement.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let mut text = code.join("\n").replace("{schema}", "hourhand");
    // From the last on: $1 is the beginning of $17.
    for (place, value) in parameters.iter().enumerate().rev() {
        text = text.replace(&format!("${}", place + 1), value);
    }
    text + ";\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_parameter_and_no_comment_is_left_in_the_script() {
        let script = script();
        assert!(!script.contains('$') && !script.contains("--") && !script.contains("{schema}"), "{script}");
        assert_eq!(script.matches(";\n").count(), 5);
    }
}
