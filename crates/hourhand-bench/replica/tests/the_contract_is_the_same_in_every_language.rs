//! Peers in Python and Node obey the same contract as those in Rust: their lines are read by the same reader, by the same clocks, and a
//! refusal looks the same. Where an interpreter is missing its peers are not measured, and there is nothing to hold.

use std::io;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use hourhand_bench_replica::{Line, What, boot_time, wall_time};
use tempfile::TempDir;

/// A body of 30 ms whose occurrence is told, and one of nothing whose is not.
const PYTHON: &str = "
from replica import *
import time
def main(orders):
    book = Book(orders.book)
    book.ready()
    with book.body(orders.names()[1], 1_700_000_000):
        time.sleep(orders.body)
    with book.body('job-0'):
        pass
replica(main)
";
const NODE: &str = "
const { Book, replica } = require('./replica.js')
replica(async (orders) => {
  const book = new Book(orders.book)
  book.ready()
  await book.body(orders.names[1], new Date(1700000000000), orders.body)
  await book.body('job-0', null, 0)
})
";

const LANGUAGES: [(&str, &str, &str); 2] = [("python3", "py", PYTHON), ("node", "js", NODE)];

/// Runs the script beside the contract of its language; nothing without its interpreter.
fn run(interpreter: &str, ending: &str, script: &str, every: u64) -> io::Result<Option<(Output, TempDir)>> {
    let place = tempfile::tempdir()?;
    let contract = format!("replica.{ending}");
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::copy(own.join(&contract), place.path().join(&contract))?;
    let main = format!("main.{ending}");
    std::fs::write(place.path().join(&main), script)?;
    let mut program = Command::new(interpreter);
    program.arg(main).args(["--url", "u", "--jobs", "2", "--body-ms", "30", "--pooler", "yes", "--book", "book"]);
    match program.args(["--every", &every.to_string()]).current_dir(place.path()).output() {
        Ok(said) => Ok(Some((said, place))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("there is no {interpreter} here");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[test]
fn lines_are_read_as_they_were_written_by_the_same_clocks() {
    for (interpreter, ending, script) in LANGUAGES {
        let (boot, wall) = (boot_time(), wall_time());
        let Some((said, place)) = run(interpreter, ending, script, 1).unwrap() else { continue };
        assert!(said.status.success(), "{interpreter}: {}", String::from_utf8_lossy(&said.stderr));
        let book = std::fs::read_to_string(place.path().join("book")).unwrap();
        let lines: Vec<Line> = book.lines().map(|line| Line::parse(line).unwrap()).collect();
        let said: Vec<(What, &str)> = lines.iter().map(|line| (line.what, line.job.as_str())).collect();
        let (began, ended) = (What::Began, What::Ended);
        let wanted = [(began, "job-1"), (ended, "job-1"), (began, "job-0"), (ended, "job-0")];
        assert_eq!((said[0].0, &said[1..]), (What::Ready, &wanted[..]), "{interpreter}");
        let told = Some(Duration::from_secs(1_700_000_000));
        assert_eq!([lines[1].scheduled_for, lines[3].scheduled_for], [told, None], "{interpreter}");
        // As exactly as Node can know the clock of the machine: it rounds to a hundredth.
        let rough = Duration::from_millis(100);
        for line in &lines {
            assert!(line.at + rough > boot && line.at < boot_time() + rough, "{interpreter}: {line:?} after {boot:?}");
            assert!(
                line.wall + rough > wall && line.wall < wall_time() + rough,
                "{interpreter}: {line:?} after {wall:?}"
            );
        }
        assert!(lines[2].at - lines[1].at >= Duration::from_millis(29), "{interpreter}: a body that does not wait");
    }
}

#[test]
fn a_refusal_is_said_on_the_output_and_by_the_exit_status() {
    let scripts = [
        ("python3", "py", "from replica import *\nreplica(lambda orders: refuse('too late'))"),
        ("node", "js", "const { refuse, replica } = require('./replica.js')\nreplica(async () => refuse('too late'))"),
    ];
    for (interpreter, ending, script) in scripts {
        let Some((said, _place)) = run(interpreter, ending, script, 1).unwrap() else { continue };
        assert_eq!(said.status.code(), Some(3), "{interpreter}");
        assert_eq!(String::from_utf8_lossy(&said.stdout), "cannot: too late\n", "{interpreter}");
    }
}

#[test]
fn a_failure_ends_the_process_with_its_reason_as_the_last_words() {
    let scripts = [
        (
            "python3",
            "py",
            "from replica import *\ndef main(orders):\n    raise ValueError('no way\\nat all')\nreplica(main)",
        ),
        ("node", "js", "require('./replica.js').replica(async () => { throw new Error('no way') })"),
    ];
    for (interpreter, ending, script) in scripts {
        let Some((said, _place)) = run(interpreter, ending, script, 1).unwrap() else { continue };
        assert_eq!(said.status.code(), Some(1), "{interpreter}");
        assert_eq!(String::from_utf8_lossy(&said.stderr), "Error: no way\n", "{interpreter}");
    }
}

#[test]
fn each_length_has_the_same_expression_as_in_rust() {
    let python = "from replica import *\nreplica(lambda orders: print(*orders.seconds_and_cron()))";
    let node = "const { cronOfMinutes, replica } = require('./replica.js')\n\
         replica(async (orders) => console.log('0 ' + cronOfMinutes(orders)))";
    let expressions =
        [(60, "0 * * * * *\n"), (120, "0 */2 * * * *\n"), (3600, "0 0 * * * *\n"), (86_400, "0 0 0 * * *\n")];
    for (every, expression) in expressions {
        for (interpreter, ending, script) in [("python3", "py", python), ("node", "js", node)] {
            let Some((said, _place)) = run(interpreter, ending, script, every).unwrap() else { continue };
            assert_eq!(String::from_utf8_lossy(&said.stdout), expression, "{interpreter}: {every} s");
        }
    }
    for (every, expression) in [(1, "* * * * * *\n"), (10, "*/10 * * * * *\n")] {
        let Some((said, _place)) = run("python3", "py", python, every).unwrap() else { continue };
        assert_eq!(String::from_utf8_lossy(&said.stdout), expression, "{every} s");
    }
    let Some((said, _place)) = run("node", "js", node, 1).unwrap() else { return };
    assert_eq!(said.status.code(), Some(3), "Node's peers know no seconds");
}
