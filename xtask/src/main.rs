//! The project's only tool: a person and CI type the same words. `cargo xtask` alone says which.

mod arguments;
mod bench;
mod cargo;
mod check;
mod cycles;
mod demo;
mod faults;
mod foreground;
mod legs;
mod pg;
mod sim;
mod test;
mod tidy;

use anyhow::{Result, bail};
use arguments::Arguments;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask demo    the order service's replicas on a private PostgreSQL (or that of DATABASE_URL), in compressed time
            --once             plays the whole story, checks the outcome and exits
            --orders FILE      feeds it the orders of a CSV file
cargo xtask test    the whole suite; the promises on a newer PostgreSQL; the demo as another user
            --only LEG         one of them: suite, newer or demo; may be repeated
            ...                everything else goes to the test runner (then the suite alone, unless --only says more)
cargo xtask faults  every fault on real servers, in some minutes: a table of fault, bound and measure
            --write            puts the table into docs/guides/what-happens-when.md
            ...                only the faults with such words in their names
cargo xtask sim     seeds of the simulator: faults in virtual time, every promise checked after each step
            --seed N --trace   one of them, step by step
            --nodes 1000 --jobs 1000   what a large fleet costs its server, and how late it is
            ...                --help says what else
cargo xtask bench   hourhand beside other schedulers: what they cost, how late they are, what faults do to them
            --only NAME        one of them (hourhand: the others are not even built); may be repeated
            --spans short      everything and everybody within half an hour; quick: to see that it works
            --build-times      how long a clean build of each takes, and nothing else: many minutes
            --build-only       builds and installs everybody, for a machine that is to be quiet when it measures
            --goals            hourhand alone, against its own goals
            --scale            hourhand alone: 4, 20 and 60 processes, and what an occurrence costs the server
            --schedules        how long the next instant of a schedule takes to find
            ...                --help says what else
cargo xtask check   format, clippy, documentation, tidiness (no long files, no cycles of modules)
cargo xtask ci      check and test
cargo xtask pg      a private PostgreSQL until Ctrl-C; prints its URL
            --major N          of that major version, fetched if need be
            --set NAME=VALUE   with that setting; may be repeated
";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let word = words.next().and_then(|word| word.into_string().ok()).unwrap_or_default();
    match run(&word, Arguments::new(words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask {word}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(word: &str, arguments: Arguments) -> Result<()> {
    match word {
        "demo" => demo::run(arguments),
        "test" => test::run(arguments),
        "faults" => faults::run(arguments),
        "sim" => sim::run(arguments),
        "bench" => bench::run(arguments),
        "check" => check::run(arguments),
        "ci" => ci(arguments),
        "pg" => pg::run(arguments),
        "" | "help" | "-h" | "--help" => {
            print!("{USAGE}");
            Ok(())
        }
        _ => bail!("there is no such word; there are:\n{USAGE}"),
    }
}

/// Both, even if the first complains: whoever waits for CI wants to hear of everything at once.
fn ci(arguments: Arguments) -> Result<()> {
    arguments.finish()?;
    let checked = check::run(Arguments::default());
    let tested = test::run(Arguments::default());
    match (checked, tested) {
        (Err(check), Err(test)) => bail!("{check:#}; {test:#}"),
        (checked, tested) => checked.and(tested),
    }
}
