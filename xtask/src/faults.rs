//! `cargo xtask faults`: every fault on real servers, and a table of what was measured against what was promised.
//!
//! The tests in `crates/hourhand/tests/faults` print one line a measure (`fault: … | bound … | measured …`). First those that
//! wait for time-outs, many at once, as they cost next to nothing; then those that make a herd or a load, one at a time.

use crate::arguments::Arguments;
use crate::cargo::{cargo, own_path, root};
use crate::foreground;
use anyhow::{Context, Result, bail, ensure};
use hourhand_testkit::{BIN_VARIABLE, Installation, Server, URL_VARIABLE};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The families that keep the machine busy, and would spoil what the others measure.
const BUSY: [&str; 3] = ["limits::", "poolers::", "fence_race::"];

/// The guide that shows the table, and the lines in it between which it stands.
const GUIDE: &str = "docs/guides/what-happens-when.md";
const BEGIN: &str = "<!-- measured: begin -->\n";
const END: &str = "<!-- measured: end -->\n";

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let write = arguments.take_flag("--write");
    let filter = arguments.rest();
    ensure!(!write || filter.is_empty(), "--write wants all faults, not only {filter:?}");
    let installation = Installation::for_tests()?;
    let server = Server::shared(&installation)?;
    let begun = Instant::now();
    let (mut said, mut failed) = (String::new(), Vec::new());
    let busy: Vec<String> = BUSY.iter().map(|family| (*family).to_owned()).collect();
    let quiet: Vec<String> = busy.iter().flat_map(|family| ["--skip".to_owned(), family.clone()]).collect();
    for (pass, threads, chosen) in [("faults-1", "10", quiet), ("faults-2", "1", busy)] {
        // A filter of the caller's takes the place of ours, and one pass is enough.
        let chosen = if filter.is_empty() { chosen } else { Vec::new() };
        let log = own_path()?.with_file_name(format!("{pass}.log"));
        let mut tests = cargo(&["test", "--workspace", "--all-features", "--test", "faults", "--"]);
        tests.args(["--include-ignored", "--nocapture", "--test-threads", threads]).args(chosen).args(&filter);
        tests.env(URL_VARIABLE, server.url()).env(BIN_VARIABLE, installation.bin());
        eprintln!("── {pass}: what it says goes to {}", log.display());
        let done = run_into(&mut tests, &log);
        said += &String::from_utf8_lossy(&fs::read(&log)?);
        if let Err(error) = done {
            failed.push(format!("{pass}: {error:#}; its words are in {}", log.display()));
        }
        if !filter.is_empty() || foreground::signal_received() != 0 {
            break;
        }
    }
    let mut rows: Vec<Row> = said.lines().filter_map(Row::parse).collect();
    // In one order, however the tests came to their ends; by their first words they belong together.
    rows.sort();
    let table = table(&rows);
    println!("{table}");
    eprintln!("── {} measures in {:.0} s", rows.len(), begun.elapsed().as_secs_f32());
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    if write { write_into(&root().join(GUIDE), &format!("{}\n\n{table}", machine(&installation))) } else { Ok(()) }
}

fn run_into(command: &mut Command, log: &PathBuf) -> Result<()> {
    let file = File::create(log).with_context(|| format!("could not make {}", log.display()))?;
    foreground::run(command.stdout(file.try_clone()?).stderr(file))
}

/// One measure.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    fault: String,
    bound: String,
    measured: String,
}

impl Row {
    /// Reads a line of a test's, which may follow other words on its line.
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.split_once("fault: ")?.1.split(" | ");
        let fault = parts.next()?.to_owned();
        let next = parts.next()?;
        if next.starts_with("skipped, because ") {
            return Some(Self { fault, bound: String::new(), measured: next.to_owned() });
        }
        let bound = next.strip_prefix("bound ")?.to_owned();
        let measured = parts.next()?.strip_prefix("measured ")?.to_owned();
        Some(Self { fault, bound, measured })
    }
}

/// The rows as Markdown.
fn table(rows: &[Row]) -> String {
    let mut text = "| fault | bound | measured |\n| --- | --- | --- |\n".to_owned();
    for Row { fault, bound, measured } in rows {
        text += &format!("| {fault} | {bound} | {measured} |\n");
    }
    text
}

/// What it was measured on.
fn machine(installation: &Installation) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let release = read("/etc/os-release");
    let system = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or("an unknown system");
    let pooler = Command::new("pgbouncer").arg("--version").output();
    let pooler = pooler.map(|done| String::from_utf8_lossy(&done.stdout).lines().next().unwrap_or_default().to_owned());
    format!(
        "Measured on {cores} cores, Linux {}, {}, PostgreSQL {}, {}.",
        kernel.trim().split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default(),
        system.trim_matches('"'),
        installation.version(),
        pooler.unwrap_or_else(|_| "no PgBouncer".to_owned())
    )
}

fn write_into(guide: &Path, measured: &str) -> Result<()> {
    let text = fs::read_to_string(guide).with_context(|| format!("could not read {}", guide.display()))?;
    let text = replaced(&text, measured).with_context(|| format!("{} lacks {BEGIN:?} or {END:?}", guide.display()))?;
    fs::write(guide, text).with_context(|| format!("could not write {}", guide.display()))
}

fn replaced(text: &str, measured: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n\n{END}{after}", measured.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fault: &str, bound: &str, measured: &str) -> Row {
        Row { fault: fault.to_owned(), bound: bound.to_owned(), measured: measured.to_owned() }
    }

    #[test]
    fn a_measure_is_read_wherever_it_stands_in_its_line() {
        let line = "test killed ... fault: holder killed | bound < 2 s | measured 1.0 s";
        assert_eq!(Row::parse(line), Some(row("holder killed", "< 2 s", "1.0 s")));
        let line = "fault: network cut | skipped, because it allows no namespace";
        assert_eq!(Row::parse(line), Some(row("network cut", "", "skipped, because it allows no namespace")));
        assert_eq!(Row::parse("a default: 3 | 4"), None);
    }

    #[test]
    fn the_table_in_the_guide_is_replaced_and_the_rest_stays() {
        let guide = format!("# Guide\n\n{BEGIN}\nold\n\n{END}\nmore\n");
        let table = table(&[row("a", "< 1 s", "2 ms")]);
        let expected = format!(
            "# Guide\n\n{BEGIN}\n| fault | bound | measured |\n| --- | --- | --- |\n| a | < 1 s | 2 ms |\n\n{END}\nmore\n"
        );
        assert_eq!(replaced(&guide, &table).as_deref(), Some(expected.as_str()));
        assert_eq!(replaced("no markers", &table), None);
    }
}
